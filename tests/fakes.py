"""A tiny engine that really learns, without torch, and small sessions to run on it.

Prompts become hashed bags of words, the base model is a fixed linear map, and the adapter is one
more linear map on the same features, trained by the exact gradient of the loss with Adam. A whole
stream takes milliseconds.
"""

from __future__ import annotations

import threading
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from sdft.autopilot import play
from sdft.learning.losses import soft_cross_entropy
from sdft.model.engine import (
    MAX_PROMPT_TOKENS,
    Adapter,
    AdapterLayout,
    ModelInfo,
    OptimizerState,
    PromptTooLong,
    Row,
    StepResult,
    StepSettings,
)
from sdft.model.prompts import Prompt
from sdft.session import Checkpoint, MemoryRecorder, Session, Start, header_for
from sdft.settings import Settings
from sdft.trace import Record, to_json, without_seconds
from sdft.world.notification import Hidden, Notification, Observation
from sdft.world.routes import Outcome, Route
from sdft.world.stream import StreamSpec, generate

FEATURES = 64
_HOLD_SECONDS = 20  # a test that forgets to open a gate fails instead of hanging

# The gesture by which an owner who likes a route best says so on a push.
LIKED = {
    Route.INTERRUPT: Outcome.OPENED_IMMEDIATELY,
    Route.LATER: Outcome.OPENED_AFTER_DELAY,
    Route.ARCHIVE: Outcome.DELETED_NOTIFICATION,
}


class TinyEngine:
    """An ``Engine`` in numpy.

    ``bias`` is added to all logits, ``leaning`` to those of prompts that contain a word; both make
    routes predictable. ``gate`` holds every train_step while it is cleared; ``before`` is called
    with the name of each call. ``prompts`` lists all that was scored or trained on, with whether
    the adapter was on.
    """

    def __init__(
        self,
        bias: Sequence[float] = (0.0, 0.0, 0.0),
        leaning: Mapping[str, Sequence[float]] | None = None,
        before: Callable[[str], None] | None = None,
        reach: float = 20.0,
    ) -> None:
        self.layout = AdapterLayout(
            (("head.lora_A", (1, FEATURES)), ("head.lora_B", (3, FEATURES))), rank=1, alpha=1
        )
        self.info = ModelInfo("tiny", "tests", "float64", 3 * FEATURES, self.layout.size)
        self.prompts: list[tuple[Prompt, bool]] = []
        self.gate = threading.Event()
        self.gate.set()
        self.holding = threading.Event()  # set when a train_step waits at the gate
        self._bias = np.array(bias, dtype=np.float64)
        self._leaning = dict(leaning or {})
        self._before = before or (lambda name: None)
        self._reach = reach  # how strongly the adapter acts on the logits
        self._base = np.random.default_rng(5).normal(0.0, 0.5, (3, FEATURES))

    def new_adapter(self, seed: int) -> Adapter:
        """A is random, B is zero."""
        half = np.random.default_rng(seed).uniform(-0.5, 0.5, FEATURES)
        return Adapter(self.layout, np.concatenate([half, np.zeros(3 * FEATURES)]))

    def count_tokens(self, prompt: Prompt) -> int:
        """A word is a token."""
        count = sum(len(message.content.split()) for message in prompt.messages)
        if count > MAX_PROMPT_TOKENS:
            raise PromptTooLong(f"{count} tokens, at most {MAX_PROMPT_TOKENS} fit; shorten it")
        return count

    def logits(self, prompts: Sequence[Prompt], adapter: Adapter | None) -> np.ndarray:
        """[prompts, 3]."""
        self._before("logits" if adapter else "teacher")
        self.prompts += [(prompt, adapter is not None) for prompt in prompts]
        vector = np.zeros(self.layout.size) if adapter is None else adapter.vector
        return self._score(prompts, np.asarray(vector, dtype=np.float64))[0]

    def train_step(
        self,
        rows: Sequence[Row],
        adapter: Adapter,
        optimizer: OptimizerState,
        settings: StepSettings,
    ) -> StepResult:
        """One step of Adam on the exact gradient."""
        self._before("train_step")
        if not self.gate.is_set():
            self.holding.set()
            assert self.gate.wait(_HOLD_SECONDS), "nobody opened the gate"
        self.prompts += [(row.prompt, True) for row in rows]
        vector = adapter.vector.astype(np.float64)
        logits, features = self._score([row.prompt for row in rows], vector)
        targets = np.array([row.target for row in rows])
        loss, slope = soft_cross_entropy(logits, targets, settings.entropy_bonus)
        gradient = self._backward(vector, features, slope)
        norm = float(np.linalg.norm(gradient))
        gradient *= min(1.0, settings.clip_norm / (norm + 1e-6))
        moved, after = _adam(vector, gradient, optimizer, settings)
        return StepResult(Adapter(self.layout, moved), after, loss, norm, logits)

    def _score(self, prompts: Sequence[Prompt], vector: np.ndarray):
        features = np.array([_features(prompt) for prompt in prompts])
        a, b = vector[:FEATURES], vector[FEATURES:].reshape(3, FEATURES)
        scored = features @ self._base.T + self._bias
        scored += self._reach * (features * (1.0 + a)) @ b.T
        for i, prompt in enumerate(prompts):
            for word in prompt.messages[-1].content.split():
                scored[i] += self._leaning.get(word, 0.0)
        return scored, features

    def _backward(self, vector: np.ndarray, features: np.ndarray, slope: np.ndarray) -> np.ndarray:
        a, b = vector[:FEATURES], vector[FEATURES:].reshape(3, FEATURES)
        for_b = self._reach * slope.T @ (features * (1.0 + a))
        for_a = self._reach * ((slope @ b) * features).sum(axis=0)
        return np.concatenate([for_a, for_b.ravel()])


