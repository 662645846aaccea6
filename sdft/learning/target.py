"""The hindsight target: what one matured callback teaches (PROTOCOL.md section 5).

    reliable  (|S| = 1)   T = 0.05 Q + 0.05 D + 0.90 B
    ambiguous             T = D restricted to S and renormalised
    censored (UNKNOWN)    no target

with D the sealed student distribution, Q the teacher, S the causal support, B uniform over S.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sdft.learning.behavior import Distribution
from sdft.learning.checks import SettingsError, in_range
from sdft.world.routes import ROUTES, Outcome, Reliability, Route

AMBIGUOUS = "AMBIGUOUS"


@dataclass(frozen=True)
class BlendSettings:
    """Weights of the reliable target; they must sum to 1."""

    teacher: float = 0.05  # weight of Q, the model rereading with the outcome in view
    sealed: float = 0.05  # weight of D, what the student said when it decided
    evidence: float = 0.90  # weight of B, what the owner's gesture proves

    def __post_init__(self) -> None:
        for name in ("teacher", "sealed", "evidence"):
            in_range(name, getattr(self, name), 0, 1)
        total = self.teacher + self.sealed + self.evidence
        if abs(total - 1.0) > 1e-6:
            raise SettingsError(
                f"teacher + sealed + evidence is {total:g}; the three weights must sum to 1"
            )


def evidence(support: frozenset[Route]) -> Distribution:
    """B: uniform over the causal support."""
    return tuple((route in support) / len(support) for route in ROUTES)


def restrict(distribution: Sequence[float], support: frozenset[Route]) -> Distribution:
    """A distribution cut to a support and renormalised; uniform there if nothing is left."""
    kept = [p if route in support else 0.0 for route, p in zip(ROUTES, distribution, strict=True)]
    total = sum(kept)
    return tuple(p / total for p in kept) if total > 0 else evidence(support)


def target(
    outcome: Outcome,
    sealed: Sequence[float],
    teacher: Sequence[float],
    blend: BlendSettings,
) -> Distribution | None:
    """T for one callback, or None if it is censored. Inputs and result are in route order."""
    if outcome.reliability is Reliability.CENSORED:
        return None
    if outcome.reliability is Reliability.AMBIGUOUS:
        return restrict(sealed, outcome.support)
    proof = evidence(outcome.support)
    return tuple(
        blend.teacher * q + blend.sealed * d + blend.evidence * b
        for q, d, b in zip(teacher, sealed, proof, strict=True)
    )


def group(outcome: Outcome) -> str:
    """The replay group of a lesson: the one supported route's name, or AMBIGUOUS."""
    if outcome.reliability is Reliability.RELIABLE:
        (route,) = outcome.support
        return route.name
    return AMBIGUOUS
