"""Generate streams: one simulated owner's notifications, in three regimes.

Source: PROTOCOL.md section 9. The notifications and the latents depend on the seed and the number
of events alone; the persona only judges them. So a change of taste in mid-stream, or another
persona, re-judges the very same events. Reading and writing are in ``stream_file.py`` and are
offered here too, so that one import does for all three.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from sdft.world.catalogue import Catalogue, Scenario, Text, TextDeck, load_catalogue
from sdft.world.chance import named_generator
from sdft.world.notification import Hidden, Notification, Observation
from sdft.world.persona import (
    CATEGORIES,
    REGIMES,
    TIERS,
    Persona,
    Situation,
    load_personas,
    sample_preference,
)
from sdft.world.stream_file import StreamError, dump_line, read_stream, write_stream

__all__ = [
    "MAX_EVENTS",
    "StreamError",
    "StreamSpec",
    "dump_line",
    "generate",
    "read_stream",
    "write_stream",
]

MAX_EVENTS = 2400  # the catalogue has texts for far more, but nobody needs a longer one
_HOURS = {"weekday": (8, 18), "on-call": (0, 24), "off-hours": (18, 32)}  # 32 is 08:00 next day
_BUSY_MEAN = {"weekday": 0.68, "on-call": 0.36, "off-hours": 0.18}
_BUSY_KEPT = 0.82  # share of the busy state that is carried over to the next event
_AFFINITY_SPREAD = 0.09
_DEADLINE_SHIFT = {10: 0.08, 15: 0.04, 20: 0.0, 30: -0.08}  # minutes stated: shift of the mean
_MEAN_LIMITS = (0.02, 0.98)
_DIGITS = 6  # of latents: the importance that is shown is exactly the one that was judged
_UTILITY_DIGITS = 9


@dataclass(frozen=True)
class StreamSpec:
    """All that defines a generated stream; equal specs give equal bytes.

    ``persona`` judges from the first event on; each pair in ``changes`` (event number counted
    from 1, persona id) hands the phone to another persona from that event on.
    """

    persona: str
    seed: int
    events: int = 240
    changes: tuple[tuple[int, str], ...] = ()

    def __post_init__(self) -> None:
        _check_integer("seed", self.seed, 0, 2**63 - 1)
        _check_integer("events", self.events, 1, MAX_EVENTS)
        for name in (self.persona, *(name for _, name in self.changes)):
            if name not in load_personas():
                known = ", ".join(load_personas())
                raise ValueError(f"persona must be one of {known}; got {name!r}")
        previous = 1
        for at_event, _ in self.changes:
            _check_integer("changes: the event", at_event, previous + 1, self.events)
            previous = at_event

    def persona_at(self, event: int) -> Persona:
        """Who owns the phone at ``event`` (counted from 1)."""
        name = self.persona
        for at_event, successor in self.changes:
            if event >= at_event:
                name = successor
        return load_personas()[name]


def _check_integer(name: str, value: object, low: int, high: int) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
        raise ValueError(f"{name} must be a whole number from {low} to {high}; got {value!r}")


@dataclass(frozen=True)
class _Event:
    """One event before anybody judges it."""

    local_time: str
    text: Text
    situation: Situation


def generate(spec: StreamSpec) -> list[Notification]:
    """The notifications of ``spec`` with their hidden half, in order of arrival.

    The same spec gives the same list on every machine with the pinned numpy. Titles and bodies
    never repeat as a pair. Takes about a millisecond for ten events.
    """
    return [_judged(spec, number, event) for number, event in enumerate(_events(spec), start=1)]


def _judged(spec: StreamSpec, number: int, event: _Event) -> Notification:
    """The owner's hidden half is added to what everybody sees."""
    exact = spec.persona_at(number).taste.utilities(event.situation)
    interrupt, later, archive = (round(u, _UTILITY_DIGITS) for u in exact)
    seen = Observation(
        id=f"g{spec.seed}-{number:04d}",
        local_time=event.local_time,
        regime=event.situation.regime,
        category=event.situation.category,
        importance=event.situation.importance,
        title=event.text.title,
        body=event.text.body,
    )
    # Drawn from the rounded utilities, so that a written stream contains all that decided it.
    preferred = sample_preference((interrupt, later, archive), spec.seed, number)
    return Notification(seen, Hidden((interrupt, later, archive), preferred))


