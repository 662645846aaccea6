"""Checks that every settings dataclass shares: name the field, the value and the remedy."""

from __future__ import annotations

import math


class SettingsError(ValueError):
    """A setting is outside its range; the message names it, the value and the range."""


def in_range(name: str, value: float, low: float, high: float) -> None:
    """Refuse a number outside [low, high], NaN, or something that is no number."""
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if not number or not math.isfinite(value) or not low <= value <= high:
        raise SettingsError(f"{name} is {value!r}; use a number from {low:g} to {high:g}")


def positive(name: str, value: float) -> None:
    """Refuse anything but a finite number above 0."""
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if not number or not math.isfinite(value) or value <= 0:
        raise SettingsError(f"{name} is {value!r}; use a finite number above 0")


def whole(name: str, value: int, low: int, high: int) -> None:
    """Refuse anything but a whole number in [low, high]."""
    if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
        raise SettingsError(f"{name} is {value!r}; use a whole number from {low} to {high}")
