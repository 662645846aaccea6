"""The phone: when callbacks mature, what a gesture may be, and that nothing counts twice."""

from __future__ import annotations

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from sdft.world.notification import Observation
from sdft.world.phone import GestureError, Phone, SealedDecision
from sdft.world.routes import ROUTES, Outcome, Route, Surface, default_outcome, gestures

NEVER = 1_000_000


def decision(number: int, route: Route, clock: int = 0) -> SealedDecision:
    seen = Observation(f"n{number}", "09:00", "weekday", "social", 0.5, "hello", "")
    even = (1 / 3, 1 / 3, 1 / 3)
    return SealedDecision(number, clock, seen, even, even, route)


def phone_with(*routes: Route, clock: int = 0) -> Phone:
    """One notification a route, n1 and so on, all decided at ``clock``."""
    phone = Phone()
    for number, route in enumerate(routes, 1):
        phone.deliver(decision(number, route, clock))
    return phone


def due_ids(phone: Phone) -> list[str]:
    return [item.id for item in phone.due(phone.clock)]


# When callbacks mature


@pytest.mark.parametrize(
    ("route", "outcome", "minutes"),
    [
        (Route.INTERRUPT, Outcome.OPENED_IMMEDIATELY, 1),
        (Route.INTERRUPT, Outcome.DELETED_NOTIFICATION, 15),
        (Route.INTERRUPT, Outcome.OPENED_AFTER_DELAY, 120),
        (Route.LATER, Outcome.OPENED_DIGEST, 120),
        (Route.LATER, Outcome.DELETED_FROM_DIGEST, 120),
        (Route.INTERRUPT, Outcome.IGNORED, 240),
        (Route.LATER, Outcome.IGNORED, 240),
        (Route.ARCHIVE, Outcome.IGNORED, 240),
        (Route.ARCHIVE, Outcome.NO_OBSERVABLE_SELECTION, 240),
    ],
)
def test_a_callback_matures_when_its_window_closes_and_not_a_minute_before(route, outcome, minutes):
    phone = phone_with(route, clock=30)
    phone.react("n1", outcome)
    phone.wait(30 + minutes - 1)
    assert due_ids(phone) == []
    with pytest.raises(ValueError, match="'n1' is not due"):
        phone.release("n1")
    phone.wait(30 + minutes)
    assert due_ids(phone) == ["n1"]
    assert phone.release("n1").outcome is outcome
    assert due_ids(phone) == [] and phone.pending() == []


@pytest.mark.parametrize("route", ROUTES)
def test_without_a_gesture_silence_matures_after_240_minutes(route):
    phone = phone_with(route)
    phone.wait(239)
    assert due_ids(phone) == []
    phone.wait(240)
    assert phone.release("n1").outcome is default_outcome(route)


def test_a_gesture_replaces_silence():
    phone = phone_with(Route.INTERRUPT)
    assert [(d.outcome, d.due) for d in phone.pending()] == [(Outcome.IGNORED, 240)]
    phone.react("n1", Outcome.DELETED_NOTIFICATION)
    assert [(d.outcome, d.due) for d in phone.pending()] == [(Outcome.DELETED_NOTIFICATION, 15)]
    phone.wait(240)
    assert phone.release("n1").outcome is Outcome.DELETED_NOTIFICATION
    assert due_ids(phone) == []


@pytest.mark.parametrize("minute", [0, 119, 120, 121, 239])
def test_a_late_gesture_never_matures_before_it_was_made(minute):
    phone = phone_with(Route.LATER)
    phone.wait(minute)
    phone.react("n1", Outcome.OPENED_DIGEST)
    (item,) = phone.pending()
    assert item.due == max(120, minute)


def test_a_released_callback_is_not_released_again():
    phone = phone_with(Route.INTERRUPT)
    phone.react("n1", Outcome.OPENED_IMMEDIATELY)
    phone.wait(1)
    phone.release("n1")
    with pytest.raises(ValueError, match="not due"):
        phone.release("n1")


def test_callbacks_come_in_the_order_in_which_their_windows_closed():
    phone = Phone()
    phone.deliver(decision(1, Route.ARCHIVE, 0))  # due at 240
    phone.deliver(decision(2, Route.LATER, 15))
    phone.react("n2", Outcome.OPENED_DIGEST)  # due at 135
    phone.deliver(decision(3, Route.INTERRUPT, 120))
    phone.react("n3", Outcome.DELETED_NOTIFICATION)  # due at 135, decided later
    phone.deliver(decision(4, Route.INTERRUPT, 120))
    phone.react("n4", Outcome.OPENED_IMMEDIATELY)  # due at 121
    phone.wait(300)
    assert due_ids(phone) == ["n4", "n2", "n3", "n1"]
    assert [d.id for d in phone.due(135)] == ["n4", "n2", "n3"]


