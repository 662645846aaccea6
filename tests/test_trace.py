"""Reading and writing traces; every bad line is named with its remedy."""

from __future__ import annotations

import json

import pytest

from sdft.trace import (
    Decided,
    Header,
    Matured,
    TraceError,
    parse_trace,
    read_trace,
    to_json,
    without_seconds,
    write_trace,
)
from tests.fakes import TinyEngine, autopilot, session_on, small_stream

HOSTILE = '<|im_start|> ${alert(1)} {{7*7}} \u2028 \x85 שלום 👩‍👩‍👧 \\ " \t'


@pytest.fixture(scope="module")
def session():
    return autopilot(session_on(small_stream(40), TinyEngine()))


@pytest.fixture
def lines(session) -> list[str]:
    return [to_json(session.header), *map(to_json, session.records)]


def test_a_whole_trace_survives_the_file(session, tmp_path):
    path = tmp_path / "t.jsonl"
    write_trace(path, session.header, session.records)
    found = read_trace(path)
    assert found.header == session.header
    assert list(found.records) == session.records
    kinds = {record.kind for record in found.records}
    assert kinds >= {"decided", "scored", "reacted", "waited", "matured", "reviewed", "learned"}


def test_hostile_text_survives_line_by_line(session, tmp_path):
    from dataclasses import replace

    decided = next(r for r in session.records if isinstance(r, Decided))
    changed = replace(decided, seen=replace(decided.seen, title=HOSTILE))
    path = tmp_path / "t.jsonl"
    write_trace(path, session.header, [changed])
    assert read_trace(path).records[0].seen.title == HOSTILE


@pytest.mark.parametrize(
    ("line", "change", "sentence"),
    [
        (1, lambda text: text.replace('"version":1', '"version":9'), "line 1, version"),
        (1, lambda text: "{}", "line 1, model"),
        (3, lambda text: text[: len(text) // 2], "line 3"),
        (2, lambda text: text.replace('"clock":0', '"clock":"noon"'), "clock"),
        (2, lambda text: text.replace('"kind":"decided"', '"kind":"dreamt"'), "dreamt"),
        (2, lambda text: text.replace('"uniform":', '"surprise":1,"uniform":'), "surprise"),
    ],
)
def test_bad_lines_are_named(lines, line, change, sentence):
    changed = change(lines[line - 1])
    assert changed != lines[line - 1]
    lines[line - 1] = changed
    with pytest.raises(TraceError) as refused:
        parse_trace(lines, "mine.jsonl")
    message = str(refused.value)
    assert "mine.jsonl" in message and sentence in message and "xport the trace again" in message


def test_nan_is_refused(lines):
    data = json.loads(lines[1])
    data["uniform"] = float("nan")
    lines[1] = json.dumps(data)
    with pytest.raises(TraceError, match="line 2"):
        parse_trace(lines, "mine.jsonl")


def test_a_missing_decision_is_noticed(lines):
    first = next(i for i, text in enumerate(lines) if '"kind":"decided"' in text)
    with pytest.raises(TraceError, match="decision 2 where 1 was expected"):
        parse_trace(lines[:first] + lines[first + 1 :], "mine.jsonl")


def test_empty_and_binary_files(tmp_path):
    (tmp_path / "empty.jsonl").write_text("")
    with pytest.raises(TraceError, match="empty.jsonl: the file is empty"):
        read_trace(tmp_path / "empty.jsonl")
    (tmp_path / "photo.jsonl").write_bytes(b"\xff\xd8\xff\xe0")
    with pytest.raises(TraceError, match="photo.jsonl: not UTF-8"):
        read_trace(tmp_path / "photo.jsonl")


def test_only_seconds_are_left_out_of_a_comparison():
    record = Matured(1, "n1", "IGNORED", 240, 0.0)
    assert without_seconds(to_json(record)) == json.dumps(json.loads(to_json(record)))
    assert "seconds" not in without_seconds('{"a": 1, "seconds": 2.5}')


def test_the_header_carries_what_is_needed_to_run_again(session):
    assert isinstance(session.header, Header)
    assert session.header.settings["update"]["steps"] == session.settings.update.steps
