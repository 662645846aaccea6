"""Exploration: the behaviour b_t from the student p_t, and its mass by part (PROTOCOL.md 4, 4b).

    b0 = (1 - eps) g_t + eps U                                   epsilon, U uniform
    b1 = (1 - rho_t) b0 + rho_t onehot(INTERRUPT)                probe, only while max p_t <= tau
    b2 = lambda_t b1 + (1 - lambda_t) g_t                        taper
    b_t = (1 - r) b2 + r onehot(INTERRUPT)                       guard, only while ARCHIVE is first

with g_t the one-hot of argmax p_t, rho_t = rho0 2^(-(t-1)/h_rho), lambda_t = 1 up to t0 and
2^(-(t-t0)/h_lambda) after it, r = r_max (1 - 2^(-n/h_s)) and n the routes archived in silence.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sdft.learning.checks import in_range, positive
from sdft.world.routes import ROUTES, Route

Distribution = tuple[float, float, float]


@dataclass(frozen=True)
class BehaviorSettings:
    """How the phone explores. Defaults are the published values, and the guard of PROTOCOL 4b."""

    explore: bool = True  # off: greedy serving, b_t = g_t
    epsilon: float = 0.02  # share of decisions spread evenly over the routes
    probe_ceiling: float = 0.60  # tau: probe only while the student is at most this sure
    probe_start: float = 0.15  # rho0: chance of a probe at the first decision
    probe_half_life: float = 80.0  # h_rho, decisions
    taper_after: int = 160  # t0: decisions before exploration is faded out
    taper_half_life: float = 5.0  # h_lambda, decisions
    guard: bool = True  # against the silence trap; the published policy has none
    guard_ceiling: float = 0.15  # r_max: chance of a look after a long silence
    guard_half_life: float = 8.0  # h_s, silent routes

    def __post_init__(self) -> None:
        in_range("epsilon", self.epsilon, 0, 1)
        in_range("probe_ceiling", self.probe_ceiling, 0, 1)
        in_range("probe_start", self.probe_start, 0, 1)
        in_range("guard_ceiling", self.guard_ceiling, 0, 1)
        in_range("taper_after", self.taper_after, 0, 1_000_000)
        positive("probe_half_life", self.probe_half_life)
        positive("taper_half_life", self.taper_half_life)
        positive("guard_half_life", self.guard_half_life)


@dataclass(frozen=True)
class Behavior:
    """b_t in four additive parts, each with its share per route; the parts sum to b_t.

    ``greedy`` is the share that simply follows the student. The exploration mass of a part is what
    it puts on the two routes that the student did not put first.
    """

    first: Route
    greedy: Distribution
    epsilon: Distribution
    probe: Distribution
    guard: Distribution

    @property
    def probabilities(self) -> Distribution:
        """b_t, in route order; sums to 1."""
        parts = zip(self.greedy, self.epsilon, self.probe, self.guard, strict=True)
        return tuple(sum(shares) for shares in parts)

    def mass(self, part: str) -> float:
        """Exploration mass of 'epsilon', 'probe' or 'guard', in [0, 1]."""
        shares = getattr(self, part)
        return sum(s for route, s in zip(ROUTES, shares, strict=True) if route is not self.first)

    @property
    def exploration_mass(self) -> float:
        """1 - b_t(argmax p_t), the sum of the three masses."""
        return sum(self.mass(part) for part in ("epsilon", "probe", "guard"))

    def draw(self, uniform: float) -> tuple[Route, str]:
        """The route and the part it came from, for a uniform draw in [0, 1)."""
        total = 0.0
        for route in ROUTES:
            for part in ("greedy", "epsilon", "probe", "guard"):
                total += getattr(self, part)[route.index]
                if uniform < total:
                    return route, part
        return self.first, "greedy"  # rounding left the last sliver uncovered


def one_hot(route: Route) -> Distribution:
    """1 on ``route``, 0 elsewhere."""
    return tuple(float(route is r) for r in ROUTES)


def _scaled(distribution: Distribution, factor: float) -> Distribution:
    return tuple(factor * value for value in distribution)


def first_route(student: Sequence[float]) -> Route:
    """argmax p_t; ties go to the earlier route."""
    return ROUTES[max(range(len(ROUTES)), key=lambda i: student[i])]


def taper(t: int, settings: BehaviorSettings) -> float:
    """lambda_t: how much of the exploration is left at decision t (from 1)."""
    over = max(0, t - settings.taper_after)
    return 2.0 ** (-over / settings.taper_half_life)


def probe_rate(student: Sequence[float], t: int, settings: BehaviorSettings) -> float:
    """rho_t, or 0 while the student is surer than tau."""
    if max(student) > settings.probe_ceiling:
        return 0.0
    return settings.probe_start * 2.0 ** (-(t - 1) / settings.probe_half_life)


def guard_rate(first: Route, silent_for: int, settings: BehaviorSettings) -> float:
    """r: grows with the silence, only while ARCHIVE is first."""
    if not settings.guard or first is not Route.ARCHIVE:
        return 0.0
    return settings.guard_ceiling * (1.0 - 2.0 ** (-silent_for / settings.guard_half_life))


def behavior(
    student: Sequence[float], t: int, silent_for: int, settings: BehaviorSettings
) -> Behavior:
    """b_t for decision ``t`` (from 1), after ``silent_for`` archived routes in a row.

    ``student`` is p_t in route order. Returns the parts after taper and guard.
    """
    first = first_route(student)
    greedy = one_hot(first)
    if not settings.explore:
        return Behavior(first, greedy, *(_scaled(greedy, 0.0),) * 3)
    fade = taper(t, settings)
    probe = fade * probe_rate(student, t, settings)
    epsilon = (fade - probe) * settings.epsilon
    guard = guard_rate(first, silent_for, settings)
    keep = 1.0 - guard
    uniform = (1 / 3, 1 / 3, 1 / 3)
    return Behavior(
        first,
        greedy=_scaled(greedy, keep * (1.0 - probe - epsilon)),
        epsilon=_scaled(uniform, keep * epsilon),
        probe=_scaled(one_hot(Route.INTERRUPT), keep * probe),
        guard=_scaled(one_hot(Route.INTERRUPT), guard),
    )
