"""The loss of an update step, as a pure function with its exact gradient.

Every method here minimises one form (PROTOCOL.md sections 5 and 7), with p = softmax(z):

    L = 1/n * sum over rows [ - sum_a T(a) log p(a)  -  beta * H(p) ]

Soft cross-entropy is beta = 0 with T a distribution; RFT's one-hot T is a special case; REINFORCE
is T = reward at the action taken, beta = 1. Its gradient in the logits is closed, so engines need
only carry it back through the network.
"""

from __future__ import annotations

import numpy as np


def log_softmax(logits: np.ndarray) -> np.ndarray:
    """Row-wise log softmax of [n, 3], stable for large logits."""
    shifted = logits - logits.max(axis=-1, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))


def softmax(logits: np.ndarray) -> np.ndarray:
    """Row-wise softmax at temperature 1 of [..., 3]."""
    return np.exp(log_softmax(np.asarray(logits, dtype=np.float64)))


def soft_cross_entropy(
    logits: np.ndarray, targets: np.ndarray, entropy_bonus: float = 0.0
) -> tuple[float, np.ndarray]:
    """Mean loss over n rows and its gradient.

    Args:
        logits: [n, 3], finite.
        targets: [n, 3], finite.
        entropy_bonus: beta >= 0.

    Returns:
        (loss, dL/dlogits of shape [n, 3]).

    Raises:
        ValueError: shapes differ, or a number is not finite.
    """
    logits = np.asarray(logits, dtype=np.float64)
    targets = np.asarray(targets, dtype=np.float64)
    if logits.shape != targets.shape or logits.ndim != 2:
        raise ValueError(f"logits {logits.shape} and targets {targets.shape} must both be [n, 3]")
    if not (np.isfinite(logits).all() and np.isfinite(targets).all()):
        raise ValueError("logits and targets must be finite; a NaN here would poison the adapter")
    log_p = log_softmax(logits)
    p = np.exp(log_p)
    entropy = -(p * log_p).sum(axis=-1, keepdims=True)
    per_row = -(targets * log_p).sum(axis=-1) - entropy_bonus * entropy[:, 0]
    # d(-sum T log p)/dz = p sum(T) - T;  dH/dz = -p (log p + H)
    gradient = p * targets.sum(axis=-1, keepdims=True) - targets
    gradient += entropy_bonus * p * (log_p + entropy)
    return float(per_row.mean()), gradient / len(logits)
