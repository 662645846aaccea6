"""Ways to learn from the same callbacks, one file each behind one protocol."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from sdft.learning.behavior import Behavior, Distribution
from sdft.learning.checks import SettingsError
from sdft.learning.methods.base import Base
from sdft.learning.methods.online_sdft import OnlineSDFT
from sdft.learning.replay import Lesson
from sdft.settings import Settings
from sdft.world.routes import Outcome


class Method(Protocol):
    """What a session asks of a way to learn."""

    name: str

    def behavior(self, student: Sequence[float], t: int, silent_for: int) -> Behavior:
        """b_t for decision ``t`` (from 1)."""
        ...

    def teaches(self, outcome: Outcome) -> bool:
        """Whether a callback with this outcome becomes a lesson."""
        ...

    def target(
        self, outcome: Outcome, sealed: Sequence[float], teacher: Sequence[float]
    ) -> Distribution:
        """What the student should have said, for an outcome that teaches."""
        ...

    def steps(self, lesson_number: int) -> int:
        """Update steps after this lesson; 0 during warm-up."""
        ...

    def batch(
        self, lessons: Sequence[Lesson], seed: int, lesson_number: int, step: int
    ) -> tuple[Lesson, ...]:
        """Rows of one update step, the newest lesson first."""
        ...


METHODS: Mapping[str, Callable[[Settings], Method]] = {
    method.name: method for method in (OnlineSDFT, Base)
}


def method_named(name: str, settings: Settings) -> Method:
    """A method by name. Raises SettingsError if there is none."""
    if name not in METHODS:
        raise SettingsError(f"method is {name!r}; use one of {', '.join(METHODS)}")
    return METHODS[name](settings)