def _features(prompt: Prompt) -> np.ndarray:
    counts = np.zeros(FEATURES)
    for word in prompt.messages[-1].content.lower().split():
        counts[zlib.crc32(word.encode("utf-8")) % FEATURES] += 1.0
    return counts / np.linalg.norm(counts)


def _adam(
    vector: np.ndarray, gradient: np.ndarray, state: OptimizerState, settings: StepSettings
) -> tuple[np.ndarray, OptimizerState]:
    one, two = settings.betas
    steps = state.steps + 1
    first = one * state.first_moment.astype(np.float64) + (1 - one) * gradient
    second = two * state.second_moment.astype(np.float64) + (1 - two) * gradient**2
    move = (first / (1 - one**steps)) / (np.sqrt(second / (1 - two**steps)) + 1e-8)
    kept = OptimizerState(steps, first.astype(np.float32), second.astype(np.float32))
    return vector - settings.learning_rate * move, kept


class Tape(MemoryRecorder):
    """Keeps every commit."""

    def __init__(self) -> None:
        self.commits: list[tuple[tuple[Record, ...], Checkpoint | None]] = []

    def append(self, records: Sequence[Record], checkpoint: Checkpoint | None) -> None:
        """Remember it."""
        self.commits.append((tuple(records), checkpoint))

    def checkpoint_after(self, count: int) -> Checkpoint | None:
        """The newest checkpoint that is durable when ``count`` records are."""
        newest, seen = None, 0
        for records, checkpoint in self.commits:
            seen += len(records)
            if seen > count:
                break
            newest = checkpoint or newest
        return newest


def card(
    number: int,
    title: str = "hello",
    body: str = "",
    preferred: Route | None = Route.INTERRUPT,
    category: str = "social",
    regime: str = "weekday",
) -> Notification:
    """A notification of one's own, with utilities 1 for the preferred route and 0 elsewhere."""
    seen = Observation(f"n{number}", "09:00", regime, category, 0.5, title, body)
    if preferred is None:
        return Notification(seen)
    utilities = tuple(float(route is preferred) for route in Route)
    return Notification(seen, Hidden(utilities, preferred))


def small_stream(events: int, seed: int = 100) -> tuple[Notification, ...]:
    """A generated stream with its simulated owner."""
    return tuple(generate(StreamSpec("published", seed, events)))


def start_on(
    stream: Sequence[Notification],
    settings: Settings | None = None,
    method: str = "online-sdft",
    seed: int = 7,
) -> Start:
    """What makes a session on ``stream``."""
    return Start(tuple(stream), "test", "published", seed, settings or Settings(), method)


def session_on(
    stream: Sequence[Notification],
    engine: TinyEngine | None = None,
    settings: Settings | None = None,
    method: str = "online-sdft",
    seed: int = 7,
    recorder=None,
) -> Session:
    """A new session on ``stream``."""
    engine = engine or TinyEngine()
    header = header_for(start_on(stream, settings, method, seed), engine, {})
    return Session(engine, stream, header, recorder or MemoryRecorder())


def greedy(settings: Settings | None = None, **update) -> Settings:
    """Settings under which the executed route is always the student's first."""
    settings = settings or Settings()
    behavior = replace(settings.behavior, explore=False)
    return replace(settings, behavior=behavior, update=replace(settings.update, **update))


def timeless(records: Sequence[Record]) -> list[str]:
    """Records as lines of JSON without their timing, for comparing two runs."""
    return [without_seconds(to_json(record)) for record in records]


def autopilot(session: Session, events: int | None = None) -> Session:
    """Let the simulated owner play, to the end or for so many cards."""
    play(session, events or len(session.stream), lambda done: True)
    return session
