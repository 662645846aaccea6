"""A simulated owner: hidden utilities, sampled preference, reactions.

Source: PROTOCOL.md section 9 for the utilities and the preference, section 2 for the reactions.
Ours is that the formula's coefficients are a value (:class:`Weights`) and that a taste may add
shifts for some kinds of notification, so that owners with other tastes are data in
``assets/personas.json``. The persona ``published`` uses the formula's own numbers and no shift.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from types import MappingProxyType
from typing import Any

from sdft.assets import read_json
from sdft.world.chance import named_generator
from sdft.world.routes import ROUTES, Outcome, Route

CATEGORIES = ("manager", "calendar", "monitoring", "teammate", "social", "commerce", "promo")
REGIMES = ("weekday", "on-call", "off-hours")
SALIENCE = {"low": 0.0, "routine": 0.5, "urgent": 1.0}
TIERS = tuple(SALIENCE)

DIGEST_MINUTES = 120  # content with a shorter useful horizon is stale when the digest comes
SHARPNESS = 100  # 1 / 0.01: the exponent of the sharpened preference
_QUIET_CATEGORIES = frozenset({"manager", "calendar", "monitoring", "teammate", "commerce"})


@dataclass(frozen=True)
class Situation:
    """What the owner's feelings depend on: one event's kind and its hidden latents.

    ``importance``, ``deadline`` (how near), ``affinity`` (how dear the named person or thing is)
    and ``busy`` are in [0, 1]. ``horizon_minutes`` is how long the content stays useful; None if
    it does not go stale.
    """

    category: str
    regime: str
    tier: str
    importance: float
    deadline: float
    affinity: float
    busy: float
    horizon_minutes: float | None = None

    def __post_init__(self) -> None:
        for name in ("importance", "deadline", "affinity", "busy"):
            value = getattr(self, name)
            if not 0.0 <= value <= 1.0:
                raise ValueError(f"{name} must be in [0, 1], got {value!r}")
        if self.tier not in SALIENCE:
            raise ValueError(f"tier must be one of {', '.join(TIERS)}, got {self.tier!r}")

    @property
    def urgency(self) -> float:
        """urg = importance x deadline, in [0, 1]."""
        return self.importance * self.deadline

    def flag(self, regime: str, category: str) -> float:
        """The salience (0, 0.5 or 1) if this is that category in that regime, else 0."""
        here = self.regime == regime and self.category == category
        return SALIENCE[self.tier] if here else 0.0

    @property
    def quiet(self) -> float:
        """1 off-hours for the categories that should rest then, else 0."""
        return float(self.regime == "off-hours" and self.category in _QUIET_CATEGORIES)


@dataclass(frozen=True)
class Weights:
    """Coefficients of the three utilities, all >= 0; the defaults are the published ones.

    A name says which utility it belongs to and what it multiplies; the sign is in the formula.
    """

    interrupt_urgency: float = 1.45
    interrupt_affinity: float = 0.42
    interrupt_busy: float = 1.20
    interrupt_busy_relief: float = 0.65  # how far urgency excuses disturbing a busy owner
    interrupt_oncall: float = 1.00
    interrupt_focus: float = 0.60
    interrupt_social: float = 0.50
    interrupt_quiet: float = 0.65
    later_importance: float = 0.72
    later_affinity: float = 0.58
    later_urgency: float = 0.62
    later_busy: float = 0.22
    later_oncall: float = 0.62
    archive_unimportance: float = 0.72
    archive_distance: float = 0.36
    archive_urgency: float = 0.80
    archive_social: float = 0.50


@dataclass(frozen=True)
class Shift:
    """A constant added to the utilities of some kinds of notification.

    An empty tuple matches everything. ``amounts`` are in utility units, in the order of ROUTES.
    """

    amounts: tuple[float, float, float]
    categories: tuple[str, ...] = ()
    regimes: tuple[str, ...] = ()
    tiers: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        known = (CATEGORIES, REGIMES, TIERS)
        for names, allowed in zip((self.categories, self.regimes, self.tiers), known, strict=True):
            if unknown := set(names) - set(allowed):
                raise ValueError(f"unknown {sorted(unknown)}; choose among {', '.join(allowed)}")

    def applies(self, situation: Situation) -> bool:
        """Whether ``situation`` is of a kind that this shift is about."""
        return (
            situation.category in (self.categories or CATEGORIES)
            and situation.regime in (self.regimes or REGIMES)
            and situation.tier in (self.tiers or TIERS)
        )


@dataclass(frozen=True)
class Taste:
    """What an owner wants, as numbers: the formula's weights, and shifts that add up."""

    weights: Weights = field(default_factory=Weights)
    shifts: tuple[Shift, ...] = ()

    def utilities(self, situation: Situation) -> tuple[float, float, float]:
        """u(INTERRUPT), u(LATER), u(ARCHIVE): formula, plus shifts, then the staleness cap."""
        interrupt, later, archive = (
            formula(self.weights, situation)
            for formula in (_interrupt_utility, _later_utility, _archive_utility)
        )
        for shift in self.shifts:
            if shift.applies(situation):
                interrupt += shift.amounts[0]
                later += shift.amounts[1]
                archive += shift.amounts[2]
        # The cap comes last: no taste can read in a digest what was over before the digest.
        return interrupt, min(later, _stale_limit(situation, archive)), archive


@dataclass(frozen=True)
class Persona:
    """An owner to play or to simulate: a briefing for people, a taste for the simulator."""

    id: str
    name: str
    briefing: str
    taste: Taste


