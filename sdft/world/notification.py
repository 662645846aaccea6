"""A notification, and the part of it that a learner may see.

The boundary of PROTOCOL.md section 1 is a type: learners receive an :class:`Observation`, which has
no field for utilities, preferences or simulator state. Only the simulated owner and the scorer hold
a :class:`Notification` with its :class:`Hidden` half.
"""

from __future__ import annotations

from dataclasses import dataclass

from sdft.world.routes import ROUTES, Route


@dataclass(frozen=True)
class Observation:
    """All that the model may know of a notification before it decides."""

    id: str
    local_time: str  # "HH:MM", 24 hours
    regime: str  # weekday, on-call, off-hours, or a free label of an own stream
    category: str
    importance: float  # in [0, 1], as declared by the sender
    title: str
    body: str


@dataclass(frozen=True)
class Hidden:
    """The owner's side, which no learner sees.

    ``utilities`` are in the order INTERRUPT, LATER, ARCHIVE; ``preferred`` is the preference that
    was sampled once for this event, so that every method meets the same owner.
    """

    utilities: tuple[float, float, float]
    preferred: Route

    def regret(self, route: Route) -> float:
        """Utility lost by ``route`` against the best route: max_a u(a) - u(route), >= 0."""
        return max(self.utilities) - self.utilities[route.index]

    def expected_regret(self, behaviour: tuple[float, float, float]) -> float:
        """Regret expected under a distribution over the three routes."""
        return sum(behaviour[r.index] * self.regret(r) for r in ROUTES)


@dataclass(frozen=True)
class Notification:
    """One event of a stream: what is seen, and (in simulated streams) what its owner feels."""

    seen: Observation
    hidden: Hidden | None = None

    @property
    def id(self) -> str:
        """The stream-wide unique id."""
        return self.seen.id
