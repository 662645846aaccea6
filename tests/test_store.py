"""The store: all of a step or nothing, and what comes back is what went in."""

from __future__ import annotations

import sqlite3
import threading
from dataclasses import replace

import numpy as np
import pytest

from sdft.autopilot import play
from sdft.model.engine import Adapter, OptimizerState
from sdft.session import Checkpoint, Session, header_for
from sdft.store import Store, StoreError
from sdft.trace import Learned, Waited
from tests.fakes import TinyEngine, card, small_stream, start_on, timeless

ENGINE = TinyEngine()
HOSTILE = "\u2028 \x85 \x0b \x1c '; DROP TABLE records; -- 🦊 {title} \\ \" \x00 \r\n"


@pytest.fixture
def store(tmp_path):
    with_folder = Store(tmp_path / "data")
    yield with_folder
    with_folder.close()


def begun(store: Store, stream=None) -> str:
    stream = stream or small_stream(5)
    return store.create(header_for(start_on(stream), ENGINE, {"python": "3"}), stream)


def checkpoint(value: float, steps: int) -> Checkpoint:
    vector = np.full(ENGINE.layout.size, value, dtype=np.float32)
    return Checkpoint(Adapter(ENGINE.layout, vector), OptimizerState(steps, vector, 2 * vector))


def fill(store: Store) -> None:
    """Let the disk be full from here on."""
    (pages,) = store._connection.execute("PRAGMA page_count").fetchone()
    store._connection.execute(f"PRAGMA max_page_count={pages}")


def free(store: Store) -> None:
    store._connection.execute("PRAGMA max_page_count=1000000")


def test_a_new_session_comes_back_as_it_was(store):
    stream = small_stream(5)
    header = header_for(start_on(stream), ENGINE, {"python": "3"})
    saved = store.load(store.create(header, stream), ENGINE.layout)
    assert (saved.header, saved.stream) == (header, stream)
    assert saved.records == () and saved.checkpoint is None


def test_ids_are_new_and_an_unknown_one_is_nothing(store):
    assert begun(store) != begun(store)
    for unknown in ("", "zebra", "' OR 1=1 --", HOSTILE):
        assert store.load(unknown, ENGINE.layout) is None


def test_records_and_checkpoint_come_back_in_order(store):
    session = begun(store)
    store.append(session, [Waited(15), Waited(30)], checkpoint(0.5, 3))
    store.append(session, [Waited(45)], None)
    store.append(session, [], None)
    saved = store.load(session, ENGINE.layout)
    assert saved.records == (Waited(15), Waited(30), Waited(45))
    assert saved.checkpoint.optimizer.steps == 3
    assert saved.checkpoint.adapter.vector.tolist() == [0.5] * ENGINE.layout.size
    assert saved.checkpoint.optimizer.first_moment.tolist() == [0.5] * ENGINE.layout.size
    assert saved.checkpoint.optimizer.second_moment.tolist() == [1.0] * ENGINE.layout.size


def test_only_the_newest_checkpoint_is_kept_and_it_knows_its_place(store):
    session = begun(store)
    store.append(session, [Waited(15)], checkpoint(0.5, 1))
    store.append(session, [Waited(30), Waited(45)], checkpoint(0.25, 2))
    rows = store._connection.execute("SELECT session, number FROM checkpoints").fetchall()
    assert rows == [(session, 3)]
    assert store.load(session, ENGINE.layout).checkpoint.optimizer.steps == 2


def test_sessions_do_not_mix(store):
    one, two = begun(store), begun(store)
    store.append(one, [Waited(15)], checkpoint(0.5, 1))
    store.append(two, [Waited(30)], None)
    assert store.load(one, ENGINE.layout).records == (Waited(15),)
    assert store.load(two, ENGINE.layout).records == (Waited(30),)
    assert store.load(two, ENGINE.layout).checkpoint is None


def test_a_whole_session_survives_bit_by_bit(store, tmp_path):
    stream = small_stream(40)
    header = header_for(start_on(stream), ENGINE, {})
    session_id = store.create(header, stream)
    session = Session(ENGINE, stream, header, store.recorder(session_id))
    play(session, 40, lambda done: True)
    store.close()
    reopened = Store(tmp_path / "data")
    saved = reopened.load(session_id, ENGINE.layout)
    reopened.close()
    assert saved.records == tuple(session.records)
    assert saved.checkpoint.adapter.digest == session.adapter.digest
    last = [r for r in saved.records if isinstance(r, Learned)][-1]
    assert (last.adapter, last.updates) == (
        session.adapter.digest,
        saved.checkpoint.optimizer.steps,
    )
    again = Session(ENGINE, saved.stream, saved.header, None, saved.records, saved.checkpoint)
    for name in ("first_moment", "second_moment"):
        kept = getattr(again._checkpoint.optimizer, name)
        assert np.array_equal(kept, getattr(session._checkpoint.optimizer, name))


def test_hostile_texts_survive(store):
    stream = (card(1, HOSTILE, "a\nb" + HOSTILE), card(2, "x\u2029y", "z"))
    session_id = begun(store, stream)
    header = header_for(start_on(stream), ENGINE, {})
    session = Session(ENGINE, stream, header, store.recorder(session_id))
    session.advance()
    saved = store.load(session_id, ENGINE.layout)
    assert saved.stream == stream
    assert saved.records == tuple(session.records)
    assert saved.records[0].seen.title == HOSTILE