def _interrupt_utility(w: Weights, s: Situation) -> float:
    """1.45 urg + 0.42 aff - 1.20 busy (1 - 0.65 urg) + oncall + focus + social - quiet terms."""
    return (
        w.interrupt_urgency * s.urgency
        + w.interrupt_affinity * s.affinity
        - w.interrupt_busy * s.busy * (1.0 - w.interrupt_busy_relief * s.urgency)
        + w.interrupt_oncall * s.flag("on-call", "monitoring")
        + w.interrupt_focus * s.flag("weekday", "manager")
        + w.interrupt_social * s.flag("off-hours", "social")
        - w.interrupt_quiet * s.quiet * (1.0 - s.urgency)
    )


def _later_utility(w: Weights, s: Situation) -> float:
    """0.72 imp + 0.58 aff - 0.62 urg + 0.22 busy - 0.62 oncall."""
    return (
        w.later_importance * s.importance
        + w.later_affinity * s.affinity
        - w.later_urgency * s.urgency
        + w.later_busy * s.busy
        - w.later_oncall * s.flag("on-call", "monitoring")
    )


def _archive_utility(w: Weights, s: Situation) -> float:
    """0.72 (1 - imp) + 0.36 (1 - aff) - 0.80 urg - 0.50 social."""
    return (
        w.archive_unimportance * (1.0 - s.importance)
        + w.archive_distance * (1.0 - s.affinity)
        - w.archive_urgency * s.urgency
        - w.archive_social * s.flag("off-hours", "social")
    )


def _stale_limit(s: Situation, archive: float) -> float:
    """The most that u(LATER) can be: u(ARCHIVE) - (1 - H/120)(0.10 + 0.25 urg) if H < 120."""
    if s.horizon_minutes is None or s.horizon_minutes >= DIGEST_MINUTES:
        return math.inf
    return archive - (1.0 - s.horizon_minutes / DIGEST_MINUTES) * (0.10 + 0.25 * s.urgency)


def preference_distribution(utilities: Sequence[float]) -> tuple[float, float, float]:
    """How likely each route is to be the preferred one, in the order of ROUTES; sums to 1.

    The utilities are raised until the least is not negative, normalised to p, and sharpened to
    q ~ p^100 in log space: exact zeros stay zero, and three zeros give the uniform distribution.
    Raises ValueError unless there are three finite utilities.
    """
    if len(utilities) != len(ROUTES) or not all(math.isfinite(u) for u in utilities):
        raise ValueError(f"needs three finite utilities, got {tuple(utilities)!r}")
    floor = min(0.0, *utilities)
    raised = [u - floor for u in utilities]
    top = max(raised)
    if top == 0.0:
        return (1 / 3, 1 / 3, 1 / 3)
    # The sum that normalises p cancels in q, so the ratio to the largest is enough.
    powers = [math.exp(SHARPNESS * math.log(u / top)) if u / top > 0.0 else 0.0 for u in raised]
    total = math.fsum(powers)
    return (powers[0] / total, powers[1] / total, powers[2] / total)


def sample_preference(utilities: Sequence[float], seed: int, event: int) -> Route:
    """The preference y of one event, drawn once, by a generator that is the event's own.

    ``event`` counts from 1. The draw depends on nothing else, so methods, learners and personas
    meet the same chance.
    """
    point = named_generator(seed, "preference", event).random()
    chances = zip(ROUTES, preference_distribution(utilities), strict=True)
    possible = [(route, chance) for route, chance in chances if chance > 0.0]
    for route, chance in possible:
        point -= chance
        if point < 0.0:
            return route
    return possible[-1][0]  # rounding left a hair above the sum


_ON_PUSH = {
    Route.INTERRUPT: Outcome.OPENED_IMMEDIATELY,
    Route.LATER: Outcome.OPENED_AFTER_DELAY,
    Route.ARCHIVE: Outcome.DELETED_NOTIFICATION,
}


def reaction(preferred: Route, executed: Route) -> Outcome:
    """What the simulated owner does on the executed route (PROTOCOL.md section 2), no chance in it.

    A push reveals the preference; the digest tells ARCHIVE from the other two; ARCHIVE tells
    nothing.
    """
    if executed is Route.INTERRUPT:
        return _ON_PUSH[preferred]
    if executed is Route.ARCHIVE:
        return Outcome.NO_OBSERVABLE_SELECTION
    return Outcome.DELETED_FROM_DIGEST if preferred is Route.ARCHIVE else Outcome.OPENED_DIGEST


@lru_cache(maxsize=1)
def load_personas() -> Mapping[str, Persona]:
    """All personas of ``assets/personas.json`` by id, in the file's order, read once."""
    personas = [_persona(entry) for entry in read_json("personas.json")["personas"]]
    return MappingProxyType({p.id: p for p in personas})


def _persona(entry: Mapping[str, Any]) -> Persona:
    shifts = tuple(_shift(rule) for rule in entry["taste"]["shifts"])
    taste = Taste(Weights(**entry["taste"]["weights"]), shifts)
    return Persona(entry["id"], entry["name"], entry["briefing"], taste)


def _shift(rule: Mapping[str, Any]) -> Shift:
    kinds = {key: tuple(rule.get(key, ())) for key in ("categories", "regimes", "tiers")}
    return Shift(tuple(float(rule.get(r.value, 0.0)) for r in ROUTES), **kinds)
