"""The torch engine: PEFT LoRA, frozen trunk cached, shared prefix computed once.

The layers below the first adapted one (the trunk) never change, so their output for a prompt is
computed once and kept. All student prompts begin with the same tokens, and so do all teacher
prompts: that prefix goes through each layer once per batch and every row attends to it. Rows are
padded on the right; with causal attention (and causal convolutions) nothing real ever sees the
padding. Only the last real position is scored, and only the three rows of the head that belong to
the route codes.

The adapter is passed in as a flat vector and mapped onto PEFT's LoRA modules by
``torch.func.functional_call``; the teacher is the zero vector, and LoRA with B = 0 adds exactly 0.
"""

from __future__ import annotations

import math
import warnings
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch
from peft import LoraConfig, get_peft_model
from torch import nn
from transformers import AutoModelForCausalLM, AutoTokenizer
from transformers.utils.logging import disable_progress_bar

from sdft.learning.losses import soft_cross_entropy
from sdft.model.catalog import (
    EMBEDDED,
    PUBLISHED,
    PUBLISHED_REVISION,
    AdapterPlacement,
    ModelUnavailable,
    Progress,
    locate,
    placement_for,
)
from sdft.model.engine import (
    Adapter,
    AdapterLayout,
    ModelInfo,
    OptimizerState,
    Row,
    StepResult,
    StepSettings,
)
from sdft.model.prompts import Prompt
from sdft.model.tokens import PromptEncoder

_TRUNK_CACHE_BYTES = 512 * 1024**2
_KEPT_PREFIXES = 128  # adapter versions whose prefix keys are kept, about 1 MB each


def _silent(fraction: float, text: str) -> None:
    pass


def load_engine(model: str = EMBEDDED, progress: Progress = _silent) -> TorchEngine:
    """Load a model by name: the embedded one, a local folder or a hub id.

    Raises:
        ModelUnavailable: the weights cannot be had here.
        EngineError: the model's shape or tokenizer does not fit.
    """
    source = locate(model, progress)
    progress(0.99, f"Loading {model}")
    disable_progress_bar()  # transformers' own; ours says the same for screen and terminal
    revision = PUBLISHED_REVISION if model == PUBLISHED else None
    try:
        tokenizer = AutoTokenizer.from_pretrained(source, revision=revision)
        network = AutoModelForCausalLM.from_pretrained(
            source, revision=revision, dtype=torch.float32
        )
    except (OSError, ValueError) as error:
        raise ModelUnavailable(
            f"Model {model!r} could not be loaded: {str(error).splitlines()[0]} Use a folder with "
            f"config.json, weights and tokenizer, a hub id you can reach, or {EMBEDDED}."
        ) from error
    name = model if not Path(model).is_dir() else Path(model).name
    progress(1.0, f"{name} is ready")
    return TorchEngine(network, tokenizer, name=name, source=str(source))


class _PrefixKeys:
    """Keys and values of the shared prefix, in the shape of the cache that layers call.

    While ``recording`` the prefix (batch 1) is stored; afterwards each row of a batch attends to it
    in front of its own keys.
    """

    def __init__(self) -> None:
        self._stored: dict[int, tuple[torch.Tensor, torch.Tensor]] = {}
        self.recording = True

    def update(self, keys, values, layer, *args, **kwargs):
        if self.recording:
            self._stored[layer] = (keys, values)
            return keys, values
        rows = keys.shape[0]
        before_keys, before_values = (t.expand(rows, -1, -1, -1) for t in self._stored[layer])
        return torch.cat((before_keys, keys), dim=2), torch.cat((before_values, values), dim=2)


@dataclass
class _Prefix:
    """A common prompt start: its tokens, its trunk output [1, P, hidden], its trunk keys."""

    ids: tuple[int, ...]
    hidden: torch.Tensor | None
    keys: _PrefixKeys | None

    @property
    def length(self) -> int:
        return len(self.ids)


class _Layers(nn.Module):
    """A run of decoder layers, so that ``functional_call`` can swap their LoRA weights."""

    def __init__(self, layers: Sequence[nn.Module], rotary: nn.Module) -> None:
        super().__init__()
        self.layers = nn.ModuleList(layers)
        self.rotary = rotary

    def run(self, hidden, start: int, keys: _PrefixKeys | None):
        length = hidden.shape[1]
        positions = torch.arange(start, start + length).unsqueeze(0)
        mask = _causal_mask(length, start) if start else None
        for layer in self.layers:
            hidden = layer(
                hidden,
                attention_mask=mask if getattr(layer, "is_attention_layer", True) else None,
                position_embeddings=self.rotary(hidden, positions),
                position_ids=positions,
                cache=keys,
            )
        return hidden

    def forward(self, prefix: torch.Tensor | None, hidden: torch.Tensor, keys: _PrefixKeys):
        """[rows, S, hidden] after these layers, each row preceded by the shared prefix, whose keys
        are computed here unless ``keys`` has them from an earlier pass with the same weights."""
        if prefix is None:
            return self.run(hidden, 0, None)
        if keys.recording:
            self.run(prefix, 0, keys)
            keys.recording = False
        return self.run(hidden, prefix.shape[1], keys)


