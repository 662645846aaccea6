"""One thread owns the model.

Sessions of many people share one physical model. Their calls queue here: decisions go before
teacher passes, these before updates, and within a kind first come, first served. Each caller waits
for its own result, so a session's requests stay in order; the adapters are values, so sessions
cannot touch each other's. The thread also loads the model, so that a screen can be up before it.
"""

from __future__ import annotations

import itertools
import queue
import threading
import traceback
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any

import numpy as np

from sdft.model.engine import (
    Adapter,
    AdapterLayout,
    Engine,
    EngineError,
    ModelInfo,
    OptimizerState,
    Row,
    StepResult,
    StepSettings,
)
from sdft.model.prompts import Prompt

_DECISION, _TEACHER, _UPDATE, _CLOSE = range(4)

Loader = Callable[[Callable[[float, str], None]], Engine]


@dataclass(frozen=True)
class ModelStatus:
    """Where loading stands: kind is loading, ready or failed."""

    kind: str
    text: str
    progress: float = 0.0  # in [0, 1]


class ModelOwner:
    """An engine that is owned by one thread; itself an ``Engine`` for any number of threads."""

    def __init__(self, load: Loader) -> None:
        """Start loading at once, in the background. ``load`` gets a progress callback."""
        self.status = ModelStatus("loading", "Starting", 0.0)
        self._engine: Engine | None = None
        self._settled = threading.Event()
        self._jobs: queue.PriorityQueue = queue.PriorityQueue()
        self._order = itertools.count()
        self._thread = threading.Thread(target=self._run, args=(load,), daemon=True, name="model")
        self._thread.start()

    def wait_until_ready(self, timeout: float | None = None) -> None:
        """Block until the model is loaded. Raises EngineError if it is not by then."""
        self._settled.wait(timeout)
        self._ready()

    def wait_for_news(self, seconds: float) -> None:
        """Block until loading has ended, but no longer than ``seconds``."""
        self._settled.wait(seconds)

    def close(self) -> None:
        """Finish the queued jobs, then stop the thread."""
        self._submit(_CLOSE, lambda: None).result()
        self._thread.join()

    @property
    def info(self) -> ModelInfo:
        """Which model this is."""
        return self._ready().info

    @property
    def layout(self) -> AdapterLayout:
        """The adapter's shape."""
        return self._ready().layout

    def new_adapter(self, seed: int) -> Adapter:
        """See Engine."""
        return self._submit(_DECISION, self._ready().new_adapter, seed).result()

    def count_tokens(self, prompt: Prompt) -> int:
        """See Engine."""
        return self._submit(_DECISION, self._ready().count_tokens, prompt).result()

    def logits(self, prompts: Sequence[Prompt], adapter: Adapter | None) -> np.ndarray:
        """See Engine. With an adapter it is a decision, without one a teacher pass."""
        priority = _TEACHER if adapter is None else _DECISION
        return self._submit(priority, self._ready().logits, prompts, adapter).result()

    def train_step(
        self,
        rows: Sequence[Row],
        adapter: Adapter,
        optimizer: OptimizerState,
        settings: StepSettings,
    ) -> StepResult:
        """See Engine."""
        step = self._ready().train_step
        return self._submit(_UPDATE, step, rows, adapter, optimizer, settings).result()

    def _ready(self) -> Engine:
        if self._engine is None:
            raise EngineError(self.status.text)
        return self._engine

    def _submit(self, priority: int, call: Callable, *arguments: Any) -> Future:
        future: Future = Future()
        self._jobs.put((priority, next(self._order), future, call, arguments))
        return future

    def _run(self, load: Loader) -> None:
        try:
            self._engine = load(self._report)
        except EngineError as error:
            self.status = ModelStatus("failed", str(error))
        except Exception as error:  # whatever it was, a screen that loads for ever is worse
            traceback.print_exc()
            self.status = ModelStatus("failed", f"The model could not be loaded: {error}")
        else:
            self.status = ModelStatus("ready", f"{self._engine.info.name} is ready", 1.0)
        self._settled.set()
        while True:
            priority, _, future, call, arguments = self._jobs.get()
            try:
                future.set_result(call(*arguments))
            except BaseException as error:  # handed to the caller, who raises it again
                future.set_exception(error)
            if priority == _CLOSE:
                return

    def _report(self, fraction: float, text: str) -> None:
        self.status = ModelStatus("loading", text, fraction)
