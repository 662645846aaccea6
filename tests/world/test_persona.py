"""The simulated owner: hand-computed utilities, sharpened preferences, tastes, reactions."""

from __future__ import annotations

import itertools
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdft.world.persona import (
    CATEGORIES,
    REGIMES,
    TIERS,
    Shift,
    Situation,
    Taste,
    Weights,
    load_personas,
    preference_distribution,
    reaction,
    sample_preference,
)
from sdft.world.routes import ROUTES, Outcome, Route
from sdft.world.stream import StreamSpec, generate

PAIRS = list(itertools.combinations(load_personas(), 2))
FINITE = st.floats(-1000, 1000, allow_nan=False)

# (situation, utilities worked out with pencil and paper from PROTOCOL.md section 9)
BY_HAND = [
    (
        # urg 0.72; 1.044 + 0.21 - 0.3192 + 0.6; stale: -0.324 - 0.625 x 0.28; 0.072 + 0.18 - 0.576
        Situation("manager", "weekday", "urgent", 0.9, 0.8, 0.5, 0.5, 45),
        (1.5348, -0.499, -0.324),
    ),
    (
        # urg 0.06; 0.087 + 0.168 - 0.23064 - 0.611; 0.216 + 0.232 - 0.0372 + 0.044;
        # 0.504 + 0.216 - 0.048
        Situation("commerce", "off-hours", "routine", 0.3, 0.2, 0.4, 0.2),
        (-0.58664, 0.4548, 0.672),
    ),
    (
        # urg 0.3, salience 0.5; 0.435 + 0.21 - 0.3864 + 0.5; 0.432 + 0.29 - 0.186 + 0.088 - 0.31
        Situation("monitoring", "on-call", "routine", 0.6, 0.5, 0.5, 0.4),
        (0.7586, 0.314, 0.228),
    ),
    (
        # urg 0.63; 0.9135 + 0.294 - 0.14172 + 0.5; stale: -0.68 - 0.75 x 0.2575;
        # 0.216 + 0.108 - 0.504 - 0.5
        Situation("social", "off-hours", "urgent", 0.7, 0.9, 0.7, 0.2, 30),
        (1.56578, -0.873125, -0.68),
    ),
    (
        # a horizon that reaches the digest is not stale: 0.504 + 0.406 - 0.3906 + 0.044
        Situation("social", "on-call", "urgent", 0.7, 0.9, 0.7, 0.2, 120),
        (1.06578, 0.5634, -0.18),
    ),
]


@pytest.mark.parametrize(("situation", "expected"), BY_HAND)
def test_published_utilities_agree_with_hand_arithmetic(situation, expected):
    published = load_personas()["published"].taste
    assert published.utilities(situation) == pytest.approx(expected, abs=1e-12)


def test_the_published_persona_changes_nothing():
    assert load_personas()["published"].taste == Taste(Weights(), ())


def test_shifts_add_up_where_they_apply_and_the_stale_cap_comes_last():
    urgent, calm = BY_HAND[0][0], BY_HAND[1][0]
    taste = Taste(
        shifts=(
            Shift((0.0, 5.0, 0.0), categories=("manager",)),
            Shift((0.25, 0.0, 1.0), regimes=("weekday",), tiers=("urgent", "low")),
            Shift((9.0, 9.0, 9.0), categories=("promo",)),
        )
    )
    assert taste.utilities(urgent) == pytest.approx((1.7848, 0.676 - 0.175, 0.676))
    assert taste.utilities(calm) == Taste().utilities(calm)


@pytest.mark.parametrize("field", ["categories", "regimes", "tiers"])
def test_a_shift_for_an_unknown_kind_is_refused(field):
    with pytest.raises(ValueError, match="nonsense"):
        Shift((0.0, 0.0, 0.0), **{field: ("nonsense",)})


@pytest.mark.parametrize("field", ["importance", "deadline", "affinity", "busy"])
@pytest.mark.parametrize("value", [-0.01, 1.01, math.nan])
def test_a_latent_outside_its_range_is_refused(field, value):
    latents = {"importance": 0.5, "deadline": 0.5, "affinity": 0.5, "busy": 0.5, field: value}
    with pytest.raises(ValueError, match=field):
        Situation("promo", "weekday", "low", **latents)


@pytest.mark.parametrize(
    ("utilities", "expected"),
    [
        ((0.0, 1.0, 1.0), (0.0, 0.5, 0.5)),  # an exact zero stays zero
        ((0.0, 0.0, 0.0), (1 / 3, 1 / 3, 1 / 3)),
        ((-0.5, -0.5, -0.5), (1 / 3, 1 / 3, 1 / 3)),  # all zero once they are raised
        ((-1.0, 0.0, 1.0), (0.0, 1 / (1 + 2**100), 1 / (1 + 2**-100))),  # raised to 0, 1, 2
        ((1.0, 1.01, 0.0), (1 / (1 + 1.01**100), 1.01**100 / (1 + 1.01**100), 0.0)),
        ((0.5, 0.5, 0.25), (1 / (2 + 2**-100), 1 / (2 + 2**-100), 2**-100 / (2 + 2**-100))),
        ((0.0, 0.0, 0.2), (0.0, 0.0, 1.0)),
    ],
)
def test_sharpening_by_hand(utilities, expected):
    assert preference_distribution(utilities) == pytest.approx(expected, rel=1e-9, abs=0.0)


