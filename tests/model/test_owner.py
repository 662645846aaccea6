"""One thread owns the model: decisions first, then teachers, then updates."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from sdft.model.engine import EngineError, OptimizerState, Row, StepSettings
from sdft.model.owner import ModelOwner
from sdft.model.prompts import student_prompt
from tests.fakes import TinyEngine, small_stream

PROMPT = student_prompt(small_stream(1)[0].seen)


class Recording(TinyEngine):
    """Notes the order in which calls reach the model, and the thread they come on."""

    def __init__(self) -> None:
        super().__init__()
        self.calls, self.threads = [], set()
        self.entered, self.go_on = threading.Event(), threading.Event()

    def logits(self, prompts, adapter):
        self._note("teacher" if adapter is None else "decision")
        return super().logits(prompts, adapter)

    def train_step(self, rows, adapter, optimizer, settings):
        self._note("update")
        return super().train_step(rows, adapter, optimizer, settings)

    def _note(self, what: str) -> None:
        self.calls.append(what)
        self.threads.add(threading.get_ident())
        if len(self.calls) == 1:
            self.entered.set()
            assert self.go_on.wait(20)


def test_order_of_kinds_and_a_single_thread():
    engine = Recording()
    owner = ModelOwner(lambda progress: engine)
    owner.wait_until_ready(20)
    adapter = owner.new_adapter(0)
    state = OptimizerState.fresh(owner.layout)
    rows = [Row(PROMPT, (1.0, 0.0, 0.0))]
    with ThreadPoolExecutor(8) as people:
        people.submit(owner.logits, [PROMPT], None)
        assert engine.entered.wait(20)  # the model is busy; now others queue up behind it
        update = people.submit(owner.train_step, rows, adapter, state, StepSettings())
        _until_queued(owner, 1)
        teacher = people.submit(owner.logits, [PROMPT], None)
        _until_queued(owner, 2)
        decision = people.submit(owner.logits, [PROMPT], adapter)
        _until_queued(owner, 3)
        engine.go_on.set()
        for waiting in (update, teacher, decision):
            waiting.result(20)
    assert engine.calls == ["teacher", "decision", "teacher", "update"]
    assert len(engine.threads) == 1
    owner.close()


def _until_queued(owner: ModelOwner, count: int) -> None:
    wake = threading.Event()
    while owner._jobs.qsize() < count:
        wake.wait(0.005)


def test_errors_reach_their_caller_and_the_model_goes_on():
    owner = ModelOwner(lambda progress: TinyEngine())
    owner.wait_until_ready(20)
    with pytest.raises(AttributeError):
        owner.logits(["no prompt"], None)
    assert owner.logits([PROMPT], None).shape == (1, 3)
    owner.close()


@pytest.mark.parametrize("kind", [EngineError, OSError])
def test_a_model_that_cannot_be_loaded_says_why_to_everybody(kind):
    def load(progress):
        progress(0.5, "half way")
        raise kind("no weights here; do this and that")

    owner = ModelOwner(load)
    with pytest.raises(EngineError, match="do this and that"):
        owner.wait_until_ready(20)
    assert owner.status.kind == "failed"
    with pytest.raises(EngineError, match="do this and that"):
        owner.logits([PROMPT], None)
