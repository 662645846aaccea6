"""kill -9 at random moments: nothing acknowledged is lost, and the session goes on as if nothing
had happened: the final trace is, apart from timings, the one of a process that was never killed."""

from __future__ import annotations

import random
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

from sdft.model.torch_engine import load_engine
from sdft.store import Store
from sdft.trace import Reacted, to_json, without_seconds

PLAYER = Path(__file__).with_name("killed_player.py")
ROOT = PLAYER.parents[1]
KILLS = 22


def start(model: Path, folder: Path, session: str, events: int) -> subprocess.Popen:
    command = [sys.executable, str(PLAYER), str(model), str(folder), session, str(events)]
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, cwd=ROOT, env=_environment()
    )


def _environment() -> dict[str, str]:
    import os

    return {**os.environ, "PYTHONPATH": str(ROOT)}


def play_until(process: subprocess.Popen, acknowledgements: int) -> tuple[list[tuple], str, bool]:
    """(acknowledged gestures, session id, finished) after so many lines, or at the end."""
    told, session = [], ""
    while len(told) < acknowledgements:
        line = process.stdout.readline()
        if line.startswith("session"):
            session = line.split()[1]
        elif line.startswith("acknowledged"):
            told.append(tuple(line.split()[1:]))
        elif line.startswith("finished"):
            return told, session, True
        else:
            pytest.fail(f"the player died by itself: {line!r}")
    return told, session, False


def gestures(lines: list[str]) -> list[tuple[str, str]]:
    pattern = r'"notification_id":"([^"]+)","outcome":"([^"]+)".*"kind":"reacted"'
    return [match.groups() for line in lines if (match := re.search(pattern, line))]


def trace_lines(folder: Path, session: str, layout) -> list[str]:
    saved = Store(folder).load(session, layout)
    assert any(isinstance(record, Reacted) for record in saved.records)
    return [to_json(record) for record in saved.records]


def play_on(model: Path, folder: Path, session: str, events: int) -> str:
    """Play to the end without being killed; returns the session id."""
    process = start(model, folder, session, events)
    _, session, finished = play_until(process, events + 1)
    assert finished and process.wait(60) == 0
    return session


def killed_session(model: Path, folder: Path, events: int, kills: int) -> tuple[str, list[tuple]]:
    """Play with ``kills`` violent ends; returns the session id and everything acknowledged."""
    chance = random.Random(1)
    acknowledged: list[tuple] = []
    session = "new"
    for _ in range(kills):
        process = start(model, folder, session, events)
        told, session, finished = play_until(process, chance.randint(1, 4))
        assert not finished
        acknowledged += told
        time.sleep(chance.uniform(0, 0.08))  # anywhere in a decision, a lesson or a commit
        process.kill()
        rest = process.communicate()[0]
        acknowledged += [
            tuple(x.split()[1:])
            for x in rest.splitlines(keepends=True)
            if x.startswith("acknowledged") and x.endswith("\n")
        ]
    return session, acknowledged


def check(model: Path, tmp_path: Path, layout, events: int, kills: int) -> None:
    session, acknowledged = killed_session(model, tmp_path / "killed", events, kills)
    kept = gestures(trace_lines(tmp_path / "killed", session, layout))
    assert [g for g in acknowledged if g not in kept] == []
    assert len(kept) == len(set(kept))  # and nothing twice
    play_on(model, tmp_path / "killed", session, events)
    calm = play_on(model, tmp_path / "calm", "new", events)
    broken_trace = trace_lines(tmp_path / "killed", session, layout)
    calm_trace = trace_lines(tmp_path / "calm", calm, layout)
    assert list(map(without_seconds, broken_trace)) == list(map(without_seconds, calm_trace))


def test_killed_at_random_moments(tiny_folder, tmp_path):
    layout = load_engine(str(tiny_folder)).layout
    check(tiny_folder, tmp_path, layout, events=120, kills=KILLS)


def test_killed_on_the_real_model(embedded_folder, engine, tmp_path):
    check(embedded_folder, tmp_path, engine.layout, events=12, kills=3)
