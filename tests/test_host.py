"""Many sessions in one process, on a model of a few numbers and a real database."""

from __future__ import annotations

import threading

import pytest

from sdft.autopilot import NoOwner
from sdft.host import Host, HostError
from sdft.model.owner import ModelOwner
from sdft.starts import for_the_screen
from sdft.store import Store, StoreError
from sdft.trace import Reacted
from sdft.world.notification import Notification
from sdft.world.phone import GestureError
from sdft.world.routes import Outcome
from tests.fakes import TinyEngine, small_stream, start_on, timeless

PUSH = (9.0, 0.0, 0.0)


@pytest.fixture
def engine():
    return TinyEngine(bias=PUSH)


@pytest.fixture
def world(tmp_path, engine):
    owner = ModelOwner(lambda progress: engine)
    owner.wait_until_ready(20)
    store = Store(tmp_path)
    opened = []

    def begin(events: int = 30, **options):
        host = Host(owner, store)
        hosted = host.start(for_the_screen(start_on(small_stream(events), **options)))
        hosted.first.result(20)
        opened.append(hosted)
        return host, hosted

    begin.owner, begin.store = owner, store
    yield begin
    engine.gate.set()
    for hosted in opened:
        hosted.close()
    owner.close()
    store.close()


def delete(hosted):
    return hosted.react(hosted.session.phone.current.id, Outcome.DELETED_NOTIFICATION)


def settle(hosted):
    while not hosted.idle:
        hosted.wait_for_change(hosted.revision, 0.05)


def test_a_double_gesture_counts_once(world):
    _, hosted = world()
    card = hosted.session.phone.current.id
    first = hosted.react(card, Outcome.OPENED_IMMEDIATELY)
    second = hosted.react(card, Outcome.OPENED_IMMEDIATELY)
    first.result(20)
    with pytest.raises(GestureError, match="one gesture counts"):
        second.result(20)
    assert sum(isinstance(r, Reacted) for r in hosted.session.records) == 1
    assert hosted.session.decisions == 2


def test_the_next_card_does_not_wait_for_the_lesson(world, engine):
    _, hosted = world()
    for _ in range(4):
        delete(hosted).result(20)
    settle(hosted)
    engine.gate.clear()  # training hangs
    delete(hosted).result(20)
    assert hosted.session.decisions == 6 and not hosted.idle
    engine.gate.set()
    delete(hosted).result(20)
    assert hosted.session.decisions == 7


def test_quick_gestures_give_the_trace_of_slow_ones(world):
    _, slow = world()
    _, quick = world()
    for _ in range(12):
        delete(slow).result(20)
        settle(slow)
    for _ in range(12):
        delete(quick).result(20)
    settle(quick)
    assert timeless(slow.session.records) == timeless(quick.session.records)


def test_two_sessions_never_share_an_adapter(world):
    host, one = world(seed=1)
    two = host.start(for_the_screen(start_on(small_stream(30), seed=1)))
    two.first.result(20)
    for _ in range(8):
        delete(one).result(20)
    one.autopilot(1).result(20)
    assert one.session.adapter.digest != two.session.adapter.digest
    assert two.session.adapter.digest == host.owner.new_adapter(1).digest
    two.close()


def test_a_session_is_taken_up_again_from_the_store(world):
    _, hosted = world()
    hosted.autopilot(10).result(20)
    again = Host(world.owner, world.store).find(hosted.id)
    again.first.result(20)
    assert again.session.adapter.digest == hosted.session.adapter.digest
    assert timeless(again.session.records) == timeless(hosted.session.records)
    again.autopilot(3).result(20)
    assert again.session.decisions == hosted.session.decisions + 3
    again.close()


def test_a_full_disk_loses_nothing_and_the_session_goes_on(world):
    _, hosted = world(60)
    hosted.autopilot(6).result(20)
    database = world.store._connection
    (pages,) = database.execute("PRAGMA page_count").fetchone()
    database.execute(f"PRAGMA max_page_count={pages}")
    kept = None
    for _ in range(40):
        kept = timeless(hosted.session.records)
        try:
            delete(hosted).result(20)
        except StoreError as error:
            assert "could not be saved" in str(error) and "Free some space" in str(error)
            break
    else:
        pytest.fail("the disk never filled up")
    assert hosted.activity.kind == "problem"
    database.execute("PRAGMA max_page_count=1000000")
    stored = world.store.load(hosted.id, world.owner.layout)
    assert timeless(stored.records) == timeless(hosted.session.records)
    assert timeless(stored.records)[: len(kept)] == kept
    before = hosted.session.decisions
    hosted.autopilot(4).result(20)
    assert hosted.session.decisions >= before + 3


def test_stop_ends_the_autopilot(world, engine):
    _, hosted = world(200)
    running = hosted.autopilot(190)
    while hosted.session.decisions < 5:
        hosted.wait_for_change(hosted.revision, 0.05)
    hosted.stop()
    running.result(20)
    assert 5 <= hosted.session.decisions < 200


@pytest.mark.parametrize("events", [0, -1, 10_001, "many", None, 1.5, True])
def test_a_bad_number_of_events_is_named(world, events):
    _, hosted = world()
    with pytest.raises(HostError, match="autopilot events is"):
        hosted.autopilot(events)


def test_without_a_simulated_owner_there_is_no_autopilot(world):
    host, _ = world()
    plain = tuple(Notification(item.seen) for item in small_stream(5))
    hosted = host.start(for_the_screen(start_on(plain)))
    with pytest.raises(NoOwner, match="react to its cards yourself"):
        hosted.autopilot(2).result(20)
    delete(hosted).result(20)
    assert hosted.session.decisions == 2
    hosted.close()


def test_an_unknown_session_is_named(world):
    host, _ = world()
    with pytest.raises(HostError, match="no session 'nobody'"):
        host.find("nobody")


def test_new_records_are_told_once(world):
    _, hosted = world()
    told = hosted.take_new()
    delete(hosted).result(20)
    told += hosted.take_new()
    assert told == hosted.session.records[: len(told)] and hosted.take_new() == []


def test_closing_leaves_no_thread(world):
    _, hosted = world()
    name = f"session-{hosted.id[:6]}"
    assert any(thread.name.startswith(name) for thread in threading.enumerate())
    hosted.close()
    assert not any(thread.name.startswith(name) for thread in threading.enumerate())
