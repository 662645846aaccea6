"""The trace: an append-only list of small typed records, and reading and writing it.

A session *is* its trace: every panel, metric, export and resume is computed from these records.
JSON Lines, a header first. Only ``seconds`` differs between two runs with the same seed, settings
and gestures. Format version 1; read with validation that names file, line, field, value, remedy.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field, TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass as validated

from sdft.world.notification import Observation
from sdft.world.routes import Outcome, Route

FORMAT = "online-sdft-trace"
VERSION = 1

_STRICT = ConfigDict(extra="forbid", allow_inf_nan=False)
Triple = tuple[float, float, float]  # in route order


class TraceError(ValueError):
    """A trace that cannot be read; the message names file, line, field, value and remedy."""


@validated(frozen=True, config=_STRICT)
class Header:
    """The first line: all that is needed to run the same session again, and what ran it."""

    model: str
    method: str
    seed: int
    settings: dict[str, Any]
    stream: str  # name of the stream
    length: int  # events in the stream
    owner: str  # persona id, or "" when a person plays as themselves
    adapter_parameters: int
    software: dict[str, str] = field(default_factory=dict)
    changes: tuple[tuple[int, str], ...] = ()  # where another taste takes over
    format: Literal["online-sdft-trace"] = FORMAT
    version: Literal[1] = VERSION
    kind: Literal["header"] = "header"


@validated(frozen=True, config=_STRICT)
class Decided:
    """A sealed decision: x_t, p_t, b_t by part, the draw and the route."""

    t: int
    clock: int  # simulated minutes since the first decision
    seen: Observation
    student: Triple
    greedy: Triple  # the four parts of b_t; they sum to it
    epsilon: Triple
    probe: Triple
    guard: Triple
    uniform: float
    route: Route
    drawn_by: Literal["greedy", "epsilon", "probe", "guard"]
    silent_for: int  # archived routes in a row before this decision
    updates: int  # update steps in the adapter that decided
    seconds: float
    kind: Literal["decided"] = "decided"

    @property
    def behavior(self) -> Triple:
        """b_t, the sum of its parts."""
        parts = zip(self.greedy, self.epsilon, self.probe, self.guard, strict=True)
        return tuple(map(sum, parts))


@validated(frozen=True, config=_STRICT)
class Scored:
    """The score of decision t, before anything is learned from it. Learners never see this."""

    t: int
    preferred: Route
    utilities: Triple
    regret: float
    expected_regret: float  # under b_t
    correct: bool
    kind: Literal["scored"] = "scored"


@validated(frozen=True, config=_STRICT)
class Reacted:
    """What the owner did, on the surface where the notification was."""

    t: int
    notification_id: str
    outcome: Outcome
    clock: int
    by: Literal["person", "persona"]
    kind: Literal["reacted"] = "reacted"


@validated(frozen=True, config=_STRICT)
class Waited:
    """The clock moved on."""

    clock: int
    kind: Literal["waited"] = "waited"


@validated(frozen=True, config=_STRICT)
class Matured:
    """A callback whose window has closed was released to the learner."""

    t: int
    notification_id: str
    outcome: Outcome
    clock: int
    reward: float
    kind: Literal["matured"] = "matured"


@validated(frozen=True, config=_STRICT)
class Reviewed:
    """A lesson: sealed decision, teacher and evidence became a target."""

    lesson: int
    t: int
    notification_id: str
    outcome: Outcome
    sealed: Triple
    teacher: Triple
    target: Triple
    group: str
    superseded: tuple[int, ...]  # lessons that this correction removed from replay
    steps: int  # update steps that follow; 0 during warm-up
    seconds: float
    kind: Literal["reviewed"] = "reviewed"


@validated(frozen=True, config=_STRICT)
class Updated:
    """One optimizer step."""

    lesson: int
    step: int  # from 1, within the lesson
    rows: tuple[int, ...]  # lesson numbers of the batch, the newest first
    loss: float
    gradient_norm: float  # before clipping
    kind: Literal["updated"] = "updated"


@validated(frozen=True, config=_STRICT)
class Learned:
    """Where the student moved: its answer to the lesson's notification before and after."""

    lesson: int
    before: Triple
    after: Triple
    updates: int  # update steps so far
    distance: float  # of the adapter from its start
    adapter: str  # fingerprint of the weights
    seconds: float
    kind: Literal["learned"] = "learned"