def _causal_mask(length: int, before: int) -> torch.Tensor:
    """[1, 1, length, before + length], True where attention is allowed."""
    return torch.ones(length, before + length, dtype=torch.bool).tril(before)[None, None]


class TorchEngine:
    """One model on the CPU, float32. Not thread-safe: one thread owns it."""

    def __init__(self, network, tokenizer, *, name: str, source: str) -> None:
        self.encoder = PromptEncoder(tokenizer)
        self.placement = placement_for(network.config)
        parameters = sum(p.numel() for p in network.parameters())
        self._shares_prefix = network.config.model_type == "llama"
        self.peft_config = _lora_config(self.placement, network.config.model_type)
        with warnings.catch_warnings():  # PEFT 0.21 still asks transformers by a deprecated name
            warnings.simplefilter("ignore", FutureWarning)
            adapted = get_peft_model(network, self.peft_config)
        adapted.eval().requires_grad_(False)
        self.layout = _layout(adapted, self.placement)
        self._build(network.model, network.lm_head)
        self._trunk: OrderedDict[tuple[int, ...], torch.Tensor] = OrderedDict()
        self._trunk_bytes = 0
        self._kept_keys: OrderedDict[tuple, _PrefixKeys] = OrderedDict()
        self._prefixes: dict[tuple[int, ...], _Prefix] = {}
        self.info = ModelInfo(
            name=name,
            source=source,
            precision="float32",
            parameters=parameters,
            adapter_parameters=self.layout.size,
            details={"torch": torch.__version__, "threads": str(torch.get_num_threads())},
        )

    def _build(self, body: nn.Module, head: nn.Module) -> None:
        first = self.placement.layers[0]
        self._embed = body.embed_tokens
        self._lower = _Layers(body.layers[:first], body.rotary_emb)
        self._upper = _Layers(body.layers[first:], body.rotary_emb)
        self._norm = getattr(body, "norm", None) or body.embedding_norm
        self._codes = head.weight[list(self.encoder.code_tokens)].detach().clone()
        names = {id(p): n for n, p in self._upper.named_parameters()}
        slots = [p for n, p in body.named_parameters() if ".lora_" in n]
        self._slots = dict(zip((n for n, _ in self.layout.shapes), slots, strict=True))
        self._slots = {n: names[id(p)] for n, p in self._slots.items()}

    def new_adapter(self, seed: int) -> Adapter:
        """PEFT's initialisation, from a generator of its own: A uniform (Kaiming), B zero."""
        generator = torch.Generator().manual_seed(seed)
        vector = torch.zeros(self.layout.size)
        for name, view in self.layout.split(vector).items():
            if "lora_A" in name:
                nn.init.kaiming_uniform_(view, a=math.sqrt(5), generator=generator)
        return Adapter(self.layout, vector.numpy())

    def count_tokens(self, prompt: Prompt) -> int:
        """Length of a prompt in tokens; raises PromptTooLong beyond 768."""
        return len(self.encoder.encode(prompt).ids)

    @torch.no_grad()
    def logits(self, prompts: Sequence[Prompt], adapter: Adapter | None) -> np.ndarray:
        """Logits of the three route codes, float64 [prompts, 3]."""
        vector = torch.zeros(self.layout.size)
        if adapter is not None:
            vector = torch.from_numpy(adapter.vector.copy())
        weights = adapter.digest if adapter is not None else "base"
        return self._score(prompts, vector, weights).double().numpy()

    def train_step(
        self,
        rows: Sequence[Row],
        adapter: Adapter,
        optimizer: OptimizerState,
        settings: StepSettings,
    ) -> StepResult:
        """One AdamW step; the loss and its gradient in the logits come from losses.py."""
        vector = nn.Parameter(torch.from_numpy(adapter.vector.copy()))
        scores = self._score([row.prompt for row in rows], vector)
        logits = scores.detach().double().numpy()
        targets = np.array([row.target for row in rows])
        loss, gradient = soft_cross_entropy(logits, targets, settings.entropy_bonus)
        scores.backward(torch.from_numpy(gradient).to(scores.dtype))
        norm = float(nn.utils.clip_grad_norm_([vector], settings.clip_norm))
        after = _adamw(vector, optimizer, settings)
        moved = replace(adapter, vector=vector.detach().numpy())
        return StepResult(moved, after, loss, norm, logits)

    def _score(
        self, prompts: Sequence[Prompt], vector: torch.Tensor, weights_id: str | None = None
    ) -> torch.Tensor:
        """Route logits [prompts, 3] under an adapter vector, differentiable in it.

        ``weights_id`` names the vector's value where no gradient is wanted: the adapted layers'
        keys of the shared prefix are then kept for the next pass with the same weights.
        """
        encoded = [self.encoder.encode(prompt) for prompt in prompts]
        shared = {e.ids[: e.prefix] for e in encoded} if self._shares_prefix else {()}
        if len(shared) > 1:  # student and teacher prompts never meet in one batch
            raise ValueError("prompts of one batch must begin with the same system message")
        prefix = self._prefix(shared.pop())
        keys = self._upper_keys(prefix, weights_id)
        suffixes = [self._trunk_output(e.ids, prefix) for e in encoded]
        hidden = nn.utils.rnn.pad_sequence(suffixes, batch_first=True)
        weights = {self._slots[n]: view for n, view in self.layout.split(vector).items()}
        hidden = torch.func.functional_call(self._upper, weights, (prefix.hidden, hidden, keys))
        last = torch.tensor([len(s) - 1 for s in suffixes])
        final = self._norm(hidden[torch.arange(len(suffixes)), last])
        return final @ self._codes.T

    def _upper_keys(self, prefix: _Prefix, weights_id: str | None) -> _PrefixKeys:
        if weights_id is None:
            return _PrefixKeys()
        keys = self._kept_keys.setdefault((prefix.ids, weights_id), _PrefixKeys())
        self._kept_keys.move_to_end((prefix.ids, weights_id))
        if len(self._kept_keys) > _KEPT_PREFIXES:
            self._kept_keys.popitem(last=False)
        return keys

    @torch.no_grad()
    def _prefix(self, ids: tuple[int, ...]) -> _Prefix:
        if ids not in self._prefixes:
            if not ids:
                return _Prefix((), None, None)
            keys = _PrefixKeys()
            hidden = self._lower.run(self._embed(torch.tensor([ids])), 0, keys)
            keys.recording = False
            self._prefixes[ids] = _Prefix(ids, hidden, keys)
        return self._prefixes[ids]

    @torch.no_grad()
    def _trunk_output(self, ids: tuple[int, ...], prefix: _Prefix) -> torch.Tensor:
        """[tokens after the prefix, hidden] below the first adapted layer, computed once."""
        known = self._trunk.get(ids)
        if known is None:
            tokens = torch.tensor([ids[prefix.length :]])
            known = self._lower.run(self._embed(tokens), prefix.length, prefix.keys)[0]
            self._trunk[ids] = known
            self._trunk_bytes += known.nbytes
            while self._trunk_bytes > _TRUNK_CACHE_BYTES:
                self._trunk_bytes -= self._trunk.popitem(last=False)[1].nbytes
        self._trunk.move_to_end(ids)
        return known