@given(st.tuples(FINITE, FINITE, FINITE), st.integers(0, 2**63), st.integers(1, 2400))
def test_a_preference_is_a_draw_from_a_distribution(utilities, seed, event):
    chances = preference_distribution(utilities)
    assert math.fsum(chances) == pytest.approx(1.0)
    assert max(chances) == chances[utilities.index(max(utilities))]
    assert chances[sample_preference(utilities, seed, event).index] > 0.0


@pytest.mark.parametrize("bad", [(math.nan, 0, 0), (0, math.inf, 0), (0.0, 1.0), ()])
def test_utilities_that_are_not_three_finite_numbers_are_refused(bad):
    with pytest.raises(ValueError, match="three finite utilities"):
        preference_distribution(bad)


def test_a_draw_belongs_to_its_event_and_seed():
    def draws(seed):
        return [sample_preference((1.0, 1.0, 1.0), seed, event) for event in range(1, 301)]

    assert draws(7) == draws(7)
    assert draws(7) != draws(8)
    shares = [draws(7).count(route) / 300 for route in ROUTES]
    assert shares == pytest.approx([1 / 3] * 3, abs=0.1)


def test_reactions_follow_the_table():
    got = {(y.code, a.code): reaction(y, a) for y in ROUTES for a in ROUTES}
    assert got == {
        ("A", "A"): Outcome.OPENED_IMMEDIATELY,
        ("B", "A"): Outcome.OPENED_AFTER_DELAY,
        ("C", "A"): Outcome.DELETED_NOTIFICATION,
        ("A", "B"): Outcome.OPENED_DIGEST,
        ("B", "B"): Outcome.OPENED_DIGEST,
        ("C", "B"): Outcome.DELETED_FROM_DIGEST,
        ("A", "C"): Outcome.NO_OBSERVABLE_SELECTION,
        ("B", "C"): Outcome.NO_OBSERVABLE_SELECTION,
        ("C", "C"): Outcome.NO_OBSERVABLE_SELECTION,
    }


@pytest.mark.parametrize("executed", ROUTES)
@pytest.mark.parametrize("preferred", ROUTES)
def test_a_reaction_is_possible_and_never_speaks_against_the_preference(preferred, executed):
    outcome = reaction(preferred, executed)
    assert outcome.possible_on(executed)
    assert preferred in outcome.support


def test_there_are_four_personas_that_a_person_can_play():
    personas = load_personas()
    assert set(personas) == {"published", "oncall_engineer", "parent", "exam_student"}
    for persona in personas.values():
        assert persona.name and "\n" not in persona.briefing
        words = persona.briefing.lower().replace("-", " ")
        for word in ("you ", "weekday", "on call", "off hours", "interrupt", "digest"):
            assert word in words, (persona.id, word)


def _preferred(persona: str, seed: int) -> list[Route]:
    return [n.hidden.preferred for n in generate(StreamSpec(persona, seed))]


@pytest.mark.parametrize("seed", [100, 103])
@pytest.mark.parametrize(("one", "other"), PAIRS)
def test_any_two_personas_disagree_on_three_events_in_ten(one, other, seed):
    pairs = list(zip(_preferred(one, seed), _preferred(other, seed), strict=True))
    assert sum(a is not b for a, b in pairs) / len(pairs) >= 0.30


@pytest.mark.parametrize("persona", load_personas())
@pytest.mark.parametrize("seed", [100, 103])
def test_each_persona_uses_all_three_routes(persona, seed):
    preferred = _preferred(persona, seed)
    assert min(preferred.count(route) for route in ROUTES) / len(preferred) >= 0.12


# What a reader of each briefing would do: a line a regime, a word a category (in the order of
# CATEGORIES), a letter a tier (low, routine, urgent). I interrupt, L later, A archive. It is a
# plain-words plan that briefing and numbers were both written to; no outside reader was asked.
READERS = {
    "published": [
        "ALI ALI ALI ALI ALI AAL AAI",
        "ALI ALI AII ALI ALI AAL AAI",
        "ALI ALI ALI ALI ALI AAL AAI",
    ],
    "oncall_engineer": [
        "ALI ALI LII LLI AAA ALL AAA",
        "AAA AAA LII AII AAA AAL AAA",
        "ALA AAA ALI AAA LII ALL AAA",
    ],
    "parent": [
        "ALI LII AAA ALI AII LLI ALA",
        "ALA LII AAA ALA AII LLI ALA",
        "AAA LLI AAA AAA AII LLI ALA",
    ],
    "exam_student": [
        "ALA LII AAA ALA LLA AAA AAA",
        "ALI LLI ALI ALI LLA AAL ALA",
        "AAA LLI AAA LII LII AAL ALI",
    ],
}


@pytest.mark.parametrize("persona", READERS)
def test_a_sensible_reader_of_the_briefing_mostly_agrees(persona, tier_of):
    agreed = 0
    events = [n for seed in (100, 104) for n in generate(StreamSpec(persona, seed))]
    for notification in events:
        seen = notification.seen
        line = READERS[persona][REGIMES.index(seen.regime)].split()
        letter = line[CATEGORIES.index(seen.category)][TIERS.index(tier_of(seen))]
        agreed += letter == notification.hidden.preferred.value[0]
    assert agreed / len(events) >= 0.85
