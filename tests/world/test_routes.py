"""The table of PROTOCOL.md section 2, written out once more and compared row by row."""

from __future__ import annotations

import pytest

from sdft.world.routes import (
    CONSEQUENCES,
    ROUTES,
    SURFACE_OF_ROUTE,
    Outcome,
    Reliability,
    Route,
    Surface,
    default_outcome,
    gestures,
)

# outcome: possible on, window in minutes, supports, reliability, reward; routes by their codes
TABLE = {
    "OPENED_IMMEDIATELY": ("A", 1, "A", "reliable", 5.0),
    "OPENED_AFTER_DELAY": ("A", 120, "B", "reliable", -1.0),
    "DELETED_NOTIFICATION": ("A", 15, "C", "reliable", -2.0),
    "OPENED_DIGEST": ("B", 120, "AB", "ambiguous", 0.25),
    "DELETED_FROM_DIGEST": ("B", 120, "C", "reliable", -1.0),
    "NO_OBSERVABLE_SELECTION": ("C", 240, "ABC", "censored", 0.0),
    "IGNORED": ("ABC", 240, "ABC", "censored", 0.0),
    "ASKED_TO_SHOW": ("C", 0, "A", "reliable", 0.0),
    "OPENED_FROM_SAVED": ("C", 0, "B", "reliable", 0.0),
    "CONFIRMED_QUIET": ("C", 0, "C", "reliable", 0.0),
}


def codes(routes) -> str:
    return "".join(sorted(route.code for route in routes))


def test_the_table_has_these_ten_rows():
    assert [outcome.name for outcome in Outcome] == list(TABLE) == [o.value for o in CONSEQUENCES]


@pytest.mark.parametrize("name", TABLE)
def test_a_row(name):
    outcome = Outcome[name]
    possible = codes(route for route in ROUTES if outcome.possible_on(route))
    row = (possible, outcome.window_minutes, codes(outcome.support), outcome.reliability.value)
    assert (*row, outcome.reward) == TABLE[name]


def test_routes_have_their_order_codes_and_surfaces():
    assert [(r.name, r.code, r.index) for r in ROUTES] == [
        ("INTERRUPT", "A", 0),
        ("LATER", "B", 1),
        ("ARCHIVE", "C", 2),
    ]
    assert [SURFACE_OF_ROUTE[route] for route in ROUTES] == [
        Surface.LOCK_SCREEN,
        Surface.DIGEST,
        Surface.SAVED,
    ]


def test_what_is_recorded_without_a_gesture():
    assert [default_outcome(route).name for route in ROUTES] == [
        "IGNORED",
        "IGNORED",
        "NO_OBSERVABLE_SELECTION",
    ]


@pytest.mark.parametrize(
    ("route", "expected"),
    [
        (Route.INTERRUPT, ["OPENED_IMMEDIATELY", "OPENED_AFTER_DELAY", "DELETED_NOTIFICATION"]),
        (Route.LATER, ["OPENED_DIGEST", "DELETED_FROM_DIGEST"]),
        (Route.ARCHIVE, ["ASKED_TO_SHOW", "OPENED_FROM_SAVED", "CONFIRMED_QUIET"]),
    ],
)
def test_gestures_of_a_route(route, expected):
    assert [outcome.name for outcome in gestures(route)] == expected


def test_silence_is_passive_and_only_saved_answers_are_corrections():
    passive = {o.name for o in Outcome if o.is_passive}
    corrections = {o.name for o in Outcome if o.is_saved_correction}
    assert passive == {"NO_OBSERVABLE_SELECTION", "IGNORED"}
    assert corrections == {"ASKED_TO_SHOW", "OPENED_FROM_SAVED", "CONFIRMED_QUIET"}


def test_unknown_supports_every_route_and_so_proves_none():
    censored = [o for o in Outcome if o.reliability is Reliability.CENSORED]
    assert len(censored) == 2 and all(o.support == frozenset(ROUTES) for o in censored)