def test_the_clock_does_not_go_back():
    phone = phone_with(Route.LATER, clock=15)
    with pytest.raises(ValueError, match="at 15 and cannot go back to 14"):
        phone.wait(14)


# Saved


@pytest.mark.parametrize("outcome", gestures(Route.ARCHIVE))
@pytest.mark.parametrize("minute", [0, 100, 240, 5000])
def test_an_answer_in_saved_matures_at_once_even_after_silence_was_released(outcome, minute):
    phone = phone_with(Route.ARCHIVE)
    phone.wait(minute)
    for item in phone.due(minute):
        phone.release(item.id)
    assert bool(phone.pending()) == (minute < 240)
    phone.react("n1", outcome)
    assert due_ids(phone) == ["n1"]
    assert phone.release("n1").outcome is outcome
    assert phone.on(Surface.SAVED) == [] and phone.pending() == []


def test_saved_keeps_what_was_archived_and_looking_is_no_evidence():
    phone = phone_with(Route.ARCHIVE, Route.ARCHIVE)
    phone.react("n1", Outcome.IGNORED)
    phone.wait(10_000)
    for item in phone.due(phone.clock):
        assert phone.release(item.id).outcome.is_passive
    assert [d.id for d in phone.on(Surface.SAVED)] == ["n2", "n1"]


# Surfaces


def test_each_route_has_its_surface_newest_first():
    phone = phone_with(Route.LATER, Route.ARCHIVE, Route.LATER, Route.INTERRUPT)
    assert [d.id for d in phone.on(Surface.DIGEST)] == ["n3", "n1"]
    assert [d.id for d in phone.on(Surface.SAVED)] == ["n2"]
    assert [d.id for d in phone.on(Surface.LOCK_SCREEN)] == ["n4"]
    assert phone.waiting_card.id == phone.current.id == "n4"


def test_an_empty_phone():
    phone = Phone()
    assert phone.current is None and phone.waiting_card is None
    assert phone.pending() == [] and phone.due(NEVER) == []


def test_a_digest_item_leaves_after_240_minutes():
    phone = phone_with(Route.LATER)
    phone.wait(239)
    assert [d.id for d in phone.on(Surface.DIGEST)] == ["n1"]
    phone.wait(240)
    phone.release("n1")
    assert phone.on(Surface.DIGEST) == []
    with pytest.raises(GestureError, match="'n1' has left the digest.*UNKNOWN was recorded"):
        phone.react("n1", Outcome.OPENED_DIGEST)


@pytest.mark.parametrize("outcome", gestures(Route.INTERRUPT))
def test_a_card_waits_until_a_gesture(outcome):
    phone = phone_with(Route.INTERRUPT)
    assert phone.waiting_card.id == "n1"
    phone.react("n1", outcome)
    assert phone.waiting_card is None and phone.on(Surface.LOCK_SCREEN) == []


def test_ignoring_takes_a_card_off_the_lock_screen_but_not_an_item_out_of_the_digest():
    phone = phone_with(Route.LATER, Route.INTERRUPT)
    phone.react("n1", Outcome.IGNORED)
    phone.react("n2", Outcome.IGNORED)
    assert phone.waiting_card is None
    with pytest.raises(GestureError, match="lock screen"):
        phone.react("n2", Outcome.OPENED_IMMEDIATELY)
    phone.react("n1", Outcome.DELETED_FROM_DIGEST)
    assert [(d.id, d.due) for d in phone.pending()] == [("n1", 120), ("n2", 240)]


# Refusals


@pytest.mark.parametrize("route", ROUTES)
@pytest.mark.parametrize("first", [True, False])
def test_passing_by_counts_once(route, first):
    phone = phone_with(route)
    passive = default_outcome(route)
    phone.react("n1", passive if first else Outcome.IGNORED)
    for again in (passive, Outcome.IGNORED):
        with pytest.raises(GestureError, match="'n1' has been answered with .*one gesture counts"):
            phone.react("n1", again)
    assert [d.due for d in phone.pending()] == [240]


@pytest.mark.parametrize("route", ROUTES)
def test_a_second_gesture_is_refused_whatever_it_is(route):
    for first in gestures(route):
        phone = phone_with(route)
        phone.react("n1", first)
        before = phone.pending()
        for second in (*gestures(route), Outcome.IGNORED):
            with pytest.raises(GestureError, match=f"answered with {first.name}; one gesture"):
                phone.react("n1", second)
        assert phone.pending() == before


