"""Builds and launches the app. A Hugging Face Space runs this file."""

import os

os.environ.setdefault("GRADIO_ANALYTICS_ENABLED", "False")

from sdft.ui.shell import main  # noqa: E402  (Gradio reads the variable when it is imported)

if __name__ == "__main__":
    main()
