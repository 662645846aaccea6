"""The same game for programs: endpoints that gradio_client can call.

    client.predict("published", 0, api_name="/start_session")
    client.predict(session_id, notification_id, "DELETED_NOTIFICATION", api_name="/react")

Each answer holds the trace records that this session has not returned before, so that all answers
together are the whole trace. Sessions started here learn in the published order: a call returns
after everything that it made due has been learned.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any

import gradio as gr

from sdft.host import Host, Hosted
from sdft.model.engine import EngineError
from sdft.session import OrderError
from sdft.settings import preset, settings_from
from sdft.starts import start_named, start_own
from sdft.store import StoreError
from sdft.trace import to_json, write_trace
from sdft.world.routes import outcome_named
from sdft.world.stream import read_stream


def _sentences(endpoint: Callable) -> Callable:
    """Errors that a caller can act on become Gradio errors with the same sentence."""

    @wraps(endpoint)
    def call(*arguments: Any, **named: Any) -> Any:
        try:
            return endpoint(*arguments, **named)
        except (ValueError, OrderError, EngineError, StoreError) as error:
            raise gr.Error(str(error), print_exception=False) from error

    return call


def _new_records(hosted: Hosted) -> list[dict[str, Any]]:
    return [json.loads(to_json(record)) for record in hosted.take_new()]


def add_endpoints(host: Host) -> None:
    """Register the endpoints in the current Blocks."""

    @_sentences
    def start_session(
        persona: str = "published",
        seed: int = 0,
        settings: str = "default",
        stream: str = "",
        events: int = 240,
    ) -> dict:
        """Start a session; returns its id, its header and the first records.

        ``settings`` is a preset's name or a JSON object; ``stream`` is the text of a stream (JSON
        Lines), which replaces the persona's generated one.
        """
        host.owner.wait_until_ready()
        chosen = settings_from(json.loads(settings)) if "{" in settings else None
        chosen = chosen or preset(settings or "default")
        if stream.strip():
            lines = read_stream(stream.split("\n"), name="stream")
            start = start_own(lines, "own stream", seed, chosen)
        else:
            start = start_named(persona, seed, chosen, events)
        hosted = host.start(start)
        hosted.first.result()
        return {
            "session_id": hosted.id,
            "header": json.loads(to_json(hosted.session.header)),
            "records": _new_records(hosted),
        }

    @_sentences
    def react(session_id: str, notification_id: str, outcome: str) -> list:
        """Do something with a notification; returns the trace's new records."""
        hosted = host.find(session_id)
        hosted.react(notification_id, outcome_named(outcome)).result()
        return _new_records(hosted)

    @_sentences
    def autopilot(session_id: str, events: int = 1) -> list:
        """Let the persona answer some cards; returns the trace's new records."""
        hosted = host.find(session_id)
        hosted.autopilot(events).result()
        return _new_records(hosted)

    @_sentences
    def export_trace(session_id: str) -> str:
        """The session so far as a trace file (JSON Lines)."""
        session = host.find(session_id).session
        folder = Path(tempfile.mkdtemp(prefix="sdft-trace-"))
        path = folder / f"{session.header.owner or 'own'}-{session.header.seed}.trace.jsonl"
        write_trace(path, session.header, list(session.records))
        return str(path)

    for endpoint in (start_session, react, autopilot):
        gr.api(endpoint, api_name=endpoint.__name__, concurrency_limit=None)
    session_id, file = gr.Textbox(visible=False), gr.File(visible=False)
    gr.Button(visible=False).click(
        export_trace, session_id, file, api_name="export_trace", concurrency_limit=None
    )
