"""The table of what a person can do on each route, and what that proves.

Three routes lead to three surfaces. Only the executed route is ever seen by its owner, so each
outcome supports some routes and says nothing about the others. Source: PROTOCOL.md section 2; the
first six outcomes and their rewards are the published benchmark's, the last four are ours.
"""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple


class Route(Enum):
    """What the phone does with a notification. The order fixes the order of every distribution."""

    INTERRUPT = "INTERRUPT"
    LATER = "LATER"
    ARCHIVE = "ARCHIVE"

    @property
    def code(self) -> str:
        """The one-token answer that stands for this route in a prompt: A, B or C."""
        return "ABC"[self.index]

    @property
    def index(self) -> int:
        """Position of this route in every probability vector."""
        return ROUTES.index(self)


ROUTES: tuple[Route, ...] = tuple(Route)


class Surface(Enum):
    """Where a notification is while its owner can still act on it."""

    LOCK_SCREEN = "lock screen"
    DIGEST = "digest"
    SAVED = "saved"


SURFACE_OF_ROUTE = {
    Route.INTERRUPT: Surface.LOCK_SCREEN,
    Route.LATER: Surface.DIGEST,
    Route.ARCHIVE: Surface.SAVED,
}


class Reliability(Enum):
    """How much a callback proves: one route, a set of routes, or nothing."""

    RELIABLE = "reliable"
    AMBIGUOUS = "ambiguous"
    CENSORED = "censored"


class Consequence(NamedTuple):
    """One row of the table."""

    routes: frozenset[Route]
    window_minutes: int
    support: frozenset[Route]
    reward: float
    saved_correction: bool = False


_I, _L, _A = ROUTES
_ALL = frozenset(ROUTES)


def _row(
    routes: set[Route], window: int, support: set[Route], reward: float, *, saved: bool = False
) -> Consequence:
    return Consequence(frozenset(routes), window, frozenset(support), reward, saved)


class Outcome(Enum):
    """What the person did, or did not do, on the route that was executed."""

    OPENED_IMMEDIATELY = "OPENED_IMMEDIATELY"
    OPENED_AFTER_DELAY = "OPENED_AFTER_DELAY"
    DELETED_NOTIFICATION = "DELETED_NOTIFICATION"
    OPENED_DIGEST = "OPENED_DIGEST"
    DELETED_FROM_DIGEST = "DELETED_FROM_DIGEST"
    NO_OBSERVABLE_SELECTION = "NO_OBSERVABLE_SELECTION"
    IGNORED = "IGNORED"
    ASKED_TO_SHOW = "ASKED_TO_SHOW"
    OPENED_FROM_SAVED = "OPENED_FROM_SAVED"
    CONFIRMED_QUIET = "CONFIRMED_QUIET"

    @property
    def window_minutes(self) -> int:
        """Simulated minutes from the decision until this callback may be learned from."""
        return CONSEQUENCES[self].window_minutes

    @property
    def support(self) -> frozenset[Route]:
        """The causal support S: the routes that this outcome leaves possible."""
        return CONSEQUENCES[self].support

    @property
    def reward(self) -> float:
        """Observable reward, as reported (never a training signal of Online-SDFT)."""
        return CONSEQUENCES[self].reward

    @property
    def reliability(self) -> Reliability:
        """Reliable if one route is left, censored if all three are, else ambiguous."""
        left = len(self.support)
        if left == 1:
            return Reliability.RELIABLE
        return Reliability.CENSORED if left == len(ROUTES) else Reliability.AMBIGUOUS

    @property
    def is_passive(self) -> bool:
        """True for the two outcomes in which the person made no gesture."""
        return self.reliability is Reliability.CENSORED

    @property
    def is_saved_correction(self) -> bool:
        """True for the three answers that a person can give in the Saved drawer."""
        return CONSEQUENCES[self].saved_correction

    def possible_on(self, route: Route) -> bool:
        """Whether this outcome can happen after ``route`` was executed."""
        return route in CONSEQUENCES[self].routes


CONSEQUENCES: dict[Outcome, Consequence] = {
    Outcome.OPENED_IMMEDIATELY: _row({_I}, 1, {_I}, 5.0),
    Outcome.OPENED_AFTER_DELAY: _row({_I}, 120, {_L}, -1.0),
    Outcome.DELETED_NOTIFICATION: _row({_I}, 15, {_A}, -2.0),
    Outcome.OPENED_DIGEST: _row({_L}, 120, {_I, _L}, 0.25),
    Outcome.DELETED_FROM_DIGEST: _row({_L}, 120, {_A}, -1.0),
    Outcome.NO_OBSERVABLE_SELECTION: Consequence(frozenset({_A}), 240, _ALL, 0.0),
    Outcome.IGNORED: Consequence(_ALL, 240, _ALL, 0.0),
    Outcome.ASKED_TO_SHOW: _row({_A}, 0, {_I}, 0.0, saved=True),
    Outcome.OPENED_FROM_SAVED: _row({_A}, 0, {_L}, 0.0, saved=True),
    Outcome.CONFIRMED_QUIET: _row({_A}, 0, {_A}, 0.0, saved=True),
}


def outcome_named(name: object) -> Outcome:
    """An outcome by its name. Raises ValueError that lists what there is."""
    try:
        return Outcome(name)
    except ValueError as error:
        known = ", ".join(outcome.name for outcome in Outcome)
        raise ValueError(f"outcome is {str(name)[:60]!r}; use one of {known}") from error


def default_outcome(route: Route) -> Outcome:
    """What is recorded after ``route`` if its owner makes no gesture before the window closes."""
    return Outcome.NO_OBSERVABLE_SELECTION if route is Route.ARCHIVE else Outcome.IGNORED


def gestures(route: Route) -> tuple[Outcome, ...]:
    """The outcomes that a person can cause by a gesture on ``route``'s surface, in table order."""
    return tuple(o for o in Outcome if o.possible_on(route) and not o.is_passive)
