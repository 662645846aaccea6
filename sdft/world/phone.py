"""The phone: its clock, its three surfaces, sealed decisions, and callbacks that mature.

Every delivered notification has exactly one queued callback. It starts as silence (IGNORED, or
NO_OBSERVABLE_SELECTION after ARCHIVE) that matures after 240 minutes; a gesture replaces it by what
the person did, with that outcome's own window. Nothing is released before its window has closed.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from sdft.world.notification import Observation
from sdft.world.routes import SURFACE_OF_ROUTE, Outcome, Route, Surface, default_outcome, gestures

MINUTES_PER_DECISION = 15  # PROTOCOL.md section 1


class GestureError(ValueError):
    """A gesture that cannot be: unknown or answered notification, or wrong for its route."""


@dataclass(frozen=True)
class SealedDecision:
    """What was decided, fixed before anything came back. ``clock`` is in simulated minutes."""

    t: int  # decision number, from 1
    clock: int
    seen: Observation
    student: tuple[float, float, float]  # p_t
    behavior: tuple[float, float, float]  # b_t
    route: Route


@dataclass(frozen=True)
class Delivered:
    """A notification on the phone with its queued callback."""

    decision: SealedDecision
    outcome: Outcome
    due: int  # clock minutes at which the callback may be released
    answered: bool = False  # the owner made a gesture
    acknowledged: bool = False  # the owner looked away from it without one
    released: bool = False  # the callback has been handed to the learner

    @property
    def id(self) -> str:
        """The notification's id."""
        return self.decision.seen.id

    @property
    def surface(self) -> Surface | None:
        """Where its owner can still act on it, or None."""
        place = SURFACE_OF_ROUTE[self.decision.route]
        gone = self.answered or (place is Surface.LOCK_SCREEN and self.acknowledged)
        closed = self.released and place is not Surface.SAVED
        return None if gone or closed else place


class Phone:
    """One phone in simulated time. Mutated only through deliver, react, wait and release."""

    def __init__(self) -> None:
        self.clock = 0
        self._delivered: dict[str, Delivered] = {}

    @property
    def current(self) -> Delivered | None:
        """The newest delivered notification."""
        return next(reversed(self._delivered.values()), None)

    @property
    def waiting_card(self) -> Delivered | None:
        """The card on the lock screen that waits for a gesture."""
        newest = self.current
        on_screen = newest is not None and newest.surface is Surface.LOCK_SCREEN
        return newest if on_screen else None

    def on(self, surface: Surface) -> list[Delivered]:
        """What its owner can act on there, newest first."""
        return [d for d in reversed(self._delivered.values()) if d.surface is surface]

    def pending(self) -> list[Delivered]:
        """Callbacks not released yet, next due first."""
        return sorted(
            (d for d in self._delivered.values() if not d.released),
            key=lambda d: (d.due, d.decision.t),
        )

    def due(self, clock: int) -> list[Delivered]:
        """Callbacks whose window has closed at ``clock``, in the order in which they closed."""
        return [d for d in self.pending() if d.due <= clock]

    def deliver(self, decision: SealedDecision) -> None:
        """Execute a decision on its surface and queue silence as its callback."""
        outcome = default_outcome(decision.route)
        due = decision.clock + outcome.window_minutes
        self.clock = decision.clock
        self._delivered[decision.seen.id] = Delivered(decision, outcome, due)

    def check(self, notification_id: str, outcome: Outcome) -> Delivered:
        """The notification that a gesture means.

        Raises:
            GestureError: not delivered, answered already, off its surface, or impossible there.
        """
        item = self._delivered.get(notification_id)
        if item is None:
            raise GestureError(
                f"notification {notification_id[:60]!r} has not been delivered; "
                "answer one that is on the phone"
            )
        route = item.decision.route
        if not outcome.possible_on(route):
            allowed = ", ".join(o.name for o in (*gestures(route), default_outcome(route)))
            raise GestureError(
                f"{outcome.name} cannot follow {route.name} (notification {item.id!r}); "
                f"possible are {allowed}"
            )
        if item.answered or (outcome.is_passive and item.acknowledged):
            raise GestureError(
                f"notification {item.id!r} has been answered with {item.outcome.name}; "
                "one gesture counts, the first"
            )
        if item.surface is None:
            raise GestureError(
                f"notification {item.id!r} has left the {SURFACE_OF_ROUTE[route].value}; "
                "its window has closed and UNKNOWN was recorded"
            )
        return item

    def react(self, notification_id: str, outcome: Outcome) -> None:
        """Queue what the person did. A callback never matures before the gesture itself."""
        item = self.check(notification_id, outcome)
        if outcome.is_passive:
            after = replace(item, outcome=outcome, acknowledged=True)
        else:
            due = max(item.decision.clock + outcome.window_minutes, self.clock)
            if outcome.is_saved_correction:
                due = self.clock
            after = replace(item, outcome=outcome, due=due, answered=True, released=False)
        self._delivered[item.id] = after

    def wait(self, clock: int) -> None:
        """Move the clock forward to ``clock`` minutes."""
        if clock < self.clock:
            raise ValueError(f"the clock is at {self.clock} and cannot go back to {clock}")
        self.clock = clock

    def release(self, notification_id: str) -> Delivered:
        """Hand a matured callback over. Raises ValueError if its window is still open."""
        item = self._delivered[notification_id]
        if item.due > self.clock or item.released:
            raise ValueError(f"callback of {notification_id!r} is not due at {self.clock}")
        self._delivered[notification_id] = replace(item, released=True)
        return item
