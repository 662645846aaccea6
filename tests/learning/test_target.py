"""The hindsight target by hand (PROTOCOL.md section 5)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdft.learning.checks import SettingsError
from sdft.learning.target import AMBIGUOUS, BlendSettings, group, target
from sdft.world.routes import ROUTES, Outcome, Reliability

BLEND = BlendSettings()
SEALED = (0.5, 0.3, 0.2)
TEACHER = (0.1, 0.2, 0.7)

distributions = st.tuples(*[st.floats(1e-6, 1.0)] * 3).map(
    lambda weights: tuple(w / sum(weights) for w in weights)
)


def test_reliable_by_hand():
    # ARCHIVE: 0.05 * 0.7 + 0.05 * 0.2 + 0.90 = 0.945, and so on.
    found = target(Outcome.DELETED_NOTIFICATION, SEALED, TEACHER, BLEND)
    assert found == pytest.approx((0.03, 0.025, 0.945))


def test_ambiguous_is_the_sealed_decision_cut_to_its_support():
    found = target(Outcome.OPENED_DIGEST, SEALED, TEACHER, BLEND)
    assert found == pytest.approx((0.625, 0.375, 0.0))


@pytest.mark.parametrize("outcome", [Outcome.IGNORED, Outcome.NO_OBSERVABLE_SELECTION])
def test_censored_has_no_target(outcome):
    assert target(outcome, SEALED, TEACHER, BLEND) is None


def test_an_ambiguous_target_survives_a_student_that_excluded_its_support():
    assert target(Outcome.OPENED_DIGEST, (0.0, 0.0, 1.0), TEACHER, BLEND) == (0.5, 0.5, 0.0)


@given(distributions, distributions, st.sampled_from(Outcome))
def test_targets_are_distributions_with_their_mass_on_the_support(sealed, teacher, outcome):
    found = target(outcome, sealed, teacher, BLEND)
    if outcome.reliability is Reliability.CENSORED:
        assert found is None
        return
    assert sum(found) == pytest.approx(1.0)
    supported = sum(found[r.index] for r in outcome.support)
    assert supported >= (0.9 if outcome.reliability is Reliability.RELIABLE else 1.0) - 1e-9


def test_groups():
    assert group(Outcome.OPENED_DIGEST) == AMBIGUOUS
    assert group(Outcome.OPENED_AFTER_DELAY) == "LATER"
    assert {group(o) for o in Outcome if o.is_saved_correction} == {r.name for r in ROUTES}


def test_weights_must_sum_to_one():
    with pytest.raises(SettingsError, match="sum"):
        BlendSettings(teacher=0.5)
    with pytest.raises(SettingsError, match="evidence is nan"):
        BlendSettings(evidence=float("nan"))
