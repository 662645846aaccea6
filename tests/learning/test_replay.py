"""Bounded balanced replay by hand (PROTOCOL.md section 6)."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdft.learning.replay import (
    Lesson,
    ReplaySettings,
    contradicted,
    draw_batch,
    draw_chances,
    draw_weights,
    remember,
)
from sdft.world.notification import Observation

SETTINGS = ReplaySettings()
GROUPS = ("INTERRUPT", "LATER", "ARCHIVE", "AMBIGUOUS")


def lesson(number: int, group: str, title: str = "Sale", category: str = "promo") -> Lesson:
    seen = Observation(f"n{number}", "09:00", "weekday", category, 0.1, title, "Only this week")
    return Lesson(number, seen, (0.0, 0.0, 1.0), group)


def lessons(groups) -> list[Lesson]:
    return [lesson(number, group) for number, group in enumerate(groups, 1)]


def test_weights_by_hand():
    held = lessons(["ARCHIVE", "INTERRUPT", "ARCHIVE", "AMBIGUOUS", "LATER"])
    held[0] = lesson(-27, "ARCHIVE")  # 32 lessons before the newest: half the weight of age 0
    found = draw_weights(held, SETTINGS)
    old, young = 2.0 ** (-32 / 32), 2.0 ** (-2 / 32)
    total = old + young
    np.testing.assert_allclose(found, [old / total, 1.0, young / total, 0.05])


@given(st.lists(st.sampled_from(GROUPS), min_size=2, max_size=64))
def test_every_group_has_the_same_weight_and_ambiguous_a_twentieth(groups):
    held = lessons(groups)
    weights = draw_weights(held, SETTINGS)
    for group in set(groups[:-1]):
        total = sum(w for w, x in zip(weights, held, strict=False) if x.group == group)
        assert total == pytest.approx(0.05 if group == "AMBIGUOUS" else 1.0)


@given(st.lists(st.sampled_from(GROUPS), min_size=1, max_size=64), st.integers(0, 1000))
def test_the_newest_is_in_every_batch_and_nothing_twice(groups, seed):
    held = lessons(groups)
    batch = draw_batch(held, SETTINGS, np.random.default_rng(seed))
    assert batch[0] is held[-1]
    assert len(batch) == min(8, len(held))
    assert len({x.number for x in batch}) == len(batch)


def test_without_replay_the_newest_is_alone():
    batch = draw_batch(lessons(GROUPS), ReplaySettings(replay=False), np.random.default_rng(0))
    assert [x.number for x in batch] == [4]


def test_the_oldest_leaves_first():
    held = ()
    for number in range(1, 70):
        held = remember(held, lesson(number, "ARCHIVE"), SETTINGS)
    assert [x.number for x in held] == list(range(6, 70))


def test_the_chance_shown_is_the_chance_drawn():
    """Against 4,000 batches: a share's standard error is below 0.008, the formula's bias 0.05."""
    held = lessons(["ARCHIVE"] * 20 + ["INTERRUPT"] * 4 + ["LATER", "AMBIGUOUS", "ARCHIVE"])
    random = np.random.default_rng(0)
    drawn = Counter()
    for _ in range(4000):
        drawn.update(x.number for x in draw_batch(held, SETTINGS, random))
    chances = draw_chances(held, SETTINGS)
    assert chances[-1] == 1.0 and sum(chances) == pytest.approx(8.0)
    for x, chance in zip(held, chances, strict=True):
        assert chance == pytest.approx(drawn[x.number] / 4000, abs=0.075)
    assert draw_chances([], SETTINGS) == []


def test_a_correction_contradicts_the_same_kind_only():
    held = [
        lesson(1, "ARCHIVE", "Sale at Pine"),
        lesson(2, "INTERRUPT", "Sale at Pine"),
        lesson(3, "ARCHIVE", "Sale at Pine", category="social"),
        lesson(4, "ARCHIVE", "Mum has called twice about the birthday cake and the big candles"),
    ]
    correction = lesson(5, "INTERRUPT", "Sale at Kite")
    assert [x.number for x in contradicted(held, correction, SETTINGS)] == [1]
    assert contradicted(held, correction, ReplaySettings(supersede=False)) == ()
