"""Base: the frozen model, epsilon-greedy with eps 0.06 (PROTOCOL.md section 7)."""

from __future__ import annotations

from collections.abc import Sequence

from sdft.learning import behavior
from sdft.learning.behavior import Behavior, BehaviorSettings, Distribution
from sdft.learning.replay import Lesson
from sdft.settings import Settings
from sdft.world.routes import Outcome

_EPSILON_GREEDY = BehaviorSettings(
    epsilon=0.06, probe_start=0.0, taper_after=1_000_000, guard=False
)


class Base:
    """Decides, is scored, and never learns."""

    name = "base"

    def __init__(self, settings: Settings) -> None:
        del settings  # nothing of it applies

    def behavior(self, student: Sequence[float], t: int, silent_for: int) -> Behavior:
        """Epsilon-greedy at a constant rate."""
        return behavior.behavior(student, t, silent_for, _EPSILON_GREEDY)

    def teaches(self, outcome: Outcome) -> bool:
        """Never."""
        return False

    def target(
        self, outcome: Outcome, sealed: Sequence[float], teacher: Sequence[float]
    ) -> Distribution:
        """Not reached, since no outcome teaches."""
        raise ValueError("the frozen model has no targets")

    def steps(self, lesson_number: int) -> int:
        """None."""
        return 0

    def batch(
        self, lessons: Sequence[Lesson], seed: int, lesson_number: int, step: int
    ) -> tuple[Lesson, ...]:
        """Not reached, since there are no steps."""
        return ()
