"""The play screen: translates between the page's events and a session's commands."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Future
from typing import Any

import gradio as gr

from sdft.host import Host, Hosted, HostError
from sdft.model.engine import EngineError
from sdft.starts import DEMO, for_the_screen, owners, start_named
from sdft.store import StoreError
from sdft.ui.components.persistent import encode, feed, stage
from sdft.ui.view import loading_view, view, words
from sdft.world.persona import load_personas
from sdft.world.routes import outcome_named

_SCRIPTS = ("dom", "charts", "swipe", "phone", "drawers", "panels", "replay")
_POLL_SECONDS = 0.25  # how often a loading model is asked how far it is
_QUIET_SECONDS = 30.0  # a watcher looks up at least this often

Update = tuple[str | None, Any]  # the feed's value and the session id


def owner_list() -> list[dict[str, str]]:
    """Who can be played, with names and briefings, for the selection on the page."""
    text = words()
    demo = {"id": DEMO, "name": text["owner.demo.name"], "briefing": text["owner.demo.briefing"]}
    personas = load_personas().values()
    return [demo, *({"id": p.id, "name": p.name, "briefing": p.briefing} for p in personas)]


class PlayScreen:
    """Handlers of the play screen for all visitors; each brings the id of its session."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._owners = owner_list()

    def build(self, screen: gr.Blocks) -> None:
        """Place the components into ``screen``, which is open, and connect them."""
        session_id = gr.BrowserState("", storage_key="sdft-session", secret="sdft")
        page = stage("play", scripts=_SCRIPTS)
        data = feed("play", loading_view(self._host.owner.status, self._owners))
        both = [data, session_id]
        options = {
            "show_progress": "hidden",
            "concurrency_limit": None,
            "api_visibility": "private",
        }
        gr.on([screen.load], self.open, [session_id], both, api_name="screen_open", **options)
        # Gradio's default would drop a gesture made while an earlier one is being answered.
        options["trigger_mode"] = "multiple"
        # Names of their own: a handler's default name would push the public endpoints aside.
        for event, handler, inputs, outputs in (
            ("gesture", self.gesture, [session_id], both),
            ("autopilot", self.autopilot, [session_id], both),
            ("stop", self.stop, [session_id], None),
            ("reset", self.reset, None, both),
        ):
            listen = getattr(page, event)
            listen(handler, inputs, outputs, api_name=f"screen_{event}", **options)

    def open(self, session_id: str, request: gr.Request) -> Iterator[Update]:
        """A visitor arrives: show the model loading, then their session or a new one.

        A link with ``?session=…`` opens that session, for a second screen or a program's.
        """
        session_id = request.query_params.get("session") or session_id
        owner = self._host.owner
        while owner.status.kind == "loading":
            yield encode(loading_view(owner.status, self._owners)), gr.skip()
            owner.wait_for_news(_POLL_SECONDS)
        if owner.status.kind == "failed":
            yield encode(loading_view(owner.status, self._owners)), gr.skip()
            return
        try:
            hosted = self._host.find(session_id) if session_id else None
        except (HostError, StoreError):
            hosted = None  # of another model, or its data folder is gone: begin afresh
        if hosted is None:
            yield from self._begin(owners()[0], 0)
            return
        yield encode(view(hosted, self._owners)), hosted.id
        yield from self._watch(hosted)

    def reset(self, event: gr.EventData) -> Iterator[Update]:
        """Begin a new session with the chosen persona and seed."""
        yield from self._begin(event.persona, event.seed)

    def gesture(self, event: gr.EventData, session_id: str) -> Iterator[Update]:
        """Pass a gesture on and show what follows from it."""
        try:
            hosted = self._host.find(session_id)
            outcome = outcome_named(event.outcome)
            done = hosted.react(str(event.notification_id), outcome)
        except (ValueError, EngineError, StoreError) as error:
            yield self._problem(error), gr.skip()
            return
        yield from self._watch(hosted, done)

    def autopilot(self, event: gr.EventData, session_id: str) -> Iterator[Update]:
        """Let the persona react by itself."""
        try:
            hosted = self._host.find(session_id)
            done = hosted.autopilot(event.events)
        except (ValueError, EngineError, StoreError) as error:
            yield self._problem(error), gr.skip()
            return
        yield from self._watch(hosted, done)

    def stop(self, session_id: str) -> None:
        """Stop the autopilot."""
        self._host.find(session_id).stop()

    def _begin(self, owner: str, seed: Any) -> Iterator[Update]:
        try:
            hosted = self._host.start(for_the_screen(start_named(owner, seed)))
        except (ValueError, EngineError, StoreError) as error:
            yield self._problem(error), gr.skip()
            return
        yield encode(view(hosted, self._owners)), hosted.id
        yield from self._watch(hosted)

    def _watch(self, hosted: Hosted, done: Future | None = None) -> Iterator[Update]:
        """The session's screen now, and again at every change until nothing is going on."""
        revision = -1
        while True:
            hosted.wait_for_change(revision, _QUIET_SECONDS)
            idle, revision = hosted.idle, hosted.revision
            shown = view(hosted, self._owners)
            error = done.exception() if done is not None and done.done() else None
            if error is not None and shown["state"]["kind"] != "problem":
                shown["state"] = {"kind": "problem", "text": str(error), "progress": None}
            yield encode(shown), gr.skip()
            if idle and hosted.revision == revision:
                return

    def _problem(self, error: Exception) -> str | None:
        state = {"kind": "problem", "text": str(error), "progress": None}
        return encode({"state": state, "personas": self._owners})
