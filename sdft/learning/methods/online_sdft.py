"""Online-SDFT: explore, blend hindsight with evidence, replay (PROTOCOL.md sections 4 to 6)."""

from __future__ import annotations

from collections.abc import Sequence

from sdft.learning import behavior, replay, target
from sdft.learning.behavior import Behavior, Distribution
from sdft.learning.replay import Lesson
from sdft.settings import Settings
from sdft.world.chance import named_generator
from sdft.world.routes import Outcome, Reliability


class OnlineSDFT:
    """The method of the article, steered by its settings."""

    name = "online-sdft"

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    def behavior(self, student: Sequence[float], t: int, silent_for: int) -> Behavior:
        """Epsilon, probe, taper and guard."""
        return behavior.behavior(student, t, silent_for, self._settings.behavior)

    def teaches(self, outcome: Outcome) -> bool:
        """Reliable and ambiguous callbacks do; UNKNOWN does not."""
        return outcome.reliability is not Reliability.CENSORED

    def target(
        self, outcome: Outcome, sealed: Sequence[float], teacher: Sequence[float]
    ) -> Distribution:
        """The hindsight target."""
        blended = target.target(outcome, sealed, teacher, self._settings.blend)
        if blended is None:
            raise ValueError(f"{outcome.name} is censored and has no target")
        return blended

    def steps(self, lesson_number: int) -> int:
        """The same few steps after every lesson, once there are enough lessons."""
        warm = lesson_number >= self._settings.replay.warm_up
        return self._settings.update.steps if warm else 0

    def batch(
        self, lessons: Sequence[Lesson], seed: int, lesson_number: int, step: int
    ) -> tuple[Lesson, ...]:
        """A balanced draw, keyed by lesson and step so that nothing else shifts it."""
        generator = named_generator(seed, "replay", lesson_number, step)
        return replay.draw_batch(lessons, self._settings.replay, generator)
