"""Shared by the tests of the world: reading the tier of a generated notification off its text."""

from __future__ import annotations

import re

import pytest

from sdft.world.catalogue import load_catalogue


def _pattern(wording):
    """Matches the texts that ``wording`` can produce, and nothing else."""
    text = f"{wording.title}\n{wording.body}"
    values = {slot.name: "|".join(map(re.escape, slot.values)) for slot in wording.slots}
    parts = re.split(r"{(\w+)}", text)  # fixed text and slot names in turn
    return re.compile(
        "".join(f"(?:{values[p]})" if i % 2 else re.escape(p) for i, p in enumerate(parts))
    )


@pytest.fixture(scope="session")
def tier_of():
    """A function from an Observation to its tier, using the text alone."""
    patterns = [
        (_pattern(wording), scenario)
        for scenario in load_catalogue().scenarios.values()
        for wording in scenario.wordings
    ]

    def tier(seen):
        text = f"{seen.title}\n{seen.body}"
        matching = [scenario for pattern, scenario in patterns if pattern.fullmatch(text)]
        assert len(matching) == 1, (text, matching)
        assert matching[0].category == seen.category
        return matching[0].tier

    return tier
