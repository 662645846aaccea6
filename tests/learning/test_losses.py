"""The loss by hand, and its gradient against finite differences."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from sdft.learning.losses import soft_cross_entropy, softmax


def test_by_hand():
    logits = np.log([[0.5, 0.25, 0.25], [0.1, 0.1, 0.8]])
    targets = np.array([[1.0, 0.0, 0.0], [0.0, 0.5, 0.5]])
    loss, gradient = soft_cross_entropy(logits, targets)
    by_hand = (-math.log(0.5) - 0.5 * math.log(0.1) - 0.5 * math.log(0.8)) / 2
    assert loss == pytest.approx(by_hand)
    np.testing.assert_allclose(gradient, [[-0.25, 0.125, 0.125], [0.05, -0.2, 0.15]])


def test_entropy_bonus_by_hand():
    loss, gradient = soft_cross_entropy(np.zeros((1, 3)), np.zeros((1, 3)), entropy_bonus=1.0)
    assert loss == pytest.approx(-math.log(3))  # uniform already has the most entropy
    np.testing.assert_allclose(gradient, 0.0, atol=1e-12)


@settings(max_examples=40)
@given(
    arrays(float, (3, 3), elements=st.floats(-5, 5)),
    arrays(float, (3, 3), elements=st.floats(-5, 5)),
    st.floats(0, 2),
)
def test_gradient_against_finite_differences(logits, targets, bonus):
    _, gradient = soft_cross_entropy(logits, targets, bonus)
    step = 1e-5
    for index in np.ndindex(logits.shape):
        moved = np.zeros_like(logits)
        moved[index] = step
        up, _ = soft_cross_entropy(logits + moved, targets, bonus)
        down, _ = soft_cross_entropy(logits - moved, targets, bonus)
        assert gradient[index] == pytest.approx((up - down) / (2 * step), abs=1e-5)


def test_large_logits_stay_finite():
    np.testing.assert_allclose(softmax(np.array([1e4, 0.0, -1e4])), [1.0, 0.0, 0.0])


def test_what_would_poison_the_adapter_is_refused():
    with pytest.raises(ValueError, match="finite"):
        soft_cross_entropy(np.array([[np.nan, 0, 0]]), np.zeros((1, 3)))
    with pytest.raises(ValueError, match=r"\[n, 3\]"):
        soft_cross_entropy(np.zeros((2, 3)), np.zeros((1, 3)))
