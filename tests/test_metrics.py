"""Metrics by hand from a small trace."""

from __future__ import annotations

import pytest

from sdft.metrics import cumulative, metrics, moving_accuracy
from sdft.trace import Decided, Learned, Matured, Reviewed, Scored
from sdft.world.notification import Observation
from sdft.world.routes import Outcome, Route


def decided(t: int, route: Route, regime: str = "weekday") -> Decided:
    seen = Observation(f"n{t}", "09:00", regime, "promo", 0.1, "t", "b")
    zero = (0.0, 0.0, 0.0)
    return Decided(
        t, 15 * (t - 1), seen, (0.2, 0.3, 0.5), (0.0, 0.0, 1.0), zero, zero, zero, 0.5, route,
        "greedy", 0, 0, 0.25,
    )  # fmt: skip


def scored(t: int, regret: float, correct: bool) -> Scored:
    return Scored(t, Route.ARCHIVE, (0.0, 0.0, 1.0), regret, regret / 2, correct)


RECORDS = [
    decided(1, Route.INTERRUPT),
    scored(1, 1.0, False),
    Matured(1, "n1", Outcome.DELETED_NOTIFICATION, 15, -2.0),
    Reviewed(1, 1, "n1", Outcome.DELETED_NOTIFICATION, *[(0.2, 0.3, 0.5)] * 3, "ARCHIVE", (), 2, 0),
    Learned(1, (0.2, 0.3, 0.5), (0.1, 0.2, 0.7), 2, 0.5, "abc", 0.5),
    decided(2, Route.ARCHIVE, "on-call"),
    scored(2, 0.0, True),
    Matured(2, "n2", Outcome.NO_OBSERVABLE_SELECTION, 255, 0.0),
    decided(3, Route.LATER, "on-call"),
    scored(3, 0.5, False),
    Matured(3, "n3", Outcome.OPENED_DIGEST, 150, 0.25),
    decided(4, Route.ARCHIVE, "on-call"),
    scored(4, 0.0, True),
]


def test_by_hand():
    found = metrics(RECORDS)
    assert (found.decisions, found.lessons, found.updates) == (4, 1, 2)
    assert found.accuracy == 0.5
    assert found.cumulative_regret == 1.5 and found.expected_regret == 0.75
    assert found.reward_per_decision == pytest.approx(-1.75 / 4)
    assert (found.reliable, found.ambiguous, found.censored, found.pending) == (1, 1, 1, 1)
    assert found.routes == {"INTERRUPT": 1, "LATER": 1, "ARCHIVE": 2}
    assert found.accuracy_by_regime == {"weekday": 0.0, "on-call": pytest.approx(2 / 3)}
    assert found.seconds == 4 * 0.25 + 0.5


def test_a_correction_counts_once_with_its_last_callback():
    late = Matured(2, "n2", Outcome.ASKED_TO_SHOW, 300, 0.0)
    found = metrics([*RECORDS, late])
    assert (found.reliable, found.censored, found.pending) == (2, 0, 1)


def test_without_scores_and_without_anything():
    found = metrics([r for r in RECORDS if not isinstance(r, Scored)])
    assert found.accuracy is None and found.cumulative_regret is None
    assert metrics([]).reward_per_decision == 0.0


def test_curves():
    assert cumulative([1.0, 0.5, 0.0]) == [1.0, 1.5, 1.5]
    assert moving_accuracy([True, False, False, True], window=2) == [1.0, 0.5, 0.0, 0.5]
