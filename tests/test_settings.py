"""Settings: presets, round trips, and bad values that are named."""

from __future__ import annotations

import pytest

from sdft.learning.checks import SettingsError
from sdft.settings import Settings, preset, settings_from, settings_to, with_changes


def test_published_constants():
    published = preset("published")
    behavior, replay, update = published.behavior, published.replay, published.update
    assert (behavior.epsilon, behavior.probe_ceiling, behavior.probe_start) == (0.02, 0.60, 0.15)
    assert (behavior.probe_half_life, behavior.taper_after, behavior.taper_half_life) == (
        80,
        160,
        5,
    )
    assert not behavior.guard
    assert (replay.capacity, replay.warm_up, replay.batch_rows, replay.half_life) == (64, 4, 8, 32)
    assert (update.steps, update.learning_rate, update.clip_norm) == (2, 1e-3, 1.0)
    assert preset("default").behavior.guard and preset("demo").update.steps == 6


def test_round_trip():
    for name in ("default", "published", "demo"):
        assert settings_from(settings_to(preset(name))) == preset(name)
    assert settings_from({}) == Settings()


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        ({"update": {"steps": 99}}, "steps is 99; use a whole number from 0 to 32"),
        ({"update": {"learning_rate": float("nan")}}, "learning_rate is nan"),
        ({"replay": {"capacity": 0}}, "capacity is 0"),
        ({"behavior": {"probe_half_life": 0}}, "probe_half_life is 0"),
        ({"behavior": {"epsilo": 0.1}}, "behavior.epsilo is unknown"),
        ({"blend": {"teacher": 0.5}}, "must sum to 1"),
        ({"surprise": 1}, "surprise is unknown"),
        ("fast", "received 'fast'"),
        ({"behavior": {"guard": "perhaps"}}, "behavior.guard"),
    ],
)
def test_bad_settings_are_named(data, sentence):
    with pytest.raises(SettingsError, match=sentence):
        settings_from(data)


def test_changes_from_a_command_line():
    changed = with_changes(Settings(), ["update.steps=4", "behavior.guard=false"])
    assert changed.update.steps == 4 and not changed.behavior.guard
    for bad in ("update.stepz=4", "update", "steps=4", "update.steps.more=1"):
        with pytest.raises(SettingsError, match="names no setting"):
            with_changes(Settings(), [bad])
    with pytest.raises(SettingsError, match="update.steps: 'many' is no number"):
        with_changes(Settings(), ["update.steps=many"])


def test_unknown_preset():
    with pytest.raises(SettingsError, match="preset is 'fast'; use one of default"):
        preset("fast")
