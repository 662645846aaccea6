"""Bounded, balanced replay (PROTOCOL.md section 6).

The newest M lessons are kept. A batch holds the newest lesson and up to 7 others, drawn without
replacement with weight

    w_i = eta_c 2^(-d_i/32) / sum over older lessons j of the same group of 2^(-d_j/32)

where d_i is the age in lessons: every group of reliable lessons has the same total weight however
many it has, newer lessons weigh more, and ambiguous ones weigh little (eta 0.05).

Ours: an explicit correction from Saved supersedes the lessons it contradicts. See ``contradicted``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sdft.learning.behavior import Distribution
from sdft.learning.checks import in_range, positive, whole
from sdft.learning.target import AMBIGUOUS
from sdft.world.notification import Observation


@dataclass(frozen=True)
class ReplaySettings:
    """What is kept and how a batch is drawn."""

    replay: bool = True  # off: the newest lesson alone, in every step
    capacity: int = 64  # M, lessons
    warm_up: int = 4  # lessons before the first update
    batch_rows: int = 8  # rows of one batch, the newest included
    half_life: float = 32.0  # lessons until a lesson's weight has halved
    ambiguous_weight: float = 0.05  # eta of the ambiguous group
    supersede: bool = True  # a correction from Saved removes the lessons it contradicts
    supersede_similarity: float = 0.5  # share of words in common that makes two texts alike

    def __post_init__(self) -> None:
        whole("capacity", self.capacity, 1, 4096)
        whole("warm_up", self.warm_up, 1, 4096)
        whole("batch_rows", self.batch_rows, 1, 64)
        positive("half_life", self.half_life)
        in_range("ambiguous_weight", self.ambiguous_weight, 0, 1)
        in_range("supersede_similarity", self.supersede_similarity, 0, 1)


@dataclass(frozen=True)
class Lesson:
    """One row of replay: what was seen, what to say to it, and which group it balances in."""

    number: int  # from 1, in order of maturing
    seen: Observation
    target: Distribution
    group: str


def remember(
    lessons: Sequence[Lesson], newest: Lesson, settings: ReplaySettings
) -> tuple[Lesson, ...]:
    """The buffer with one more lesson, cut to its capacity, oldest first."""
    return (*lessons, newest)[-settings.capacity :]


def draw_weights(lessons: Sequence[Lesson], settings: ReplaySettings) -> np.ndarray:
    """w_i of every lesson but the newest, [n - 1]; zero if there is no other."""
    older = lessons[:-1]
    newest = lessons[-1].number
    recency = np.array([2.0 ** (-(newest - x.number) / settings.half_life) for x in older])
    weights = np.zeros(len(older))
    for name in {lesson.group for lesson in older}:
        members = np.array([lesson.group == name for lesson in older])
        eta = settings.ambiguous_weight if name == AMBIGUOUS else 1.0
        weights[members] = eta * recency[members] / recency[members].sum()
    return weights


def draw_batch(
    lessons: Sequence[Lesson], settings: ReplaySettings, generator: np.random.Generator
) -> tuple[Lesson, ...]:
    """One batch, the newest lesson first. Without replay it is the newest lesson alone."""
    newest = lessons[-1]
    if not settings.replay or len(lessons) == 1:
        return (newest,)
    weights = draw_weights(lessons, settings)
    count = min(settings.batch_rows - 1, int((weights > 0).sum()))
    if count == 0:
        return (newest,)
    drawn = generator.choice(len(weights), count, replace=False, p=weights / weights.sum())
    return (newest, *(lessons[i] for i in drawn))


def draw_chances(lessons: Sequence[Lesson], settings: ReplaySettings) -> list[float]:
    """Share of the draw weight per lesson, newest = 1, for the screen. Same order as ``lessons``."""
    if not lessons:
        return []
    weights = draw_weights(lessons, settings)
    total = weights.sum() if settings.replay else 0.0
    return [*(float(w / total) if total else 0.0 for w in weights), 1.0]


def words(seen: Observation) -> frozenset[str]:
    """Lower-case words of title and body."""
    return frozenset(f"{seen.title} {seen.body}".lower().split())


def similarity(one: Observation, other: Observation) -> float:
    """Jaccard overlap of title and body words, in [0, 1]."""
    a, b = words(one), words(other)
    return len(a & b) / len(a | b) if a | b else 1.0


def contradicted(
    lessons: Sequence[Lesson], correction: Lesson, settings: ReplaySettings
) -> tuple[Lesson, ...]:
    """The lessons that an explicit correction from Saved makes untrue.

    Same category, similar text, another group. Without this, two generations of evidence about the
    same thing contradict each other in the balanced replay and the student settles in between.
    """
    if not settings.supersede:
        return ()
    return tuple(
        old
        for old in lessons
        if old.group != correction.group
        and old.seen.category == correction.seen.category
        and similarity(old.seen, correction.seen) >= settings.supersede_similarity
    )
