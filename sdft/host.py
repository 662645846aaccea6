"""Many sessions in one process: who plays what, in which order, and what is going on.

Each session has a thread of its own that runs its commands one after the other; all of them share
the model through its owner. A command first finishes the lessons that are due, so the trace depends
only on seed, settings and gestures, never on how fast anybody was. Sessions that are not in memory
are taken up again from the store.
"""

from __future__ import annotations

import platform
import threading
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from importlib.metadata import version

from sdft.autopilot import NoOwner, play
from sdft.model.engine import EngineError
from sdft.model.owner import ModelOwner
from sdft.session import OrderError, Session, Start, check_stream, header_for
from sdft.store import Store, StoreError
from sdft.trace import Record
from sdft.world.phone import GestureError
from sdft.world.routes import Outcome

_IN_MEMORY = 200  # sessions kept in memory; older idle ones are on disk only


class HostError(ValueError):
    """A request that cannot be carried out; the message is for the person who made it."""


@dataclass(frozen=True)
class Activity:
    """What a session is doing: ready, deciding, learning, autopilot or problem."""

    kind: str = "ready"
    text: str = ""
    done: int = 0
    of: int = 0


class Hosted:
    """One session, its thread, and what the screen may know about it at any moment."""

    def __init__(self, session_id: str, session: Session) -> None:
        self.id = session_id
        self.session = session
        self.activity = Activity()
        self._changed = threading.Condition()
        self._revision = 0
        self._stop = threading.Event()
        self._busy = 0
        self._reported = 0
        self.first: Future | None = None  # done when the first card is there
        self._thread = ThreadPoolExecutor(1, thread_name_prefix=f"session-{session_id[:6]}")

    @property
    def revision(self) -> int:
        """Grows whenever there is something new to show."""
        return self._revision

    @property
    def idle(self) -> bool:
        """Whether nothing runs or waits."""
        return self._busy == 0

    def wait_for_change(self, revision: int, timeout: float) -> bool:
        """Block until ``revision`` is out of date; False after ``timeout`` seconds."""
        with self._changed:
            return self._changed.wait_for(lambda: self._revision > revision, timeout)

    def take_new(self) -> list[Record]:
        """The records that this method has not returned before."""
        records = list(self.session.records)
        new = records[self._reported :]
        self._reported = len(records)
        return new

    def begin(self) -> Future:
        """Decide on the first card, or finish what a stopped process left undone."""
        return self._command("deciding", self.session.catch_up)

    def react(self, notification_id: str, outcome: Outcome) -> Future:
        """Record a gesture; after the newest card's, decide on the next one."""
        return self._command("deciding", lambda: self._react(notification_id, outcome))

    def autopilot(self, events: int) -> Future:
        """Let the simulated owner answer ``events`` cards."""
        whole = isinstance(events, int) and not isinstance(events, bool)
        if not whole or not 1 <= events <= 10_000:
            raise HostError(f"autopilot events is {events!r}; use a whole number from 1 to 10000")
        self._stop.clear()
        return self._command("autopilot", lambda: self._autopilot(events))

    def stop(self) -> None:
        """Stop the autopilot after the stage that is running."""
        self._stop.set()

    def close(self) -> None:
        """Let the running command end and give the thread back."""
        self._stop.set()
        self._thread.shutdown(wait=True)

    def _command(self, kind: str, run: Callable[[], None]) -> Future:
        with self._changed:
            self._busy += 1
        return self._thread.submit(self._run, kind, run)

    def _run(self, kind: str, run: Callable[[], None]) -> None:
        self._show(Activity(kind))
        try:
            run()
            if kind != "learning" and self.session.lessons_due:
                self._command("learning", self._learn)
        except (GestureError, OrderError, NoOwner):
            self._show(Activity())
            raise
        except (StoreError, EngineError) as error:
            self._show(Activity("problem", str(error)))
            raise
        finally:
            with self._changed:
                self._busy -= 1
            if self.activity.kind != "problem":
                self._show(Activity() if self.idle else self.activity)

    def _show(self, activity: Activity) -> None:
        with self._changed:
            self.activity = activity
            self._revision += 1
            self._changed.notify_all()

    def _learn(self) -> None:
        while self.session.lessons_due:
            self.session.learn()
            self._show(self.activity)

    def _react(self, notification_id: str, outcome: Outcome) -> None:
        session = self.session
        session.learn_all()
        session.catch_up()  # a full disk may have cut the last command off
        newest = session.phone.current
        session.react(notification_id, outcome)
        session.release()
        goes_on = newest is not None and newest.id == notification_id
        if goes_on and session.decisions < len(session.stream):
            session.advance()
        elif not session.settings.learn_behind:
            session.learn_all()

    def _autopilot(self, events: int) -> None:
        def before_each(done: int) -> bool:
            self._show(Activity("autopilot", done=done, of=events))
            return not self._stop.is_set()

        play(self.session, events, before_each)


def software_versions() -> dict[str, str]:
    """What a trace header says about the software that made it."""
    names = ("torch", "transformers", "peft", "numpy")
    return {"python": platform.python_version(), **{name: version(name) for name in names}}


class Host:
    """All sessions of one process."""

    def __init__(self, owner: ModelOwner, store: Store) -> None:
        self.owner = owner
        self.store = store
        self._lock = threading.Lock()
        self._hosted: OrderedDict[str, Hosted] = OrderedDict()

    def start(self, start: Start) -> Hosted:
        """A new session, its first card being decided.

        Raises:
            EngineError: the model is not ready, or a notification is too long for it.
            StoreError: nothing can be written.
        """
        check_stream(start.stream, self.owner)
        header = header_for(start, self.owner, software_versions())
        session_id = self.store.create(header, start.stream)
        session = Session(self.owner, start.stream, header, self.store.recorder(session_id))
        return self._adopt(Hosted(session_id, session))

    def find(self, session_id: str) -> Hosted:
        """A session in memory, or taken up again from the store.

        Raises:
            HostError: there is no such session.
        """
        with self._lock:
            known = self._hosted.get(session_id)
            if known is not None:
                self._hosted.move_to_end(session_id)
                return known
        saved = self.store.load(session_id, self.owner.layout)
        if saved is None:
            raise HostError(f"there is no session {session_id[:40]!r} here; start a new one")
        if saved.header.model != self.owner.info.name:
            raise HostError(
                f"this session was played on {saved.header.model}, the app now runs "
                f"{self.owner.info.name}; start the app with --model {saved.header.model}"
            )
        session = Session(
            self.owner,
            saved.stream,
            saved.header,
            self.store.recorder(session_id),
            saved.records,
            saved.checkpoint,
        )
        return self._adopt(Hosted(session_id, session))

    def _adopt(self, hosted: Hosted) -> Hosted:
        with self._lock:
            earlier = self._hosted.setdefault(hosted.id, hosted)
            idle = [key for key, value in self._hosted.items() if value.idle and key != hosted.id]
            excess = idle[: max(0, len(self._hosted) - _IN_MEMORY)]
            leaving = [self._hosted.pop(key) for key in excess]
        for session in leaving:
            session.close()
        if earlier is hosted:
            hosted.first = hosted.begin()
        return earlier
