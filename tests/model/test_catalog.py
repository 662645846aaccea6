"""Where weights come from, and where the adapter goes."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from sdft.model import catalog
from sdft.model.catalog import EMBEDDED, ModelUnavailable, locate, placement_for
from sdft.model.engine import EngineError


def test_placements():
    smollm2 = placement_for(SimpleNamespace(model_type="llama", num_hidden_layers=30))
    assert smollm2.layers == tuple(range(20, 30)) and smollm2.modules[-1] == "o_proj"
    kinds = ["full_attention" if i in (2, 4, 6, 8, 10, 12) else "conv" for i in range(14)]
    lfm2 = placement_for(SimpleNamespace(model_type="lfm2", layer_types=kinds))
    assert lfm2.layers == (2, 4, 6, 8, 10, 12) and lfm2.modules[-1] == "out_proj"


def test_another_architecture_is_refused_with_a_remedy():
    with pytest.raises(EngineError, match="'bert' is not supported; choose a Llama- or LFM2"):
        placement_for(SimpleNamespace(model_type="bert"))


def test_without_network_the_remedy_is_said_and_nothing_is_left(tmp_path, monkeypatch):
    monkeypatch.setenv("SDFT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", "")
    seen = []
    with pytest.raises(ModelUnavailable, match="not on this machine yet.*start again"):
        locate(EMBEDDED, lambda fraction, text: seen.append((fraction, text)))
    assert list((tmp_path / "cache").iterdir()) == []
    assert all(0 <= fraction <= 1 for fraction, _ in seen)


def test_another_file_than_expected_is_not_used(tmp_path):
    (tmp_path / "wheel.whl").write_bytes(b"something else")
    with pytest.raises(ModelUnavailable, match="wheel.whl is not the expected file"):
        catalog._check(tmp_path / "wheel.whl", catalog._WHEEL_SHA256)


def test_a_second_start_uses_the_cache(embedded_folder, monkeypatch):
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    assert locate(EMBEDDED, lambda *_: None) == str(embedded_folder)
