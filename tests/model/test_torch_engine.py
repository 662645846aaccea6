"""The torch engine against the plain model, and the invariants of learning."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM, AutoTokenizer, Lfm2Config, Lfm2ForCausalLM

from sdft.learning.losses import softmax
from sdft.model.engine import Adapter, EngineError, OptimizerState, Row, StepSettings
from sdft.model.prompts import hindsight_prompt, student_prompt
from sdft.model.torch_engine import TorchEngine, load_engine
from sdft.world.routes import Outcome, Route
from sdft.world.stream import StreamSpec, generate

STREAM = generate(StreamSpec("published", 100, 12))
PROMPTS = [student_prompt(item.seen) for item in STREAM]
TARGETS = [(0.9, 0.05, 0.05), (0.05, 0.9, 0.05), (0.05, 0.05, 0.9), (0.4, 0.6, 0.0)] * 3


def rows(count: int) -> list[Row]:
    return [Row(p, t) for p, t in zip(PROMPTS[:count], TARGETS[:count], strict=True)]


def moved_adapter(engine, scale: float = 0.06) -> Adapter:
    """An adapter whose both halves are set, so that it changes the logits."""
    noise = np.random.default_rng(0).normal(0, scale, engine.layout.size)
    return Adapter(engine.layout, noise.astype(np.float32))


class Plain:
    """The straightforward way: the whole PEFT model, one prompt at a time, all layers, in full."""

    def __init__(self, folder, engine) -> None:
        self.network = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
        self.engine = engine
        self.model = get_peft_model(self.network, engine.peft_config).eval()
        self.named = {
            n.replace(".default.", "."): p
            for n, p in self.model.named_parameters()
            if ".lora_" in n
        }

    def use(self, adapter: Adapter) -> None:
        with torch.no_grad():
            for name, values in self.engine.layout.split(adapter.vector).items():
                self.named[name].copy_(torch.from_numpy(values.copy()))

    def scores(self, prompt) -> torch.Tensor:
        ids = torch.tensor([self.engine.encoder.encode(prompt).ids])
        return self.model(input_ids=ids).logits[0, -1, list(self.engine.encoder.code_tokens)]

    def gradient(self, batch: list[Row]) -> np.ndarray:
        loss = 0.0
        for row in batch:
            log_p = torch.log_softmax(self.scores(row.prompt), dim=-1)
            loss = loss - (torch.tensor(row.target) * log_p).sum() / len(batch)
        parts = torch.autograd.grad(loss, [self.named[n] for n, _ in self.engine.layout.shapes])
        return torch.cat([part.flatten() for part in parts]).numpy()


def test_the_teacher_is_the_plain_model(engine, embedded_folder):
    plain = AutoModelForCausalLM.from_pretrained(embedded_folder, dtype=torch.float32).eval()
    for prompt in PROMPTS[:3]:
        ids = torch.tensor([engine.encoder.encode(prompt).ids])
        with torch.no_grad():
            expected = plain(input_ids=ids).logits[0, -1, list(engine.encoder.code_tokens)]
        np.testing.assert_allclose(engine.logits([prompt], None)[0], expected, atol=1e-4)


def test_scores_and_gradient_are_those_of_plain_peft(engine, embedded_folder):
    adapter = moved_adapter(engine)
    plain = Plain(embedded_folder, engine)
    plain.use(adapter)
    with torch.no_grad():
        expected = torch.stack([plain.scores(prompt) for prompt in PROMPTS[:4]])
    found = engine.logits(PROMPTS[:4], adapter)
    assert np.abs(found - engine.logits(PROMPTS[:4], None)).max() > 0.1  # it does something
    np.testing.assert_allclose(found, expected, atol=1e-4)
    # Adam's first moment after one step from zero is (1 - beta1) times the gradient.
    step = engine.train_step(
        rows(4), adapter, OptimizerState.fresh(engine.layout), StepSettings(clip_norm=1e9)
    )
    gradient = plain.gradient(rows(4))
    error = np.linalg.norm(step.optimizer.first_moment / 0.1 - gradient)
    assert error < 1e-3 * np.linalg.norm(gradient)


def test_a_batch_scores_like_single_prompts(engine):
    """Right padding and the shared prefix change nothing."""
    adapter = moved_adapter(engine)
    together = engine.logits(PROMPTS[:5], adapter)
    alone = np.concatenate([engine.logits([prompt], adapter) for prompt in PROMPTS[:5]])
    np.testing.assert_allclose(together, alone, atol=1e-4)


def test_adapter_size_and_start(engine):
    assert engine.layout.size == 153_600
    assert len(engine.layout.shapes) == 80
    fresh = engine.new_adapter(3)
    np.testing.assert_array_equal(
        engine.logits(PROMPTS[:2], fresh), engine.logits(PROMPTS[:2], None)
    )
    assert fresh.digest == engine.new_adapter(3).digest != engine.new_adapter(4).digest


def test_a_step_changes_only_the_adapter_it_returns(tiny_engine):
    before = {n: p.clone() for n, p in tiny_engine._upper.named_parameters()}
    teacher = tiny_engine.logits(PROMPTS[:3], None)
    adapter = tiny_engine.new_adapter(0)
    kept = adapter.vector.copy()
    state = OptimizerState.fresh(tiny_engine.layout)
    result = tiny_engine.train_step(rows(3), adapter, state, StepSettings())
    assert result.adapter.digest != adapter.digest
    np.testing.assert_array_equal(adapter.vector, kept)
    assert not state.first_moment.any() and state.steps == 0
    for name, parameter in tiny_engine._upper.named_parameters():
        assert torch.equal(parameter, before[name]) and parameter.grad is None
    np.testing.assert_array_equal(tiny_engine.logits(PROMPTS[:3], None), teacher)


def test_steps_learn_their_rows(tiny_engine):
    adapter, state = tiny_engine.new_adapter(0), OptimizerState.fresh(tiny_engine.layout)
    losses = []
    for _ in range(40):
        result = tiny_engine.train_step(rows(4), adapter, state, StepSettings(learning_rate=0.01))
        adapter, state = result.adapter, result.optimizer
        losses.append(result.loss)
    assert losses[-1] < losses[0] - 0.2
    assert state.steps == 40


def test_steps_are_repeatable(tiny_engine):
    def run() -> str:
        adapter, state = tiny_engine.new_adapter(1), OptimizerState.fresh(tiny_engine.layout)
        for count in (1, 5, 3):
            result = tiny_engine.train_step(rows(count), adapter, state, StepSettings())
            adapter, state = result.adapter, result.optimizer
        return adapter.digest

    assert run() == run()


def test_the_gradient_norm_is_clipped(tiny_engine):
    adapter, state = moved_adapter(tiny_engine, 0.5), OptimizerState.fresh(tiny_engine.layout)
    result = tiny_engine.train_step(rows(4), adapter, state, StepSettings(clip_norm=1e-3))
    assert result.gradient_norm > 1e-3
    assert np.linalg.norm(result.optimizer.first_moment / 0.1) == pytest.approx(1e-3, rel=1e-3)


def test_student_and_teacher_prompts_do_not_mix_in_a_batch(tiny_engine):
    review = hindsight_prompt(STREAM[0].seen, Route.INTERRUPT, Outcome.DELETED_NOTIFICATION)
    with pytest.raises(ValueError, match="same system message"):
        tiny_engine.logits([PROMPTS[0], review], None)


def test_an_adapter_of_another_model_is_refused(tiny_engine):
    with pytest.raises(EngineError, match="adapter: expected"):
        Adapter(tiny_engine.layout, np.zeros(7, dtype=np.float32))


@pytest.fixture(scope="module")
def lfm2(embedded_folder):
    """LFM2.5-230M's exact shape with random weights, and the only tokenizer at hand."""
    torch.manual_seed(0)
    attention = (2, 4, 6, 8, 10, 12)
    config = Lfm2Config(
        vocab_size=65_536,
        hidden_size=1024,
        intermediate_size=2560,
        num_hidden_layers=14,
        num_attention_heads=16,
        num_key_value_heads=8,
        layer_types=["full_attention" if i in attention else "conv" for i in range(14)],
        block_auto_adjust_ff_dim=False,
        tie_word_embeddings=True,
    )
    tokenizer = AutoTokenizer.from_pretrained(embedded_folder)
    return TorchEngine(Lfm2ForCausalLM(config), tokenizer, name="lfm2-shape", source="random")


