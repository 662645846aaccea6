"""python -m sdft doctor | run | replay: the loop without a browser."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from tqdm import tqdm

from sdft.autopilot import NoOwner, play
from sdft.host import software_versions
from sdft.learning.checks import SettingsError
from sdft.learning.methods import METHODS
from sdft.metrics import Metrics, metrics
from sdft.model.catalog import EMBEDDED
from sdft.model.engine import Engine, EngineError
from sdft.session import MemoryRecorder, Session, Start, check_stream, header_for
from sdft.settings import preset, with_changes
from sdft.trace import TraceError, read_trace, write_trace
from sdft.world.persona import load_personas, reaction
from sdft.world.stream import StreamError, StreamSpec, generate, read_stream

_EXPECTED = (EngineError, NoOwner, OSError, SettingsError, StreamError, TraceError, ValueError)


def load(model: str, threads: int | None = None) -> Engine:
    """The engine, with its progress as a bar on stderr."""
    import torch

    from sdft.model.torch_engine import load_engine

    if threads:
        torch.set_num_threads(threads)
    with tqdm(total=100, unit="%", leave=False, bar_format="{desc} {bar} {n:.0f}%") as bar:

        def progress(fraction: float, text: str) -> None:
            bar.set_description_str(text)
            bar.update(100 * fraction - bar.n)

        return load_engine(model, progress)


def run(arguments: argparse.Namespace) -> dict:
    """One stream on autopilot; returns its metrics."""
    start = _start(arguments)
    engine = load(arguments.model, arguments.threads)
    check_stream(start.stream, engine)
    header = header_for(start, engine, software_versions())
    session = Session(engine, start.stream, header, MemoryRecorder())
    started = time.perf_counter()
    with tqdm(total=len(start.stream), unit="event", desc=start.stream_name) as bar:

        def before_each(done: int) -> bool:
            bar.update(done - bar.n)
            return True

        play(session, len(start.stream), before_each)
        bar.update(len(start.stream) - bar.n)
    seconds = time.perf_counter() - started
    if arguments.trace:
        write_trace(arguments.trace, session.header, session.records)
    return _summary(metrics(session.records), seconds)


def _start(arguments: argparse.Namespace) -> Start:
    settings = with_changes(preset(arguments.preset), arguments.set)
    if arguments.stream:
        if arguments.change:
            raise ValueError("--change is for generated streams; leave --stream or --change out")
        stream, name, changes = read_stream(arguments.stream), Path(arguments.stream).stem, ()
    else:
        persona = arguments.persona or "published"
        changes = tuple(map(_change, arguments.change))
        stream = generate(StreamSpec(persona, arguments.seed, arguments.events, changes))
        name = f"{persona} {arguments.seed}"
    owner = arguments.persona or ""
    seed, method = arguments.seed, arguments.method
    return Start(tuple(stream), name, owner, seed, settings, method, changes)


def _change(text: str) -> tuple[int, str]:
    event, found, persona = text.partition(":")
    if not found or not event.isdecimal():
        raise ValueError(f"--change is {text!r}; write for example 121:parent")
    return int(event), persona


def _summary(result: Metrics, seconds: float) -> dict:
    return {**result.as_dict(), "seconds": round(seconds, 3)}


def replay(arguments: argparse.Namespace) -> dict:
    """The metrics of a recorded trace, without any model."""
    result = metrics(read_trace(arguments.file).records)
    return _summary(result, result.seconds)


def doctor(arguments: argparse.Namespace) -> dict:
    """Versions, the model and where it came from, one decision, one lesson."""
    engine = load(arguments.model, arguments.threads)
    stream = generate(StreamSpec("published", 100, 8))
    # One lesson is enough here, so updates need not wait for four.
    settings = with_changes(preset("default"), ["replay.warm_up=1"])
    start = Start(tuple(stream), "doctor", "published", 100, settings)
    session = Session(engine, stream, header_for(start, engine, {}), MemoryRecorder())
    started = time.perf_counter()
    session.advance()
    decided = time.perf_counter()
    while not session.lesson_count and session.decisions < len(stream):
        newest = session.phone.current
        preferred = stream[newest.decision.t - 1].hidden.preferred
        session.react(newest.id, reaction(preferred, newest.decision.route), by="persona")
        session.wait()
        before = time.perf_counter()
        session.learn_all()
        lesson_seconds = time.perf_counter() - before
        session.decide()
    info = engine.info
    return {
        "ok": session.lesson_count > 0,
        "versions": software_versions(),
        "model": info.name,
        "source": info.source,
        "precision": info.precision,
        "parameters": info.parameters,
        "adapter_parameters": info.adapter_parameters,
        "details": dict(info.details),
        "decision_seconds": round(decided - started, 3),
        "lesson_seconds": round(lesson_seconds, 3),
        "lessons": session.lesson_count,
    }


def parser() -> argparse.ArgumentParser:
    """The command line."""
    top = argparse.ArgumentParser(prog="python -m sdft", description=__doc__)
    commands = top.add_subparsers(dest="command", required=True)
    model = argparse.ArgumentParser(add_help=False)
    model.add_argument("--model", default=EMBEDDED, help=f"{EMBEDDED}, a folder or a hub id")
    model.add_argument("--threads", type=int, help="processor threads (default: all cores)")
    output = argparse.ArgumentParser(add_help=False)
    output.add_argument("--json", action="store_true", help="one line of JSON on stdout")

    check = commands.add_parser("doctor", parents=[model, output], help="check this machine")
    check.set_defaults(call=doctor)

    go = commands.add_parser("run", parents=[model, output], help="one stream on autopilot")
    go.add_argument("--stream", help="a stream file (JSON Lines); default: generated")
    go.add_argument("--persona", choices=list(load_personas()), help="whose phone it is")
    go.add_argument("--events", type=int, default=240, help="length of a generated stream")
    go.add_argument(
        "--change",
        action="append",
        default=[],
        metavar="121:parent",
        help="from this event on another persona owns the phone",
    )
    go.add_argument("--seed", type=int, default=0, help="of stream, adapter and all draws")
    go.add_argument("--method", default="online-sdft", choices=list(METHODS))
    go.add_argument("--preset", default="default", help="default (guard on), published, demo")
    go.add_argument("--set", action="append", default=[], metavar="update.steps=4")
    go.add_argument("--trace", help="write the trace here")
    go.set_defaults(call=run)

    again = commands.add_parser("replay", parents=[output], help="metrics of a recorded trace")
    again.add_argument("file", help="a trace (JSON Lines)")
    again.set_defaults(call=replay)
    return top


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command; 0 if all went well, 2 with one sentence on stderr if not."""
    arguments = parser().parse_args(argv)
    try:
        result = arguments.call(arguments)
    except _EXPECTED as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    if arguments.json:
        print(json.dumps(result))
    else:
        width = max(map(len, result))
        print("\n".join(f"{name:<{width}}  {value}" for name, value in result.items()))
    return 0 if result.get("ok", True) else 1


if __name__ == "__main__":
    sys.exit(main())