def _lora_config(placement: AdapterPlacement, model_type: str) -> LoraConfig:
    layers = "|".join(map(str, placement.layers))
    modules = "|".join(placement.modules)
    return LoraConfig(
        r=placement.rank,
        lora_alpha=placement.alpha,
        lora_dropout=0.0,
        target_modules=rf".*layers\.({layers})\.self_attn\.({modules})",
        task_type="CAUSAL_LM",
    )


def _layout(adapted, placement: AdapterPlacement) -> AdapterLayout:
    """PEFT's own names (as in adapter_model.safetensors) and shapes, in module order."""
    shapes = tuple(
        (name.replace(".default.", "."), tuple(parameter.shape))
        for name, parameter in adapted.named_parameters()
        if ".lora_" in name
    )
    return AdapterLayout(shapes, placement.rank, placement.alpha)


def _adamw(vector: nn.Parameter, state: OptimizerState, settings: StepSettings) -> OptimizerState:
    """Step ``vector`` in place with torch's AdamW, its memory given and returned as a value."""
    optimizer = torch.optim.AdamW(
        [vector], lr=settings.learning_rate, betas=settings.betas, weight_decay=0.0
    )
    optimizer.state[vector] = {
        "step": torch.tensor(float(state.steps)),
        "exp_avg": torch.from_numpy(state.first_moment.copy()),
        "exp_avg_sq": torch.from_numpy(state.second_moment.copy()),
    }
    optimizer.step()
    memory = optimizer.state[vector]
    return OptimizerState(state.steps + 1, memory["exp_avg"].numpy(), memory["exp_avg_sq"].numpy())