def test_lfm2_shape(lfm2):
    assert lfm2.info.parameters == 229_693_184
    assert len(lfm2.layout.shapes) == 48
    assert lfm2.layout.size == 172_032
    assert not any("conv" in name for name, _ in lfm2.layout.shapes)


def test_lfm2_padding_changes_nothing_and_a_lesson_moves_only_the_adapter(lfm2):
    adapter = moved_adapter(lfm2)
    together = lfm2.logits(PROMPTS[:3], adapter)
    alone = np.concatenate([lfm2.logits([prompt], adapter) for prompt in PROMPTS[:3]])
    np.testing.assert_allclose(together, alone, atol=1e-4)
    before = {n: p.clone() for n, p in lfm2._upper.named_parameters()}
    state = OptimizerState.fresh(lfm2.layout)
    result = lfm2.train_step(rows(3), adapter, state, StepSettings())
    assert result.adapter.distance(adapter) > 0
    for name, parameter in lfm2._upper.named_parameters():
        assert torch.equal(parameter, before[name])


def test_a_folder_without_a_model_is_refused_with_a_remedy(tmp_path):
    with pytest.raises(EngineError, match="could not be loaded.*config.json"):
        load_engine(str(tmp_path))


def test_lora_is_the_papers_shape(engine):
    config = engine.peft_config
    assert isinstance(config, LoraConfig)
    assert (config.r, config.lora_alpha, config.lora_dropout) == (4, 8, 0.0)
    layers = {int(name.split("layers.")[1].split(".")[0]) for name, _ in engine.layout.shapes}
    assert layers == set(range(20, 30))


def test_probabilities_are_finite_for_every_prompt(engine):
    p = softmax(engine.logits(PROMPTS, None))
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
