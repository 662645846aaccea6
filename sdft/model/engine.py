"""What an engine is: one model, scored with or without an adapter, and one update step.

The adapter is a value. Engines take it as an argument and return a new one; ``adapter=None`` is
the base model, which is the teacher. Nothing here imports torch or ONNX Runtime, so sessions,
stores and tests handle adapters as plain NumPy vectors.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Protocol

import numpy as np

from sdft.model.prompts import Prompt

MAX_PROMPT_TOKENS = 768  # PROTOCOL.md section 3


class EngineError(RuntimeError):
    """The model cannot do what was asked; the message says why and what to change."""


class PromptTooLong(EngineError, ValueError):
    """A prompt exceeds 768 tokens; it is refused, never cut."""


@dataclass(frozen=True)
class AdapterLayout:
    """Names and shapes of the LoRA tensors, in the order in which they lie in a flat vector."""

    shapes: tuple[tuple[str, tuple[int, int]], ...]
    rank: int
    alpha: int

    @property
    def size(self) -> int:
        """Number of trainable parameters."""
        return sum(rows * columns for _, (rows, columns) in self.shapes)

    def split(self, vector) -> dict:
        """Views of a flat vector (NumPy or torch) as {name: tensor}; gradients flow through."""
        views, start = {}, 0
        for name, (rows, columns) in self.shapes:
            stop = start + rows * columns
            views[name] = vector[start:stop].reshape(rows, columns)
            start = stop
        return views


def _frozen(array: np.ndarray, size: int, what: str) -> np.ndarray:
    array = np.ascontiguousarray(array, dtype=np.float32)
    if array.shape != (size,):
        raise EngineError(f"{what}: expected {size} numbers, got shape {array.shape}; wrong model?")
    array.flags.writeable = False
    return array


@dataclass(frozen=True)
class Adapter:
    """LoRA weights as an immutable flat float32 vector (153,600 numbers for SmolLM2-135M)."""

    layout: AdapterLayout
    vector: np.ndarray

    def __post_init__(self) -> None:
        object.__setattr__(self, "vector", _frozen(self.vector, self.layout.size, "adapter"))

    def distance(self, other: Adapter) -> float:
        """Euclidean distance between two adapters."""
        return float(np.linalg.norm(self.vector.astype(np.float64) - other.vector))

    @cached_property
    def digest(self) -> str:
        """Short fingerprint of the exact weights."""
        return hashlib.sha256(self.vector.tobytes()).hexdigest()[:16]


@dataclass(frozen=True)
class OptimizerState:
    """AdamW's memory: steps taken, and both moments as flat float32 vectors."""

    steps: int
    first_moment: np.ndarray
    second_moment: np.ndarray

    @classmethod
    def fresh(cls, layout: AdapterLayout) -> OptimizerState:
        """The state before any step."""
        zeros = np.zeros(layout.size, dtype=np.float32)
        return cls(0, zeros, zeros.copy())


@dataclass(frozen=True)
class StepSettings:
    """How one update step is taken (AdamW, weight decay 0; PROTOCOL.md section 6)."""

    learning_rate: float = 1e-3
    betas: tuple[float, float] = (0.9, 0.999)
    clip_norm: float = 1.0
    entropy_bonus: float = 0.0


@dataclass(frozen=True)
class Row:
    """One training row: a student prompt and what to say to it.

    ``target`` has three numbers in route order: a distribution for soft cross-entropy. (REINFORCE
    puts its reward at the action taken, so the numbers need not sum to 1.)
    """

    prompt: Prompt
    target: tuple[float, float, float]


@dataclass(frozen=True)
class StepResult:
    """What an update step returns: new values, and what to show of it."""

    adapter: Adapter
    optimizer: OptimizerState
    loss: float
    gradient_norm: float  # before clipping
    logits: np.ndarray  # [rows, 3], before the step


@dataclass(frozen=True)
class ModelInfo:
    """Which model this is and where it came from, for headers, `doctor` and the screen."""

    name: str
    source: str
    precision: str
    parameters: int
    adapter_parameters: int
    details: Mapping[str, str] = field(default_factory=dict)


class Engine(Protocol):
    """One physical small language model."""

    info: ModelInfo
    layout: AdapterLayout

    def new_adapter(self, seed: int) -> Adapter:
        """A fresh adapter (B = 0, so it changes nothing yet); ``seed`` fixes its random half."""
        ...

    def count_tokens(self, prompt: Prompt) -> int:
        """Length of a prompt in tokens. Raises PromptTooLong beyond 768."""
        ...

    def logits(self, prompts: Sequence[Prompt], adapter: Adapter | None) -> np.ndarray:
        """Logits of the route codes, float64 [prompts, 3]; ``adapter=None`` is the teacher."""
        ...

    def train_step(
        self,
        rows: Sequence[Row],
        adapter: Adapter,
        optimizer: OptimizerState,
        settings: StepSettings,
    ) -> StepResult:
        """One AdamW step on the mean loss of the rows; returns new values, changes nothing."""
        ...