def test_a_full_disk_takes_nothing_of_a_step(store):
    session = begun(store)
    store.append(session, [Waited(15)], checkpoint(0.5, 1))
    fill(store)
    many = [replace(Waited(15), clock=n) for n in range(20_000)]
    with pytest.raises(StoreError, match="database or disk is full.*did not happen.*Free some"):
        store.append(session, many, checkpoint(0.25, 2))
    saved = store.load(session, ENGINE.layout)
    assert saved.records == (Waited(15),) and saved.checkpoint.optimizer.steps == 1
    free(store)
    store.append(session, many, checkpoint(0.25, 2))
    saved = store.load(session, ENGINE.layout)
    assert len(saved.records) == 20_001 and saved.checkpoint.optimizer.steps == 2


def test_a_checkpoint_that_does_not_fit_takes_its_records_back(store):
    session = begun(store)
    fill(store)
    big = TinyEngine().layout
    big = replace(big, shapes=(("head.lora_A", (1, 400_000)),))
    vector = np.ones(big.size, dtype=np.float32)
    with pytest.raises(StoreError):
        tall = Checkpoint(Adapter(big, vector), OptimizerState(1, vector, vector))
        store.append(session, [Waited(15)], tall)
    assert store.load(session, ENGINE.layout).records == ()


def test_an_error_of_ours_leaves_no_transaction_open(store):
    session = begun(store)
    broken = Checkpoint(checkpoint(0, 1).adapter, OptimizerState(1, None, None))
    with pytest.raises(AttributeError):
        store.append(session, [Waited(15)], broken)
    store.append(session, [Waited(30)], None)
    assert store.load(session, ENGINE.layout).records == (Waited(30),)


def test_a_record_for_no_session_is_refused(store):
    with pytest.raises(StoreError):
        store.append("zebra", [Waited(15)], None)
    assert store.load("zebra", ENGINE.layout) is None


def test_another_format_is_refused_with_a_remedy(tmp_path):
    Store(tmp_path).close()
    with sqlite3.connect(tmp_path / "sessions.sqlite3") as database:
        database.execute("PRAGMA user_version=2")
    database.close()
    with pytest.raises(StoreError, match=r"has format 2, this app writes 1; choose.*--data-dir"):
        Store(tmp_path)


def test_a_folder_that_cannot_be_is_refused_with_a_remedy(tmp_path):
    (tmp_path / "file").write_text("I am no folder")
    for folder in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(StoreError, match="cannot open .*sessions.sqlite3.*--data-dir"):
            Store(folder)


def test_a_file_that_is_no_database_is_refused(tmp_path):
    (tmp_path / "sessions.sqlite3").write_bytes(b"my holiday pictures " * 500)
    with pytest.raises(StoreError, match="not a database"):
        Store(tmp_path)
    assert (tmp_path / "sessions.sqlite3").read_bytes().startswith(b"my holiday")


def test_a_damaged_database_is_an_error_that_can_be_shown(store):
    session = begun(store)
    store._connection.execute("DROP TABLE checkpoints")
    with pytest.raises(StoreError, match="cannot read"):
        store.load(session, ENGINE.layout)


def test_two_stores_on_one_file_see_each_other(tmp_path):
    one, two = Store(tmp_path), Store(tmp_path)
    session = begun(one)
    two.append(session, [Waited(15)], checkpoint(0.5, 1))
    one.append(session, [Waited(30)], None)
    for store in (one, two):
        saved = store.load(session, ENGINE.layout)
        assert saved.records == (Waited(15), Waited(30)) and saved.checkpoint is not None
        store.close()


def test_many_threads_on_two_stores_lose_nothing(tmp_path):
    stores = [Store(tmp_path), Store(tmp_path)]
    ids = [begun(stores[0]) for _ in range(4)]

    def write(number: int) -> None:
        for n in range(25):
            stores[number % 2].append(ids[number], [Waited(n)], checkpoint(n, n))

    threads = [threading.Thread(target=write, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for session in ids:
        saved = stores[1].load(session, ENGINE.layout)
        assert saved.records == tuple(Waited(n) for n in range(25))
        assert saved.checkpoint.optimizer.steps == 24
    for store in stores:
        store.close()


def test_a_checkpoint_of_another_model_is_refused(store):
    session = begun(store)
    store.append(session, [], checkpoint(0.5, 1))
    other = replace(ENGINE.layout, shapes=(("head.lora_A", (1, 8)),))
    with pytest.raises(RuntimeError, match="wrong model"):
        store.load(session, other)


def test_what_is_acknowledged_is_committed_on_disk(store, tmp_path):
    assert store._connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    assert store._connection.execute("PRAGMA synchronous").fetchone() == (2,)  # FULL
    session = begun(store)
    store.append(session, [Waited(15)], None)
    other = sqlite3.connect(tmp_path / "data" / "sessions.sqlite3")
    assert other.execute("SELECT COUNT(*) FROM records").fetchone() == (1,)
    other.close()


def test_records_read_back_are_the_lines_that_a_trace_file_has(store):
    session = begun(store)
    store.append(session, [Waited(15)], None)
    (line,) = store._connection.execute("SELECT json FROM records").fetchone()
    assert line == '{"clock":15,"kind":"waited"}'
    assert timeless(store.load(session, ENGINE.layout).records) == timeless([Waited(15)])
