"""Builds and launches the app. A Hugging Face Space runs this file."""

import os
import threading
from importlib import import_module


def main() -> None:
    """Two imports take seconds each; torch's runs beside Gradio's, so that play starts sooner."""
    os.environ.setdefault("GRADIO_ANALYTICS_ENABLED", "False")  # read when Gradio is imported
    threading.Thread(target=import_module, args=("torch",), daemon=True).start()
    import_module("sdft.ui.shell").main()


if __name__ == "__main__":
    main()
