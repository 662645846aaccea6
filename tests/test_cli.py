"""The command line, as a person would call it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from sdft.__main__ import main
from sdft.trace import read_trace, without_seconds

ROOT = Path(__file__).resolve().parents[1]
DEMO = str(ROOT / "sample_streams" / "five_minute_demo.jsonl")


def call(capsys, *arguments: str) -> tuple[int, str, str]:
    code = main(arguments)
    printed = capsys.readouterr()
    return code, printed.out, printed.err


@pytest.fixture
def run(tiny_folder, capsys):
    def runner(*arguments: str) -> dict:
        command = ("run", "--model", str(tiny_folder), "--threads", "1", "--json", *arguments)
        code, out, err = call(capsys, *command)
        assert code == 0, err
        (line,) = out.splitlines()
        return json.loads(line)

    return runner


def test_run_prints_one_line_and_replay_agrees(run, capsys, tmp_path):
    trace = tmp_path / "trace.jsonl"
    found = run("--stream", DEMO, "--seed", "5", "--trace", str(trace))
    assert found["decisions"] == 36 and found["lessons"] > 0 and found["seconds"] > 0
    assert 0 <= found["accuracy"] <= 1 and found["cumulative_regret"] >= 0
    assert set(found) >= {"reward_per_decision", "pending", "accuracy_by_regime"}
    code, out, _ = call(capsys, "replay", str(trace), "--json")
    again = json.loads(out)
    assert code == 0
    assert {k: v for k, v in again.items() if k != "seconds"} == {
        k: v for k, v in found.items() if k != "seconds"
    }


def test_the_same_call_gives_the_same_trace(run, tmp_path):
    def lines(name: str, *more: str) -> list[str]:
        path = tmp_path / name
        run("--persona", "parent", "--events", "24", "--seed", "3", "--trace", str(path), *more)
        return [without_seconds(line) for line in path.read_text().splitlines()]

    assert lines("one") == lines("two")
    assert lines("one") != lines("three", "--set", "update.steps=1")


def test_a_taste_may_change_on_the_way(run, tmp_path):
    trace = tmp_path / "change.jsonl"
    run("--persona", "parent", "--events", "6", "--change", "4:exam_student", "--trace", str(trace))
    assert read_trace(trace).header.changes == ((4, "exam_student"),)


def test_the_frozen_model_never_learns(run, tmp_path):
    trace = tmp_path / "base.jsonl"
    found = run("--events", "20", "--method", "base", "--trace", str(trace))
    assert found["lessons"] == found["updates"] == 0
    assert read_trace(trace).header.method == "base"


def test_doctor_decides_and_learns(tiny_folder, capsys):
    code, out, _ = call(capsys, "doctor", "--model", str(tiny_folder), "--json")
    found = json.loads(out)
    assert code == 0 and found["ok"] and found["lessons"] >= 1
    assert found["source"] == str(tiny_folder) and "torch" in found["versions"]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("run", "--stream", "missing.jsonl"), "missing.jsonl"),
        (("run", "--preset", "secret"), "preset is 'secret'; use one of default"),
        (("run", "--set", "update.stepz=2"), "'update.stepz=2' names no setting"),
        (("run", "--set", "update.steps=-1"), "steps is -1; use a whole number from 0"),
        (("run", "--set", "behavior.epsilon=2"), "epsilon is 2"),
        (("run", "--change", "soon"), "--change is 'soon'; write for example 121:parent"),
        (("run", "--events", "9", "--change", "10:parent"), "the event must be a whole number"),
        (("run", "--stream", DEMO, "--change", "5:parent"), "--change is for generated streams"),
        (("run", "--events", "0"), "events must be a whole number from 1"),
        (("replay", "missing.jsonl"), "missing.jsonl"),
        (("replay", DEMO), "five_minute_demo.jsonl, line 1"),
        (("run", "--model", "no/such-model", "--events", "1"), "no/such-model"),
    ],
)
def test_bad_input_gets_a_sentence(capsys, monkeypatch, arguments, sentence):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    code, out, err = call(capsys, *arguments)
    assert code == 2 and out == ""
    assert sentence in err and "Traceback" not in err


def test_as_a_module():
    done = subprocess.run(
        [sys.executable, "-m", "sdft", "--help"], cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 0 and "doctor" in done.stdout


def test_core_imports_neither_gradio_nor_torch():
    code = (
        "import sys, sdft.session, sdft.host, sdft.store, sdft.metrics, sdft.starts, sdft.__main__;"
        "print([m for m in ('gradio', 'torch', 'onnxruntime', 'plotly') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert done.stdout.strip() == "[]", done.stderr