@pytest.mark.parametrize("route", ROUTES)
@pytest.mark.parametrize("outcome", Outcome)
def test_an_outcome_of_another_route_is_refused(route, outcome):
    phone = phone_with(route)
    if outcome.possible_on(route):
        assert phone.check("n1", outcome).id == "n1"
        return
    with pytest.raises(GestureError) as error:
        phone.react("n1", outcome)
    message = str(error.value)
    assert f"{outcome.name} cannot follow {route.name} (notification 'n1')" in message
    possible = message.partition("possible are ")[2].split(", ")
    assert possible == [o.name for o in (*gestures(route), default_outcome(route))]
    assert not phone.current.answered and not phone.current.acknowledged


def test_an_unknown_notification_is_refused():
    phone = phone_with(Route.INTERRUPT)
    with pytest.raises(GestureError, match="'zebra' has not been delivered; answer one that is on"):
        phone.react("zebra", Outcome.OPENED_IMMEDIATELY)
    with pytest.raises(GestureError) as error:
        phone.check("z" * 10_000, Outcome.IGNORED)
    assert len(str(error.value)) < 200


class PhoneUse(RuleBasedStateMachine):
    """Any owner, in any order: deliver, react, wait, release, and try what is not allowed."""

    def __init__(self) -> None:
        super().__init__()
        self.phone = Phone()
        self.ids: list[str] = []
        self.gestured: dict[str, tuple[Outcome, int]] = {}  # the one active gesture, and when
        self.passed: set[str] = set()
        self.released: dict[str, list[Outcome]] = {}

    @rule(route=st.sampled_from(ROUTES))
    def deliver(self, route: Route) -> None:
        number = len(self.ids) + 1
        self.phone.deliver(decision(number, route, self.phone.clock))
        self.ids.append(f"n{number}")

    @rule(minutes=st.sampled_from([0, 1, 14, 15, 60, 120, 240]))
    def wait(self, minutes: int) -> None:
        self.phone.wait(self.phone.clock + minutes)

    @precondition(lambda self: self.ids)
    @rule(data=st.data(), outcome=st.sampled_from(Outcome))
    def react(self, data, outcome: Outcome) -> None:
        chosen = data.draw(st.sampled_from(self.ids))
        item = self.phone._delivered[chosen]
        allowed = outcome.possible_on(item.decision.route) and chosen not in self.gestured
        if outcome.is_passive:
            allowed = allowed and chosen not in self.passed
        if item.decision.route is not Route.ARCHIVE:
            allowed = allowed and chosen not in self.released
        if item.decision.route is Route.INTERRUPT:
            allowed = allowed and chosen not in self.passed
        if not allowed:
            with pytest.raises(GestureError, match=chosen):
                self.phone.react(chosen, outcome)
            assert self.phone._delivered[chosen] == item
            return
        self.phone.react(chosen, outcome)
        if outcome.is_passive:
            self.passed.add(chosen)
        else:
            self.gestured[chosen] = (outcome, self.phone.clock)

    @precondition(lambda self: self.ids)
    @rule(data=st.data())
    def release(self, data) -> None:
        chosen = data.draw(st.sampled_from(self.ids))
        if chosen not in [d.id for d in self.phone.due(self.phone.clock)]:
            with pytest.raises(ValueError, match="not due"):
                self.phone.release(chosen)
            return
        item = self.phone.release(chosen)
        self.released.setdefault(chosen, []).append(item.outcome)
        age = self.phone.clock - item.decision.clock
        assert age >= item.outcome.window_minutes
        if chosen in self.gestured:
            outcome, made = self.gestured[chosen]
            assert item.outcome is outcome and self.phone.clock >= made
        else:
            assert item.outcome.is_passive

    @invariant()
    def at_most_one_active_gesture_is_ever_released(self) -> None:
        for outcomes in self.released.values():
            assert sum(not o.is_passive for o in outcomes) <= 1
            assert len(outcomes) <= 2 and [o.is_passive for o in outcomes] != [True, True]

    @invariant()
    def nothing_is_on_a_surface_after_an_active_gesture(self) -> None:
        shown = {d.id for surface in Surface for d in self.phone.on(surface)}
        assert not shown & set(self.gestured)

    @invariant()
    def what_has_not_been_answered_waits_somewhere(self) -> None:
        pending = {d.id for d in self.phone.pending()}
        saved = {d.id for d in self.phone.on(Surface.SAVED)}
        assert set(self.ids) <= pending | set(self.released) | saved
        assert {d.id for d in self.phone.due(self.phone.clock)} <= pending

    @invariant()
    def a_gesture_is_never_lost(self) -> None:
        pending = {d.id: d.outcome for d in self.phone.pending()}
        for chosen, (outcome, _) in self.gestured.items():
            out = self.released.get(chosen, [])
            assert pending.get(chosen) is outcome or out[-1] is outcome


PhoneUse.TestCase.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)
TestPhoneUse = PhoneUse.TestCase
