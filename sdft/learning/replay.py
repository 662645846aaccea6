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
    ages = np.array([lessons[-1].number - lesson.number for lesson in older])
    weights = np.zeros(len(older))
    for name in {lesson.group for lesson in older}:
        members = np.array([lesson.group == name for lesson in older])
        # counted from the group's newest, which cancels out and cannot underflow to 0 / 0
        recency = 2.0 ** (-(ages[members] - ages[members].min()) / settings.half_life)
        eta = settings.ambiguous_weight if name == AMBIGUOUS else 1.0
        weights[members] = eta * recency / recency.sum()
    return weights


def rows_drawn(weights: np.ndarray, settings: ReplaySettings) -> int:
    """How many older lessons join the newest in one batch."""
    return min(settings.batch_rows - 1, int((weights > 0).sum())) if settings.replay else 0


def draw_batch(
    lessons: Sequence[Lesson], settings: ReplaySettings, generator: np.random.Generator
) -> tuple[Lesson, ...]:
    """One batch, the newest lesson first. Without replay it is the newest lesson alone."""
    weights = draw_weights(lessons, settings)
    count = rows_drawn(weights, settings)
    if count == 0:
        return (lessons[-1],)
    drawn = generator.choice(len(weights), count, replace=False, p=weights / weights.sum())
    return (lessons[-1], *(lessons[i] for i in drawn))


def draw_chances(lessons: Sequence[Lesson], settings: ReplaySettings) -> list[float]:
    """Chance of each lesson to be in one batch, newest = 1, in the order of ``lessons``.

    For the screen: pi_i = 1 - exp(-lambda w_i), with lambda such that they sum to the number of
    rows drawn (Rosen 1972), which is within 0.05 of the draw without replacement.
    """
    if not lessons:
        return []
    weights = draw_weights(lessons, settings)
    return [*inclusion_chances(weights, rows_drawn(weights, settings)).tolist(), 1.0]


def inclusion_chances(weights: np.ndarray, count: int) -> np.ndarray:
    """pi_i of ``count`` draws without replacement from ``weights`` >= 0; sums to ``count``."""
    if count >= (weights > 0).sum():
        return (weights > 0).astype(float) if count else np.zeros(len(weights))
    low, high = -64.0, 1000.0  # log2 lambda, halved until it is exact
    while high - low > 1e-9:
        middle = (low + high) / 2
        enough = -np.expm1(-(2.0**middle) * weights).sum() >= count
        low, high = (low, middle) if enough else (middle, high)
    return -np.expm1(-(2.0**high) * weights)


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