def _events(spec: StreamSpec) -> Iterator[_Event]:
    """The events of ``spec``, of which only the seed and the number of events are used."""
    catalogue = load_catalogue()
    deck = TextDeck(named_generator(spec.seed, "texts"))
    latents = _LatentSource(spec.seed, catalogue)
    layout = named_generator(spec.seed, "layout")
    clock = named_generator(spec.seed, "times")
    for index, regime in enumerate(REGIMES):
        size = spec.events // 3 + (index < spec.events % 3)
        kinds = _kinds(layout, size, index)
        for kind, local_time in zip(kinds, _local_times(clock, regime, size), strict=True):
            scenario = catalogue.scenarios[kind]
            text = deck.deal(scenario)
            yield _Event(local_time, text, latents.situation(scenario, text, regime))


def _kinds(rng: np.random.Generator, size: int, regime_index: int) -> list[tuple[str, str]]:
    """(category, tier) of a regime's events, shuffled.

    Category counts are within one of each other, and so are the counts of the tiers in a category.
    The first tier rotates by regime, so that no tier gets all the leftovers.
    """
    rotation = [CATEGORIES[i] for i in rng.permutation(len(CATEGORIES))]
    kinds = []
    for i in range(size):
        lap, place = divmod(i, len(rotation))
        kinds.append((rotation[place], TIERS[(lap + regime_index) % len(TIERS)]))
    return [kinds[i] for i in rng.permutation(size)]


def _local_times(rng: np.random.Generator, regime: str, size: int) -> list[str]:
    """``size`` times "HH:MM" in the regime's hours, in order, off-hours across midnight."""
    start, end = (60 * hour for hour in _HOURS[regime])
    places = np.arange(size) + rng.uniform(0.1, 0.9, size)
    minutes = (start + (end - start) * places / max(size, 1)).astype(int) % (24 * 60)
    return [f"{minute // 60:02d}:{minute % 60:02d}" for minute in minutes]


class _LatentSource:
    """Draws the hidden latents of one stream, event by event."""

    def __init__(self, seed: int, catalogue: Catalogue) -> None:
        self._rng = named_generator(seed, "latents")
        self._busy_rng = named_generator(seed, "busy")
        self._busy: float | None = None
        names = catalogue.entities
        offsets = named_generator(seed, "affinity").normal(0.0, _AFFINITY_SPREAD, len(names))
        self._offset = dict(zip(names, offsets.tolist(), strict=True))

    def situation(self, scenario: Scenario, text: Text, regime: str) -> Situation:
        """The latents of the next event: logit-normal around the scenario's shifted means."""
        deadline = scenario.deadline + _DEADLINE_SHIFT.get(text.deadline_minutes or 0, 0.0)
        offset = self._offset[text.entity] if text.entity else 0.0
        means = (scenario.importance, deadline, scenario.affinity + offset)
        importance, deadline, affinity = (_logit_normal(self._rng, m, 30) for m in means)
        return Situation(
            scenario.category,
            regime,
            scenario.tier,
            importance,
            deadline,
            affinity,
            self._next_busy(regime),
            scenario.horizon_minutes,
        )

    def _next_busy(self, regime: str) -> float:
        """How busy the owner is, smoothed: 0.82 of the last state and 0.18 of a fresh draw."""
        fresh = _logit_normal(self._busy_rng, _BUSY_MEAN[regime], 20)
        before = _BUSY_MEAN[regime] if self._busy is None else self._busy
        self._busy = round(_BUSY_KEPT * before + (1.0 - _BUSY_KEPT) * fresh, _DIGITS)
        return self._busy


def _logit_normal(rng: np.random.Generator, mean: float, concentration: float) -> float:
    """A number in (0, 1) around ``mean``, on the scale 0.55 sqrt(30 / concentration).

    ``mean`` is kept within [0.02, 0.98]. The result is rounded to 6 digits, which also hides
    last-bit differences between the math libraries of different machines.
    """
    mean = min(max(mean, _MEAN_LIMITS[0]), _MEAN_LIMITS[1])
    scale = 0.55 * math.sqrt(30.0 / concentration)
    logit = math.log(mean / (1.0 - mean)) + scale * float(rng.standard_normal())
    return round(1.0 / (1.0 + math.exp(-logit)), _DIGITS)