@validated(frozen=True, config=_STRICT)
class SettingsChanged:
    """From here on other settings hold."""

    settings: dict[str, Any]
    kind: Literal["settings_changed"] = "settings_changed"


Record = (
    Decided | Scored | Reacted | Waited | Matured | Reviewed | Updated | Learned | SettingsChanged
)

_RECORD: TypeAdapter = TypeAdapter(Annotated[Record, Field(discriminator="kind")])
_HEADER: TypeAdapter = TypeAdapter(Header)


@dataclass(frozen=True)
class Trace:
    """A header and its records."""

    header: Header
    records: tuple[Record, ...]


def to_json(record: Record | Header) -> str:
    """One line of JSON, without the newline."""
    adapter = _HEADER if isinstance(record, Header) else _RECORD
    return adapter.dump_json(record).decode("utf-8")


def header_from_json(line: str) -> Header:
    """A header from its line. Raises pydantic.ValidationError."""
    return _HEADER.validate_json(line)


def record_from_json(line: str) -> Record:
    """A record from its line. Raises pydantic.ValidationError."""
    return _RECORD.validate_json(line)


def write_trace(path: str | Path, header: Header, records: Iterable[Record]) -> None:
    """Write a whole trace as JSON Lines."""
    with open(path, "w", encoding="utf-8", newline="\n") as file:
        for item in (header, *records):
            file.write(to_json(item) + "\n")


def read_trace(path: str | Path) -> Trace:
    """Read a trace file.

    Raises:
        TraceError: not a trace, another version, or a bad line.
        OSError: the file cannot be opened.
    """
    name = Path(path).name
    try:
        # Not splitlines(): titles may contain U+2028 and its like, which end no line of JSON.
        text = Path(path).read_text(encoding="utf-8").removesuffix("\n")
        lines = text.split("\n") if text else []
    except UnicodeDecodeError as error:
        raise TraceError(f"{name}: not UTF-8 text; choose a trace exported by this app") from error
    return parse_trace(lines, name)


def parse_trace(lines: Sequence[str], name: str) -> Trace:
    """A trace from its lines; ``name`` appears in errors. Raises TraceError."""
    if not lines:
        raise TraceError(f"{name}: the file is empty; choose a trace exported by this app")
    header = _parse_line(_HEADER, lines[0], name, 1)
    records = [_parse_line(_RECORD, line, name, n) for n, line in enumerate(lines[1:], 2)]
    _check_order(records, name)
    return Trace(header, tuple(records))


def _parse_line(adapter: TypeAdapter, line: str, name: str, number: int) -> Any:
    try:
        return adapter.validate_json(line)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(str(part) for part in first["loc"]) or "the line"
        received = str(first["input"])[:60]
        raise TraceError(
            f"{name}, line {number}, {where}: {first['msg']} (received {received!r}). "
            "Export the trace again, or cut the file before this line."
        ) from error


def _check_order(records: Sequence[Record], name: str) -> None:
    expected = 1
    for number, record in enumerate(records, 2):
        if isinstance(record, Decided):
            if record.t != expected:
                raise TraceError(
                    f"{name}, line {number}, t: decision {record.t} where {expected} was expected. "
                    "Lines are missing or out of order; export the trace again."
                )
            expected += 1


def without_seconds(line: str) -> str:
    """A trace line with its timing removed, for comparing two runs byte for byte."""
    data = json.loads(line)
    data.pop("seconds", None)
    return json.dumps(data, ensure_ascii=False)
