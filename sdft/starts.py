"""The sessions that can be started by name: the personas, and the five-minute demo."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from sdft.session import Start
from sdft.settings import Settings, preset
from sdft.world.notification import Notification
from sdft.world.persona import load_personas
from sdft.world.stream import StreamSpec, generate, read_stream

DEMO = "five_minute_demo"
SAMPLES = Path(__file__).resolve().parents[1] / "sample_streams"
MAX_SEED = 2**31 - 1


def owners() -> tuple[str, ...]:
    """Whose phone can be played: the demo first, then the personas."""
    return (DEMO, *load_personas())


def start_named(
    owner: str, seed: int, settings: Settings | None = None, events: int = 240
) -> Start:
    """A session for one of ``owners``.

    The demo is a fixed stream of its own length; the others are generated from ``seed``. Without
    ``settings`` the demo learns with 6 update steps a lesson and the others with the default.

    Raises:
        ValueError: unknown owner, or a seed or length out of range; named with the remedy.
    """
    if owner not in owners():
        raise ValueError(f"persona is {owner[:60]!r}; use one of {', '.join(owners())}")
    if isinstance(seed, bool) or not isinstance(seed, int) or not 0 <= seed <= MAX_SEED:
        raise ValueError(f"seed is {seed!r}; use a whole number from 0 to {MAX_SEED}")
    if owner == DEMO:
        stream = read_stream(SAMPLES / f"{DEMO}.jsonl")
        return Start(tuple(stream), DEMO, DEMO, seed, settings or preset("demo"))
    stream = generate(StreamSpec(owner, seed, events))
    return Start(tuple(stream), f"{owner} {seed}", owner, seed, settings or preset("default"))


def start_own(
    stream: list[Notification], name: str, seed: int, settings: Settings | None = None
) -> Start:
    """A session on a stream that somebody brought."""
    return Start(tuple(stream), name, "", seed, settings or preset("default"))


def for_the_screen(start: Start) -> Start:
    """The same session, but the next card does not wait for the lesson that has just matured."""
    return replace(start, settings=replace(start.settings, learn_behind=True))
