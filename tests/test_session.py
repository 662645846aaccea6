"""The causal loop on a tiny engine: its order, what the learner may know, and its fold."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as effort
from hypothesis import strategies as st

from sdft.assets import read_json
from sdft.autopilot import NoOwner, answer_for, play
from sdft.learning.behavior import BehaviorSettings
from sdft.learning.losses import softmax
from sdft.metrics import metrics
from sdft.model.engine import EngineError, PromptTooLong
from sdft.model.prompts import student_prompt
from sdft.session import OrderError, Session, check_stream
from sdft.settings import Settings, preset, settings_to
from sdft.trace import (
    Decided,
    Learned,
    Matured,
    Reacted,
    Reviewed,
    Scored,
    SettingsChanged,
    Updated,
    Waited,
)
from sdft.world.notification import Hidden, Notification
from sdft.world.persona import reaction
from sdft.world.phone import GestureError
from sdft.world.routes import ROUTES, Outcome, Reliability, Route, Surface
from tests.fakes import (
    LIKED,
    Tape,
    TinyEngine,
    autopilot,
    card,
    greedy,
    session_on,
    small_stream,
    start_on,
    timeless,
)

PUSH, DIGEST, SILENT = (9.0, 0.0, 0.0), (0.0, 9.0, 0.0), (0.0, 0.0, 9.0)
LEARNER_SEES = (Decided, Matured, Reviewed, Updated, Learned)


def answer(session: Session) -> None:
    outcome = answer_for(session)
    if outcome is not None:
        session.react(session.phone.current.id, outcome, by="persona")


def of(session: Session, kind: type) -> list:
    return [record for record in session.records if isinstance(record, kind)]


def learner_side(session: Session) -> list[str]:
    return timeless([r for r in session.records if isinstance(r, LEARNER_SEES)])


def cards(count: int, **fields) -> list[Notification]:
    return [card(n, title=f"hello {n}", **fields) for n in range(1, count + 1)]


# Order


def test_a_long_run_keeps_the_causal_order():
    session = autopilot(session_on(small_stream(90)))
    clock, decided, due, steps_left, updates = 0, 0, [], 0, 0
    for record in session.records:
        if isinstance(record, Decided):
            assert not due and not steps_left  # everything matured has been learned
            assert (record.t, record.clock) == (decided + 1, 15 * decided)
            assert record.updates == updates
            decided = record.t
        elif isinstance(record, Scored | Reacted):
            assert record.t == decided and clock == 15 * (decided - 1)
        elif isinstance(record, Waited):
            assert record.clock == 15 * decided
            clock = record.clock
        elif isinstance(record, Matured):
            window = record.outcome.window_minutes
            assert 15 * (record.t - 1) + window <= record.clock == clock
            assert record.reward == record.outcome.reward
            if record.outcome.reliability is not Reliability.CENSORED:
                due.append(record)
        elif isinstance(record, Reviewed):
            matured = due.pop(0)
            assert (matured.t, matured.outcome) == (record.t, record.outcome)
            steps_left = record.steps
        elif isinstance(record, Updated):
            steps_left -= 1
            updates += 1
        else:
            assert isinstance(record, Learned)
            assert not steps_left and record.updates == updates
    assert decided == 90 and updates == 2 * (session.lesson_count - 3) > 20


def test_every_decision_is_scored_at_once_by_its_own_notification():
    session = autopilot(session_on(small_stream(40)))
    decisions, scores = of(session, Decided), of(session, Scored)
    assert [s.t for s in scores] == [d.t for d in decisions] == list(range(1, 41))
    for decided, scored, item in zip(decisions, scores, session.stream, strict=True):
        assert session.records.index(scored) == session.records.index(decided) + 1
        assert decided.seen == item.seen
        hidden = item.hidden
        assert (scored.preferred, scored.utilities) == (hidden.preferred, hidden.utilities)
        assert scored.regret == max(hidden.utilities) - hidden.utilities[decided.route.index]
        expected = max(hidden.utilities) - np.dot(decided.behavior, hidden.utilities)
        assert scored.expected_regret == pytest.approx(expected)
        assert scored.correct == (decided.route is hidden.preferred)


def test_a_lesson_is_sealed_decision_teacher_and_evidence():
    session = session_on(cards(2), TinyEngine(PUSH), greedy())
    session.advance()
    session.react("n1", Outcome.DELETED_NOTIFICATION)
    session.advance()
    (sealed, _), (reviewed,) = of(session, Decided), of(session, Reviewed)
    assert reviewed.sealed == sealed.student
    blend = 0.05 * np.array(reviewed.teacher) + 0.05 * np.array(sealed.student)
    assert reviewed.target == pytest.approx(blend + [0, 0, 0.9])
    assert (reviewed.lesson, reviewed.t, reviewed.group) == (1, 1, "ARCHIVE")


def test_the_teacher_is_the_base_model_however_much_the_adapter_has_moved():
    engine = TinyEngine()
    session = autopilot(session_on(small_stream(60), engine))
    assert of(session, Learned)[-1].distance > 0
    for prompt, adapted in engine.prompts:
        asked = "student" if adapted else "teacher"
        assert prompt.messages[0].content == read_json("prompts.json")[f"{asked}_system"]
    last = of(session, Reviewed)[-1]
    teacher = next(p for p, adapted in reversed(engine.prompts) if not adapted)
    fresh = TinyEngine().logits([teacher], None)
    assert last.teacher == pytest.approx(softmax(fresh)[0], abs=1e-12)


def test_a_student_prompt_is_the_notification_alone():
    engine = TinyEngine()
    session = autopilot(session_on(small_stream(60), engine))
    allowed = {student_prompt(item.seen) for item in session.stream}
    shown = [prompt for prompt, adapted in engine.prompts if adapted]
    assert set(shown) <= allowed and len(set(shown)) == 60


def test_learned_tells_where_the_student_moved():
    engine = TinyEngine(PUSH)
    session = session_on(cards(8), engine, greedy(steps=8))
    session.advance()
    for n in range(1, 8):
        session.react(f"n{n}", LIKED[Route.ARCHIVE])
        session.advance()
    learned = of(session, Learned)[-1]
    number = of(session, Reviewed)[-1].t
    assert learned.after[2] > learned.before[2] + 0.01
    now = softmax(engine.logits([student_prompt(session.stream[number - 1].seen)], session.adapter))
    assert learned.after == pytest.approx(now[0])
    assert learned.adapter == session.adapter.digest
    assert learned.distance == session.adapter.distance(engine.new_adapter(7)) > 0


def test_the_student_learns_what_its_owner_likes():
    about = ("the server is down", "lunch on friday perhaps", "huge shoe sale")
    stream = [card(n, f"{about[n % 3]} {n}", "", ROUTES[n % 3]) for n in range(1, 151)]
    session = autopilot(session_on(stream))
    correct = [s.correct for s in of(session, Scored)]
    frozen = autopilot(session_on(stream, method="base"))
    assert sum(correct[-50:]) >= 45
    assert metrics(session.records).accuracy > metrics(frozen.records).accuracy + 0.2


def _fresh() -> Session:
    return session_on(cards(2), TinyEngine(PUSH), greedy())


def _card_waits() -> Session:
    session = _fresh()
    session.decide()
    return session


def _answered() -> Session:
    session = _card_waits()
    session.react("n1", Outcome.OPENED_IMMEDIATELY)
    return session


def _lesson_due() -> Session:
    session = _answered()
    session.wait()
    return session


def _half_learned() -> Session:
    settings = replace(greedy(), replay=replace(Settings().replay, warm_up=1))
    session = session_on(cards(2), TinyEngine(PUSH), settings)
    session.decide()
    session.react("n1", Outcome.OPENED_IMMEDIATELY)
    session.wait()
    session.review()
    return session


def _over() -> Session:
    session = _lesson_due()
    session.learn()
    session.decide()
    session.react("n2", Outcome.OPENED_IMMEDIATELY)
    return session


@pytest.mark.parametrize(
    ("state", "stage", "remedy"),
    [
        (_fresh, "wait", "decide next"),
        (_fresh, "learn", "wait or react first"),
        (_fresh, "review", "wait or react first"),
        (_fresh, "update", "review first"),
        (_card_waits, "decide", "'n1' waits on the lock screen; react to it first"),
        (_card_waits, "wait", "react to it first"),
        (_card_waits, "advance", "react to it first"),
        (_answered, "decide", "wait first"),
        (_answered, "learn", "wait or react first"),
        (_answered, "review", "wait or react first"),
        (_lesson_due, "decide", "1 lessons are due; learn first"),
        (_lesson_due, "update", "review first"),
        (_lesson_due, "wait", "decide next"),
        (_half_learned, "review", "update first"),
        (_half_learned, "decide", "1 lessons are due; learn first"),
        (_over, "decide", "the stream has ended after 2 notifications; reset"),
        (_over, "review", "wait or react first"),
    ],
)
def test_a_stage_out_of_order_is_refused_and_changes_nothing(state, stage, remedy):
    session = state()
    before = _snapshot(session), len(session.records)
    with pytest.raises(OrderError) as error:
        getattr(session, stage)()
    assert remedy in str(error.value)
    assert (_snapshot(session), len(session.records)) == before


def test_a_lesson_that_is_due_at_the_end_of_the_stream_forbids_moving_on():
    session = session_on(cards(1), TinyEngine(SILENT), greedy())
    session.advance()
    session.react("n1", Outcome.ASKED_TO_SHOW)
    session.release()
    with pytest.raises(OrderError, match="learn first"):
        session.wait()


@pytest.mark.parametrize(
    ("notification_id", "outcome", "words"),
    [
        ("n1", Outcome.OPENED_DIGEST, "cannot follow INTERRUPT"),
        ("n2", Outcome.OPENED_IMMEDIATELY, "has not been delivered"),
        ("zebra", Outcome.OPENED_IMMEDIATELY, "not in this session's stream"),
    ],
)
def test_an_impossible_gesture_is_refused_and_leaves_no_record(notification_id, outcome, words):
    session = _card_waits()
    before = _snapshot(session), len(session.records)
    with pytest.raises(GestureError, match=words) as error:
        session.react(notification_id, outcome)
    assert notification_id in str(error.value)
    assert (_snapshot(session), len(session.records)) == before


def test_a_second_gesture_leaves_no_record():
    session = _answered()
    with pytest.raises(GestureError, match="one gesture counts"):
        session.react("n1", Outcome.DELETED_NOTIFICATION)
    assert [r.outcome for r in of(session, Reacted)] == [Outcome.OPENED_IMMEDIATELY]


def test_a_stream_is_checked_before_it_starts():
    check_stream(cards(3), TinyEngine())
    with pytest.raises(PromptTooLong, match=r"notification 2 \('n2'\).*shorten"):
        check_stream([card(1), card(2, body="word " * 800)], TinyEngine())
    with pytest.raises(ValueError, match="empty"):
        check_stream([], TinyEngine())


def test_hindsight_prompts_are_checked_too():
    fits_alone = card(
        1, body="word " * (768 - TinyEngine().count_tokens(student_prompt(card(1).seen)))
    )
    TinyEngine().count_tokens(student_prompt(fits_alone.seen))
    with pytest.raises(PromptTooLong):
        check_stream([fits_alone], TinyEngine())


def test_an_engine_that_returns_nan_stops_the_session_instead_of_poisoning_it():
    engine = TinyEngine()
    session = session_on(cards(2), engine)
    engine.logits = lambda prompts, adapter: np.full((len(prompts), 3), np.nan)
    with pytest.raises(ValueError):
        session.decide()
    assert session.records == [] and session.decisions == 0


def test_a_stage_that_fails_can_be_done_again():
    calls = []

    def before(name: str) -> None:
        calls.append(name)
        if name == "train_step" and calls.count(name) == 2:
            raise EngineError("no memory left; close something")

    stream = small_stream(30)
    session = session_on(stream, TinyEngine(before=before))
    with pytest.raises(EngineError):
        autopilot(session)
    autopilot(session)
    assert timeless(session.records) == timeless(autopilot(session_on(stream)).records)


# What may be known


def _disguised(session: Session, number: int, rng: np.random.Generator) -> Notification:
    """The same event with other feelings that give the same reaction on the executed route."""
    item, decided = session.stream[number], of(session, Decided)[number]
    wanted = reaction(item.hidden.preferred, decided.route)
    equal = [y for y in ROUTES if reaction(y, decided.route) is wanted]
    others = [y for y in equal if y is not item.hidden.preferred] or equal
    utilities = tuple(rng.normal(0, 3, 3).round(9).tolist())
    return replace(item, hidden=Hidden(utilities, others[rng.integers(len(others))]))


def test_feelings_about_routes_not_taken_never_reach_the_learner():
    one = autopilot(session_on(small_stream(120)))
    rng = np.random.default_rng(1)
    stream = [_disguised(one, number, rng) for number in range(120)]
    other = autopilot(session_on(stream))
    assert sum(a.hidden.preferred is not b.hidden.preferred
               for a, b in zip(one.stream, other.stream, strict=True)) > 20  # fmt: skip
    assert learner_side(one) == learner_side(other)
    assert timeless(of(one, Scored)) != timeless(of(other, Scored))
    assert one.adapter.digest == other.adapter.digest


def test_feelings_about_the_future_never_reach_the_learner():
    stream = small_stream(60)
    one = autopilot(session_on(stream))
    flipped = [
        replace(item, hidden=Hidden((9.0, -9.0, 9.0), ROUTES[item.hidden.preferred.index - 1]))
        for item in stream[30:]
    ]
    other = autopilot(session_on([*stream[:30], *flipped]))

    def until_31(session: Session) -> list[str]:
        stop = next(i for i, r in enumerate(session.records) if getattr(r, "t", 0) == 31)
        return timeless(session.records[: stop + 1])

    assert until_31(one) == until_31(other)
    assert learner_side(one) != learner_side(other)  # else the flip changed nothing at all


@effort(max_examples=15, deadline=None)
@given(st.data())
def test_with_the_same_gestures_no_hidden_state_matters(data):
    stream = small_stream(25)
    one = autopilot(session_on(stream))
    feelings = st.builds(Hidden, st.tuples(*[st.floats(-5, 5)] * 3), st.sampled_from(ROUTES))
    judged = [replace(n, hidden=data.draw(st.none() | feelings)) for n in stream]
    other = session_on(judged)
    other.advance()
    gestures = of(one, Reacted)
    for gesture in gestures:
        other.react(gesture.notification_id, gesture.outcome)
        if other.decisions < len(stream):
            other.advance()
    assert learner_side(one) == learner_side(other)


def test_the_engine_never_reads_a_utility_or_a_preference():
    utilities = (0.918273645, -0.564738291, 0.192837465)
    stream = [replace(n, hidden=Hidden(utilities, n.hidden.preferred)) for n in small_stream(60)]
    engine = TinyEngine()
    session = autopilot(session_on(stream, engine))
    text = "\n".join(m.content for prompt, _ in engine.prompts for m in prompt.messages)
    assert stream[0].seen.title in text and read_json("prompts.json")["teacher_system"] in text
    for secret in (*map(str, utilities), "0.918", "prefer", "utilit"):
        assert secret not in text
    assert str(utilities[0]) in "\n".join(timeless(of(session, Scored)))


def test_the_learner_is_handed_no_hidden_state():
    session = autopilot(session_on(small_stream(30)))
    for item in (*session.phone.pending(), *session.lessons):
        assert "Hidden" not in repr(item) and "utilities" not in repr(item)


# Determinism


def test_the_same_seed_and_gestures_give_the_same_trace_and_another_seed_another():
    def run(seed: int) -> list[str]:
        return timeless(autopilot(session_on(small_stream(60), seed=seed)).records)

    assert run(7) == run(7)
    assert run(7) != run(8)


@pytest.mark.parametrize(
    "other",
    [
        {"method": "base"},
        {"settings": preset("published")},
        {"settings": preset("demo")},
        {"settings": greedy()},
        {"settings": replace(Settings(), replay=replace(Settings().replay, replay=False))},
    ],
    ids=["base", "published", "demo", "greedy", "newest only"],
)
def test_methods_and_settings_see_the_same_serving_draws(other):
    stream = small_stream(40)
    one, two = (autopilot(session_on(stream, **fields)) for fields in ({}, other))
    assert [d.uniform for d in of(one, Decided)] == [d.uniform for d in of(two, Decided)]
    assert len({d.uniform for d in of(one, Decided)}) == 40
    assert timeless(of(one, Decided)) != timeless(of(two, Decided))


def test_the_route_is_the_draw_from_the_recorded_behaviour():
    for decided in of(autopilot(session_on(small_stream(80))), Decided):
        edges = np.cumsum(decided.behavior)
        assert decided.route is ROUTES[int(np.searchsorted(edges, decided.uniform, side="right"))]
        assert getattr(decided, decided.drawn_by)[decided.route.index] > 0


def test_silence_is_counted_in_archived_routes():
    silent = 0
    behavior = BehaviorSettings(epsilon=1.0)
    session = autopilot(
        session_on(small_stream(60), settings=replace(Settings(), behavior=behavior))
    )
    for decided in of(session, Decided):
        assert decided.silent_for == silent
        silent = silent + 1 if decided.route is Route.ARCHIVE else 0
    assert max(d.silent_for for d in of(session, Decided)) >= 2


# Lessons


def test_there_is_no_update_before_the_fourth_lesson():
    session = session_on(cards(6), TinyEngine(PUSH), greedy())
    session.advance()
    for n in range(1, 6):
        session.react(f"n{n}", Outcome.OPENED_IMMEDIATELY)
        session.advance()
    assert [r.steps for r in of(session, Reviewed)] == [0, 0, 0, 2, 2]
    assert [(u.lesson, u.step) for u in of(session, Updated)] == [(4, 1), (4, 2), (5, 1), (5, 2)]
    assert [u.rows[0] for u in of(session, Updated)] == [4, 4, 5, 5]
    assert all(sorted(u.rows) == list(range(1, u.lesson + 1)) for u in of(session, Updated))
    assert [r.updates for r in of(session, Learned)] == [2, 4]
    assert [d.updates for d in of(session, Decided)] == [0, 0, 0, 0, 2, 4]


@pytest.mark.parametrize(
    ("bias", "outcome"),
    [
        (PUSH, Outcome.IGNORED),
        (DIGEST, Outcome.IGNORED),
        (SILENT, Outcome.IGNORED),
        (SILENT, Outcome.NO_OBSERVABLE_SELECTION),
    ],
)
def test_silence_teaches_nothing(bias, outcome):
    session = session_on(cards(30), TinyEngine(bias), greedy())
    session.advance()
    for n in range(1, 31):
        session.react(f"n{n}", outcome)
        if n < 30:
            session.advance()
    matured = of(session, Matured)
    assert [m.t for m in matured] == list(range(1, 15))  # due 240 minutes on, the clock is at 435
    assert {m.outcome for m in matured} == {outcome}
    assert not of(session, Reviewed) and not of(session, Updated) and not session.lessons
    assert session.adapter.digest == TinyEngine().new_adapter(7).digest


def test_what_is_pending_at_the_end_is_never_released():
    session = autopilot(session_on(cards(12, preferred=Route.LATER), TinyEngine(DIGEST), greedy()))
    # decided at 0, 15, ..., 165; 120 minutes later the digest opens count
    assert [(m.t, m.clock) for m in of(session, Matured)] == [
        (1, 120),
        (2, 135),
        (3, 150),
        (4, 165),
    ]
    assert session.finished and len(session.phone.pending()) == 8
    assert session.lesson_count == 4


def test_a_digest_open_teaches_the_sealed_answer_without_archive():
    session = autopilot(session_on(cards(10), TinyEngine(DIGEST), greedy()))
    reviewed = of(session, Reviewed)[0]
    a, b, _ = reviewed.sealed
    assert reviewed.target == pytest.approx((a / (a + b), b / (a + b), 0.0))
    assert reviewed.group == "AMBIGUOUS"


def _corrected(outcome: Outcome, supersede: bool = True) -> Session:
    """Two pushes swiped away, one kept apart by category; then Saved holds a similar card."""
    leaning = {"urgent": PUSH, "quiet": SILENT}
    stream = [
        card(1, "urgent shoe sale today", "half price in town", category="promo"),
        card(2, "urgent shoe sale today", "half price in town", category="commerce"),
        card(3, "urgent build is red", "nobody can merge", category="promo"),
        card(4, "quiet shoe sale today", "half price in town", category="promo"),
        card(5, "quiet end", category="promo"),
    ]
    replay = replace(Settings().replay, supersede=supersede)
    settings = greedy(replace(Settings(), replay=replay))
    session = session_on(stream, TinyEngine(leaning=leaning), settings)
    session.advance()
    for n in (1, 2, 3):
        session.react(f"n{n}", Outcome.DELETED_NOTIFICATION)
        session.advance()
    session.react("n4", outcome)
    session.release()
    session.learn_all()
    return session


def test_a_correction_from_saved_supersedes_the_lessons_it_contradicts():
    session = _corrected(Outcome.ASKED_TO_SHOW)
    assert [m.clock for m in of(session, Matured)] == [15, 30, 45, 45]  # at once
    last = of(session, Reviewed)[-1]
    assert (last.lesson, last.group, last.superseded) == (4, "INTERRUPT", (1,))
    assert [lesson.number for lesson in session.lessons] == [2, 3, 4]
    assert all(1 not in u.rows for u in of(session, Updated))
    assert of(session, Updated)[-1].rows[0] == 4


@pytest.mark.parametrize(
    ("outcome", "supersede"), [(Outcome.CONFIRMED_QUIET, True), (Outcome.ASKED_TO_SHOW, False)]
)
def test_a_correction_that_contradicts_nothing_removes_nothing(outcome, supersede):
    session = _corrected(outcome, supersede)
    assert of(session, Reviewed)[-1].superseded == ()
    assert [lesson.number for lesson in session.lessons] == [1, 2, 3, 4]


def test_saved_teaches_even_after_silence_was_released():
    session = session_on(cards(20), TinyEngine(SILENT), greedy())
    autopilot(session, 17)
    first = of(session, Matured)[0]
    assert (first.t, first.outcome, first.clock) == (1, Outcome.NO_OBSERVABLE_SELECTION, 240)
    session.react("n1", Outcome.OPENED_FROM_SAVED)
    session.release()
    session.learn_all()
    last = of(session, Matured)[-1]
    assert (last.t, last.outcome, last.clock) == (1, Outcome.OPENED_FROM_SAVED, 255)
    assert [(r.t, r.group) for r in of(session, Reviewed)] == [(1, "LATER")]
    assert metrics(session.records).reliable == 1


def test_the_frozen_model_learns_nothing():
    session = autopilot(session_on(small_stream(60), method="base"))
    assert of(session, Matured) and not of(session, Reviewed) and not of(session, Updated)
    assert {d.updates for d in of(session, Decided)} == {0}


# Learning behind the next card


def test_behind_the_next_card_a_lesson_is_in_one_decision_later():
    settings = replace(greedy(), learn_behind=True, replay=replace(Settings().replay, warm_up=1))
    session = session_on(cards(6), TinyEngine(PUSH), settings)
    session.advance()
    for n in range(1, 6):
        session.react(f"n{n}", Outcome.OPENED_IMMEDIATELY)
        session.advance()
        assert session.lessons_due == 1  # the card is there before its predecessor's lesson
        session.learn_all()
    assert [d.updates for d in of(session, Decided)] == [0, 0, 2, 4, 6, 8]
    with pytest.raises(OrderError, match="react"):
        session.wait()


def test_a_second_card_is_not_decided_before_the_first_ones_lesson():
    settings = replace(greedy(), learn_behind=True)
    session = session_on(cards(3), TinyEngine(PUSH), settings)
    session.advance()
    session.react("n1", Outcome.OPENED_IMMEDIATELY)
    session.advance()
    session.react("n2", Outcome.OPENED_IMMEDIATELY)
    with pytest.raises(OrderError, match="learn first"):
        session.wait()
    session.advance()
    assert [r.t for r in of(session, Reviewed)] == [1]
    assert session.decisions == 3


# The fold


def _snapshot(session: Session) -> dict:
    phone = session.phone
    return {
        "clock": phone.clock,
        "pending": phone.pending(),
        "surfaces": [phone.on(surface) for surface in Surface],
        "current": phone.current,
        "lessons": session.lessons,
        "lesson_count": session.lesson_count,
        "silent_for": session.silent_for,
        "decisions": session.decisions,
        "due": session.lessons_due,
        "finished": session.finished,
        "settings": session.settings,
        "adapter": session.adapter.digest,
        "steps": session._checkpoint.optimizer.steps,
    }


def _stages(session: Session, after_each: Callable[[], None], events: int) -> None:
    """Every stage by itself, as slowly as can be, with corrections and a change of settings."""

    def stage(run: Callable[[], list]) -> None:
        run()
        after_each()

    for number in range(events):
        stage(session.decide)
        stage(lambda: answer(session) or [])
        saved = session.phone.on(Surface.SAVED)
        if number % 5 == 4 and saved:
            stage(lambda item=saved[-1]: session.react(item.id, Outcome.ASKED_TO_SHOW))
            stage(session.release)
        if number == events // 2:
            changed = replace(session.settings, update=replace(session.settings.update, steps=5))
            stage(lambda new=changed: session.change_settings(new))
        while session.lessons_due:
            stage(session.learn)
        stage(session.wait)
        while session.lessons_due:
            stage(session.review)
            if session.lessons_due and session._to_update is not None:
                stage(session.update)


def test_any_prefix_of_the_trace_and_its_checkpoint_give_the_same_state():
    stream, tape, seen = small_stream(31), Tape(), []
    settings = replace(Settings(), replay=replace(Settings().replay, capacity=6))
    session = session_on(stream, TinyEngine(), settings, recorder=tape)
    _stages(session, lambda: seen.append((len(session.records), _snapshot(session))), 30)
    assert len(seen) > 100 and len(of(session, Updated)) > 20
    for count, state in seen:
        again = Session(
            TinyEngine(),
            stream,
            session.header,
            Tape(),
            session.records[:count],
            tape.checkpoint_after(count),
        )
        assert _snapshot(again) == state


@pytest.mark.parametrize("behind", [False, True])
def test_a_session_cut_off_after_any_commit_goes_on_to_the_same_end(behind):
    stream = small_stream(14)
    settings = replace(Settings(), learn_behind=behind, behavior=BehaviorSettings(epsilon=0.9))
    tape = Tape()
    whole = session_on(stream, settings=settings, recorder=tape)
    autopilot(whole)
    assert of(whole, Updated)
    count = 0
    for records, _ in tape.commits:
        count += len(records)
        resumed = Session(
            TinyEngine(),
            stream,
            whole.header,
            Tape(),
            whole.records[:count],
            tape.checkpoint_after(count),
        )
        autopilot(resumed)
        assert timeless(resumed.records) == timeless(whole.records), records[-1].kind


def test_waiting_and_what_it_releases_are_one_commit():
    """A process that dies between the two would decide before the callback is in."""
    tape = Tape()
    session = session_on(cards(2), TinyEngine(PUSH), greedy(), recorder=tape)
    session.advance()
    session.react("n1", Outcome.OPENED_IMMEDIATELY)
    session.wait()
    assert [type(r) for r in tape.commits[-1][0]] == [Waited, Matured]


def test_settings_changed_on_the_way_hold_from_there_on():
    session = session_on(cards(9), TinyEngine(PUSH), greedy())
    session.advance()
    for n in range(1, 9):
        session.react(f"n{n}", Outcome.OPENED_IMMEDIATELY)
        if n == 6:
            session.change_settings(greedy(steps=3, learning_rate=0.0))
            before = session.adapter.digest
        session.advance()
    assert [r.steps for r in of(session, Reviewed)] == [0, 0, 0, 2, 2, 3, 3, 3]
    assert session.adapter.digest == before  # nothing moves at rate 0
    (changed,) = of(session, SettingsChanged)
    assert changed.settings == settings_to(session.settings)
    assert session.header.settings == settings_to(greedy())


def test_what_cannot_be_recorded_has_not_happened():
    class Full(Tape):
        full = False

        def append(self, records, checkpoint):
            if self.full:
                raise OSError("disk full")
            super().append(records, checkpoint)

    tape = Full()
    session = session_on(cards(2), TinyEngine(PUSH), greedy(), recorder=tape)
    session.advance()
    before = _snapshot(session)
    tape.full = True
    with pytest.raises(OSError):
        session.react("n1", Outcome.OPENED_IMMEDIATELY)
    assert _snapshot(session) == before
    tape.full = False
    session.react("n1", Outcome.OPENED_IMMEDIATELY)
    assert len(of(session, Reacted)) == 1


# The autopilot


def test_the_autopilot_answers_as_many_cards_as_asked_and_shows_the_next():
    session = session_on(small_stream(20))
    counted = []
    play(session, 5, lambda done: counted.append(done) or True)
    assert counted == [0, 1, 2, 3, 4]
    assert session.decisions == 6 and [r.t for r in of(session, Reacted)] == [1, 2, 3, 4, 5]
    assert {r.by for r in of(session, Reacted)} == {"persona"}
    play(session, 3, lambda done: done < 1)  # stopped after one
    assert session.decisions == 7


@pytest.mark.parametrize("behind", [False, True])
def test_it_does_not_matter_how_often_the_autopilot_is_stopped(behind):
    stream, settings = small_stream(30), replace(Settings(), learn_behind=behind)
    whole = autopilot(session_on(stream, settings=settings))
    parts = session_on(stream, settings=settings)
    for events in (1, 4, 9, 16):
        play(parts, events, lambda done: True)
    assert timeless(parts.records) == timeless(whole.records)


def test_the_autopilot_reacts_as_its_owner_feels():
    session = autopilot(session_on(small_stream(60)))
    routes = {d.t: d.route for d in of(session, Decided)}
    for reacted in of(session, Reacted):
        preferred = session.stream[reacted.t - 1].hidden.preferred
        assert reacted.outcome is reaction(preferred, routes[reacted.t])
    assert len(of(session, Reacted)) == 60


def test_the_autopilot_leaves_answered_cards_alone():
    session = session_on(cards(1), TinyEngine(SILENT), greedy())
    session.advance()
    answer(session)
    answer(session)
    assert len(of(session, Reacted)) == 1
    autopilot(session)
    assert len(of(session, Reacted)) == 1 and session.finished


def test_nobody_reacts_for_an_owner_who_is_not_simulated():
    session = session_on(cards(2, preferred=None))
    session.advance()
    assert not of(session, Scored)
    with pytest.raises(NoOwner, match="react to its cards yourself"):
        answer(session)


def test_a_start_names_what_its_header_repeats():
    header = session_on(small_stream(3)).header
    start = start_on(small_stream(3))
    assert (header.seed, header.length, header.method) == (start.seed, 3, "online-sdft")
    assert (header.model, header.adapter_parameters) == ("tiny", TinyEngine().layout.size)
