"""The whole app: a model owner, a store, a host, and the screens over them."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

import gradio as gr

from sdft.host import Host
from sdft.model.catalog import EMBEDDED
from sdft.model.owner import ModelOwner
from sdft.store import Store
from sdft.ui.api import add_endpoints
from sdft.ui.components.persistent import head_html, static_paths
from sdft.ui.play import PlayScreen

_THREADS = 256  # handlers mostly wait; each visitor may hold a few


def parser() -> argparse.ArgumentParser:
    """The options of app.py."""
    options = argparse.ArgumentParser(description="Online-SDFT Playground")
    options.add_argument(
        "--host", default=None, help="address to listen on (default: this computer)"
    )
    options.add_argument("--port", type=int, default=None, help="default: the first free from 7860")
    options.add_argument("--data-dir", type=Path, default=Path("data"), help="where sessions live")
    options.add_argument("--model", default=EMBEDDED, help=f"{EMBEDDED}, a folder or a hub id")
    options.add_argument("--open", action="store_true", help="open a browser")
    return options


def build(host: Host) -> gr.Blocks:
    """All screens as one Blocks."""
    with gr.Blocks(title="Online-SDFT Playground", fill_width=True, analytics_enabled=False) as app:
        PlayScreen(host).build(app)
        add_endpoints(host)
    return app


def _loader(model: str):
    def load(progress):
        from sdft.model.torch_engine import load_engine  # the screen is up before torch is

        def report(fraction: float, text: str) -> None:
            print(f"\r{fraction:4.0%} {text:<70}", end="\n" if fraction >= 1 else "", flush=True)
            progress(fraction, text)

        return load_engine(model, report)

    return load


def main(argv: Sequence[str] | None = None) -> None:
    """Build and launch; blocks until the process is told to stop."""
    options = parser().parse_args(argv)
    host = Host(ModelOwner(_loader(options.model)), Store(options.data_dir))
    gr.set_static_paths(static_paths())
    build(host).queue(default_concurrency_limit=None).launch(
        server_name=options.host,
        server_port=options.port,
        inbrowser=options.open,
        head=head_html(),
        theme=gr.themes.Base(
            font=["system-ui", "sans-serif"], font_mono=["ui-monospace", "monospace"]
        ),
        footer_links=[],
        max_threads=_THREADS,
        show_error=True,
    )
