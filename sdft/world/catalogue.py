"""The kinds of notification that the simulated phone gets, and their texts.

``assets/catalogue.json`` holds 21 scenarios (7 categories x 3 tiers). A scenario has wordings, each
a title and a body with ``{slots}``, and the means of its latents. A :class:`TextDeck` deals the
texts of one stream and never deals the same title and body twice.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from math import prod
from types import MappingProxyType
from typing import Any

import numpy as np

from sdft.assets import read_json

_SLOT = re.compile(r"{(\w+)}")


@dataclass(frozen=True)
class Slot:
    """A blank in a wording. ``entity``: its values are people or things one may like."""

    name: str
    values: tuple[str, ...]
    entity: bool


@dataclass(frozen=True)
class Text:
    """A filled wording: what is shown, and what it says of the hidden latents."""

    title: str
    body: str
    entity: tuple[str, str] | None  # slot and value of the first entity that is named
    deadline_minutes: int | None  # stated in the text, if it states one


@dataclass(frozen=True)
class Wording:
    """A title and a body with blanks, and the blanks in order of appearance."""

    title: str
    body: str
    slots: tuple[Slot, ...]

    @property
    def variants(self) -> int:
        """How many different ways there are to fill the blanks."""
        return prod(len(slot.values) for slot in self.slots)

    def fill(self, variant: int) -> Text:
        """The text number ``variant``, 0 <= variant < ``variants`` (a mixed-radix number)."""
        chosen: dict[str, str] = {}
        for slot in self.slots:
            variant, digit = divmod(variant, len(slot.values))
            chosen[slot.name] = slot.values[digit]
        entities = [(slot.name, chosen[slot.name]) for slot in self.slots if slot.entity]
        return Text(
            title=_SLOT.sub(lambda blank: chosen[blank[1]], self.title),
            body=_SLOT.sub(lambda blank: chosen[blank[1]], self.body),
            entity=entities[0] if entities else None,
            deadline_minutes=int(chosen["minutes"]) if "minutes" in chosen else None,
        )


@dataclass(frozen=True)
class Scenario:
    """One kind of notification. The means are of latents in (0, 1); the horizon is in minutes."""

    category: str
    tier: str
    importance: float
    deadline: float
    affinity: float
    horizon_minutes: float | None
    wordings: tuple[Wording, ...]


@dataclass(frozen=True)
class Catalogue:
    """All scenarios by (category, tier), and the slots that name an entity."""

    scenarios: Mapping[tuple[str, str], Scenario]
    slots: Mapping[str, Slot]

    @property
    def entities(self) -> list[tuple[str, str]]:
        """Every (slot, value) that can have an affinity of its own, in the file's order."""
        return [(s.name, value) for s in self.slots.values() if s.entity for value in s.values]


@dataclass
class TextDeck:
    """Deals the texts of one stream: wordings in turn, and no title and body twice."""

    rng: np.random.Generator
    dealt: set[tuple[str, str]] = field(default_factory=set)
    turns: dict[tuple[str, str], list[Wording]] = field(default_factory=dict)

    def deal(self, scenario: Scenario) -> Text:
        """A text of ``scenario`` that this deck has not dealt before.

        Raises ValueError when the scenario has no new text left.
        """
        for wording in (self._next_wording(scenario), *scenario.wordings):
            start = int(self.rng.integers(wording.variants))
            for step in range(wording.variants):
                text = wording.fill((start + step) % wording.variants)
                if (text.title, text.body) not in self.dealt:
                    self.dealt.add((text.title, text.body))
                    return text
        raise ValueError(
            f"the catalogue has no new text left for {scenario.tier} {scenario.category}; "
            "ask for fewer events, or add wordings to assets/catalogue.json"
        )

    def _next_wording(self, scenario: Scenario) -> Wording:
        """The wordings in a shuffled order, reshuffled when all have had their turn."""
        turn = self.turns.setdefault((scenario.category, scenario.tier), [])
        if not turn:
            order = self.rng.permutation(len(scenario.wordings))
            turn.extend(scenario.wordings[i] for i in order)
        return turn.pop()


@lru_cache(maxsize=1)
def load_catalogue() -> Catalogue:
    """The catalogue of ``assets/catalogue.json``, read once."""
    data = read_json("catalogue.json")
    slots = {
        name: Slot(name, tuple(entry["values"]), entry["entity"])
        for name, entry in data["slots"].items()
    }
    scenarios = [_scenario(entry, slots) for entry in data["scenarios"]]
    by_kind = {(s.category, s.tier): s for s in scenarios}
    return Catalogue(MappingProxyType(by_kind), MappingProxyType(slots))


def _scenario(entry: Mapping[str, Any], slots: Mapping[str, Slot]) -> Scenario:
    wordings = tuple(_wording(title, body, slots) for title, body in entry["wordings"])
    return Scenario(
        category=entry["category"],
        tier=entry["tier"],
        horizon_minutes=entry["horizon_minutes"],
        wordings=wordings,
        **entry["means"],
    )


def _wording(title: str, body: str, slots: Mapping[str, Slot]) -> Wording:
    names = dict.fromkeys(_SLOT.findall(title + body))  # each once, in order of appearance
    return Wording(title, body, tuple(slots[name] for name in names))
