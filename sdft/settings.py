"""Every setting of a session, written once: command line, sliders, URL and trace header use these.

A concern has its own frozen dataclass beside the code that it steers; this file joins them, names
the presets and reads settings from untrusted JSON.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from pydantic import TypeAdapter, ValidationError

from sdft.learning.behavior import BehaviorSettings
from sdft.learning.checks import SettingsError, in_range, positive, whole
from sdft.learning.replay import ReplaySettings
from sdft.learning.target import BlendSettings
from sdft.model.engine import StepSettings


@dataclass(frozen=True)
class UpdateSettings:
    """How much is learned from one lesson."""

    steps: int = 2  # AdamW steps a lesson
    learning_rate: float = 1e-3
    clip_norm: float = 1.0  # gradient norm is clipped here

    def __post_init__(self) -> None:
        whole("steps", self.steps, 0, 32)
        in_range("learning_rate", self.learning_rate, 0, 1)
        positive("clip_norm", self.clip_norm)

    @property
    def step(self) -> StepSettings:
        """The engine's view of these settings."""
        return StepSettings(learning_rate=self.learning_rate, clip_norm=self.clip_norm)


@dataclass(frozen=True)
class Settings:
    """All that steers one session's learning. The defaults are the app's (guard on)."""

    behavior: BehaviorSettings = field(default_factory=BehaviorSettings)
    blend: BlendSettings = field(default_factory=BlendSettings)
    replay: ReplaySettings = field(default_factory=ReplaySettings)
    update: UpdateSettings = field(default_factory=UpdateSettings)
    # Ours, for people at a screen: the next card is decided before the lesson that has just matured
    # is learned, so that nobody waits for training; the lesson is always in before the card after
    # it. The published order, and the order of every run without a person, learns first.
    learn_behind: bool = False


def _presets() -> dict[str, Settings]:
    default = Settings()
    return {
        "default": default,
        "published": replace(default, behavior=replace(default.behavior, guard=False)),
        "demo": replace(default, update=replace(default.update, steps=6)),
    }


def preset(name: str) -> Settings:
    """Settings by name: default (guard on), published (no guard), demo (6 steps a lesson).

    Raises:
        SettingsError: no such preset.
    """
    known = _presets()
    if name not in known:
        raise SettingsError(f"preset is {name!r}; use one of {', '.join(known)}")
    return known[name]


_READER = TypeAdapter(Settings)


def settings_from(data: Any) -> Settings:
    """Settings from parsed JSON; fields left out keep their defaults.

    Raises:
        SettingsError: an unknown field or a bad value, named with what was received.
    """
    try:
        settings = _READER.validate_python(data)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(map(str, first["loc"])) or "settings"
        raise SettingsError(
            f"setting {where}: {first['msg']} (received {first['input']!r})"
        ) from error
    _refuse_unknown(data, settings_to(settings), "")
    return settings


def _refuse_unknown(data: Any, known: Any, path: str) -> None:
    if isinstance(data, dict) and isinstance(known, dict):
        for name, value in data.items():
            if name not in known:
                raise SettingsError(
                    f"setting {path}{name} is unknown; known here are {', '.join(known)}"
                )
            _refuse_unknown(value, known[name], f"{path}{name}.")


def settings_to(settings: Settings) -> dict[str, Any]:
    """Settings as plain JSON data."""
    return _READER.dump_python(settings, mode="json")


def with_changes(settings: Settings, changes: Sequence[str]) -> Settings:
    """Settings with changes such as ``update.steps=4`` or ``behavior.guard=false``.

    Raises:
        SettingsError: an unknown name or a value that does not fit, named.
    """
    data = settings_to(settings)
    for change in changes:
        path, found, value = change.partition("=")
        *parents, name = path.split(".")
        place = data
        for parent in parents:
            place = place.get(parent) if isinstance(place, dict) else None
        if not found or not isinstance(place, dict) or name not in place:
            raise SettingsError(f"{change!r} names no setting; write for example update.steps=4")
        try:
            place[name] = json.loads(value)
        except json.JSONDecodeError as error:
            raise SettingsError(f"setting {path}: {value!r} is no number, true or false") from error
    return settings_from(data)
