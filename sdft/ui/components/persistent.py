"""Gradio components whose page survives every update: a stage that stays, a feed that changes.

A ``gr.HTML`` that shows its value rewrites its own nodes at each update: focus, scroll position, a
half-finished swipe and a zoomed chart are lost. So a screen is two components. The *stage* is a
fixed skeleton with the scripts that draw on it; its value never changes. The *feed* is invisible;
its value is the view model, and it passes each new one to the stage inside the browser.

The scripts of a stage contain ``trigger('gesture', …)``, so Python can listen for that event:
``play.gesture(handler, …)``. Listen with ``trigger_mode="multiple"``: the default drops a gesture
that is made while an earlier one is still being answered.
"""

from __future__ import annotations

import importlib.util
import json
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import gradio as gr

from sdft.assets import asset_path, read_json

COMPONENTS = asset_path("components")

# Gradio runs a template as code: these are the characters that would start some.
TEMPLATE_CODE = ("`", "${", "{{", "\\", "@children")


def stage(name: str, *, scripts: Sequence[str] = (), language: str = "en", **props: Any) -> gr.HTML:
    """Build the lasting half of a screen from ``assets/components/<name>.html`` and ``.js``.

    Args:
        name: the screen; also the name of the feed that it listens to.
        scripts: shared scripts (file names without ``.js``) that ``<name>.js`` needs, in order.
        language: the file of ``assets/text`` with the words for the screen.
        props: anything else that the scripts read from ``props``; must be JSON.
    """
    return gr.HTML(
        value=None,
        html_template=_skeleton(name),
        js_on_load=_scripts(name, (*scripts, name)),
        apply_default_css=False,
        padding=False,
        elem_id=f"stage-{name}",
        strings=strings(language),
        plotly_url=plotly_url(),
        **props,
    )


def feed(name: str, view: Mapping[str, Any] | None = None) -> gr.HTML:
    """Build the changing half: an invisible component whose value is ``encode(view)``."""
    return gr.HTML(
        value=encode(view),
        html_template="",
        js_on_load=_scripts("feed", ("feed",)),
        apply_default_css=False,
        visible="hidden",
        elem_id=f"feed-{name}",
        channel=name,
    )


def encode(view: Mapping[str, Any] | None) -> str | None:
    """Return ``view`` as the text that a feed carries; raise ValueError on NaN or infinity.

    Text rather than a dict, because Gradio makes every field of a dict value reactive and compares
    it several times. ``<`` is escaped so that nothing on the way can take a title for markup.
    ``sent`` makes each text new: the browser would never hear of a second, equal refusal.
    """
    if view is None:
        return None
    stamped = {**view, "sent": time.time_ns()}
    text = json.dumps(stamped, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c")


def strings(language: str = "en") -> dict[str, str]:
    """Return every visible word of the screens in ``language``, by key."""
    return read_json("text", f"{language}.json")


def head_html() -> str:
    """Return what ``launch(head=…)`` needs: the app's style sheet.

    Not ``launch(css=…)``: Gradio 6 rewrites that text and drops every ``@container`` rule.
    """
    css = asset_path("style.css").read_text(encoding="utf-8")
    return f"<style>{css}</style>"


def static_paths() -> list[Path]:
    """Return the files that ``gr.set_static_paths`` must allow the browser to fetch."""
    return [plotly_path()]


def plotly_path() -> Path:
    """Return the plotly.min.js that the plotly package ships, found without importing it."""
    spec = importlib.util.find_spec("plotly")
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError("plotly is not installed; run: pip install -r requirements.txt")
    return Path(spec.origin).parent / "package_data" / "plotly.min.js"


def plotly_url() -> str:
    """Return the address of plotly.min.js relative to the app's root, behind any proxy."""
    return f"gradio_api/file={plotly_path().as_posix()}"


def _skeleton(name: str) -> str:
    path = COMPONENTS / f"{name}.html"
    text = path.read_text(encoding="utf-8")
    for code in TEMPLATE_CODE:
        if code in text:
            raise ValueError(f"{path}: {code!r} would run as code in a Gradio template; remove it")
    return text


def _scripts(name: str, parts: Sequence[str]) -> str:
    """Join scripts into one function body; the last line names it in the browser's debugger."""
    texts = [(COMPONENTS / f"{part}.js").read_text(encoding="utf-8") for part in parts]
    return "\n".join(["'use strict';", *texts, f"//# sourceURL=sdft-{name}.js"])
