"""Models for the tests: the real one, a tiny random one with the real tokenizer, LFM2.5's shape."""

from __future__ import annotations

import os

os.environ.setdefault("GRADIO_ANALYTICS_ENABLED", "False")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")

from pathlib import Path

import pytest

from sdft.model.catalog import EMBEDDED, locate


def _quiet(fraction: float, text: str) -> None:
    pass


@pytest.fixture(scope="session")
def embedded_folder() -> Path:
    """The converted embedded model; fetched on a machine that has never had it."""
    return Path(locate(EMBEDDED, _quiet))


@pytest.fixture(scope="session")
def engine(embedded_folder):
    """The real SmolLM2-135M-Instruct."""
    from sdft.model.torch_engine import load_engine

    return load_engine(EMBEDDED)


def save_tiny_model(embedded_folder: Path, folder: Path) -> Path:
    """A random Llama of 6 small layers with the real tokenizer, in a folder like any other."""
    import torch
    from transformers import AutoTokenizer, LlamaConfig, LlamaForCausalLM

    tokenizer = AutoTokenizer.from_pretrained(embedded_folder)
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=64,
        intermediate_size=128,
        num_hidden_layers=6,
        num_attention_heads=4,
        num_key_value_heads=2,
        tie_word_embeddings=True,
        initializer_range=0.1,
    )
    LlamaForCausalLM(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


@pytest.fixture(scope="session")
def tiny_folder(embedded_folder, tmp_path_factory) -> Path:
    """A folder with the tiny random model."""
    return save_tiny_model(embedded_folder, tmp_path_factory.mktemp("tiny"))


@pytest.fixture(scope="session")
def tiny_engine(tiny_folder):
    """The tiny random model: everything real but its size."""
    from sdft.model.torch_engine import load_engine

    return load_engine(str(tiny_folder))
