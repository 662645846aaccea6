"""Exploration by hand (PROTOCOL.md sections 4 and 4b)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdft.learning.behavior import BehaviorSettings, behavior
from sdft.learning.checks import SettingsError
from sdft.world.routes import ROUTES, Route

PUBLISHED = BehaviorSettings(guard=False)
GUARDED = BehaviorSettings()
SURE = (0.2, 0.1, 0.7)
UNSURE = (0.3, 0.3, 0.4)

distributions = st.tuples(*[st.floats(1e-6, 1.0)] * 3).map(
    lambda weights: tuple(w / sum(weights) for w in weights)
)


def b(student, t, silent=0, settings=PUBLISHED):
    return behavior(student, t, silent, settings).probabilities


def test_epsilon_only():
    assert b(SURE, 1) == pytest.approx((0.02 / 3, 0.02 / 3, 0.98 + 0.02 / 3))


def test_probe_while_unsure_and_its_half_life():
    assert b(UNSURE, 1)[0] == pytest.approx(0.15 + 0.85 * 0.02 / 3)
    assert b(UNSURE, 81)[0] == pytest.approx(0.075 + 0.925 * 0.02 / 3)
    assert b((0.3, 0.1, 0.6), 1)[0] > 0.15  # tau itself still probes
    assert b((0.3, 0.09, 0.61), 1)[0] < 0.01


def test_taper():
    full, half = b(SURE, 160)[0], b(SURE, 165)[0]
    assert full == pytest.approx(0.02 / 3)
    assert half == pytest.approx(full / 2)


def test_guard_after_eight_silent_routes():
    found = behavior(SURE, 1, 8, GUARDED)
    assert found.mass("guard") == pytest.approx(0.075)
    assert found.probabilities[0] == pytest.approx(0.075 + 0.925 * 0.02 / 3)
    assert behavior(SURE, 1, 0, GUARDED).mass("guard") == 0
    assert behavior((0.7, 0.2, 0.1), 1, 8, GUARDED).mass("guard") == 0  # ARCHIVE is not first


def test_the_guard_outlives_the_taper():
    assert behavior(SURE, 1000, 8, GUARDED).exploration_mass == pytest.approx(0.075)


def test_greedy():
    assert b(UNSURE, 1, 50, BehaviorSettings(explore=False)) == (0, 0, 1)


@given(distributions, st.integers(1, 400), st.integers(0, 300))
def test_parts_sum_to_a_distribution_and_the_mass_is_what_the_first_route_lost(student, t, silent):
    found = behavior(student, t, silent, GUARDED)
    assert sum(found.probabilities) == pytest.approx(1.0)
    assert min(found.probabilities) >= 0
    assert found.exploration_mass == pytest.approx(1 - found.probabilities[found.first.index])


def test_draws_follow_b_and_name_their_part():
    found = behavior(UNSURE, 1, 8, GUARDED)
    count = 20_000
    draws = [found.draw((i + 0.5) / count) for i in range(count)]
    for route in ROUTES:
        share = sum(drawn is route for drawn, _ in draws) / count
        assert share == pytest.approx(found.probabilities[route.index], abs=1e-4)
    parts = {part for drawn, part in draws if drawn is Route.INTERRUPT}
    assert parts == {"epsilon", "probe", "guard"}


@pytest.mark.parametrize("name", ["epsilon", "probe_ceiling", "guard_ceiling"])
def test_bad_settings_are_named(name):
    with pytest.raises(SettingsError, match=f"{name} is 1.5; use a number from 0 to 1"):
        BehaviorSettings(**{name: 1.5})
