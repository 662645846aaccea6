"""Read and write streams: JSON Lines, one notification a line.

The format, its limits and its error policy are described in ``sample_streams/README.md``. A stream
may come from anyone, so nothing in it is trusted: each problem is a :class:`StreamError` that says
where it is, what was found and what to do. Texts are kept exactly as they are, whatever they look
like; making them harmless is up to whoever shows them or puts them into a prompt.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from sdft.world.notification import Hidden, Notification, Observation
from sdft.world.routes import ROUTES, Route

MAX_FILE_BYTES = 50_000_000
MAX_LINES = 10_000  # notifications in one stream
MAX_TEXT = 2_000  # characters of a title or a body
MAX_LABEL = 100  # characters of an id, a regime or a category
MAX_UTILITY = 1_000.0  # absolute value
_SHOWN = 60  # characters of a bad value that a message repeats
_TIME = re.compile(r"(?:[01][0-9]|2[0-3]):[0-5][0-9]")
_BOM = "\ufeff"


class StreamError(ValueError):
    """A stream that cannot be used: where, which field, what was received, and the remedy.

    ``line`` counts from 1; it is 0 if the problem is with the file as a whole.
    """

    def __init__(self, source: str, line: int, field: str, received: str, remedy: str) -> None:
        where = f"{source}, line {line}" if line else source
        super().__init__(f"{where}, {field}: got {received}. {remedy}")
        self.source, self.line, self.field = source, line, field
        self.received, self.remedy = received, remedy


class _Bad(Exception):
    """A problem with one field, before file and line are known."""

    def __init__(self, field: str, received: str, remedy: str) -> None:
        super().__init__(field, received, remedy)
        self.field, self.received, self.remedy = field, received, remedy


def read_stream(
    source: str | os.PathLike[str] | Iterable[str], *, name: str | None = None
) -> list[Notification]:
    """The notifications of ``source``: the path of a file, or the lines of one.

    ``name`` is what errors call the stream (by default the file's name, or "stream"). Raises
    :class:`StreamError` at the first problem; nothing is repaired and no line is skipped, except
    that blank lines are allowed.
    """
    if isinstance(source, str | os.PathLike):
        name = name or Path(source).name
        lines: Iterable[str] = _lines_of(Path(source), name)
    else:
        name = name or "stream"
        lines = source
    return _parse(lines, name)


def write_stream(notifications: Iterable[Notification], path: str | os.PathLike[str]) -> None:
    """Write ``notifications`` to ``path`` as UTF-8 JSON Lines; an existing file is replaced.

    Raises ValueError for numbers that JSON cannot hold (NaN, infinities), before it writes.
    """
    text = "".join(dump_line(n) + "\n" for n in notifications)
    Path(path).write_bytes(text.encode("utf-8"))


def dump_line(notification: Notification) -> str:
    """One notification as one line of JSON, without the line's end."""
    seen, hidden = notification.seen, notification.hidden
    entry: dict[str, Any] = {key: getattr(seen, key) for key in _SEEN}
    if hidden is not None:
        utilities = {r.value: hidden.utilities[r.index] for r in ROUTES}
        entry["hidden"] = {"utilities": utilities, "preferred": hidden.preferred.value}
    return json.dumps(entry, ensure_ascii=False, allow_nan=False)


def _lines_of(path: Path, name: str) -> list[str]:
    """The decoded lines of a file, split at newlines only (JSON texts may hold other breaks)."""
    try:
        size = path.stat().st_size
        if size > MAX_FILE_BYTES:
            remedy = f"A stream may have {MAX_FILE_BYTES:,} bytes: split it."
            raise StreamError(name, 0, "whole file", f"{size:,} bytes", remedy)
        data = path.read_bytes()
    except OSError as error:
        remedy = "Give the path of a readable stream file (.jsonl)."
        raise StreamError(name, 0, "whole file", error.strerror or str(error), remedy) from error
    try:
        return data.decode("utf-8").removeprefix(_BOM).split("\n")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        remedy = "Save the file with the encoding UTF-8."
        received = f"the byte 0x{data[error.start]:02x}, which is not UTF-8 there"
        raise StreamError(name, line, "text encoding", received, remedy) from error


def _parse(lines: Iterable[str], name: str) -> list[Notification]:
    found: list[Notification] = []
    line_of_id: dict[str, int] = {}
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            if len(found) == MAX_LINES:
                raise _Bad("whole line", "one more notification", f"The limit is {MAX_LINES:,}.")
            notification = _notification(_json_object(line))
            if notification.id in line_of_id:
                first = line_of_id[notification.id]
                remedy = f"Line {first} has it already: give each notification an id of its own."
                raise _Bad("id", _short(notification.id), remedy)
        except _Bad as bad:
            raise StreamError(name, number, bad.field, bad.received, bad.remedy) from bad
        line_of_id[notification.id] = number
        found.append(notification)
    if not found:
        remedy = "Write one notification a line; see sample_streams/README.md."
        raise StreamError(name, 1, "whole file", "an empty stream", remedy)
    return found


def _json_object(line: str) -> Mapping[str, Any]:
    try:
        value = json.loads(line, object_pairs_hook=_without_duplicates)
    except json.JSONDecodeError as error:
        remedy = f"Not valid JSON ({error.msg}). Is the line cut off? Write one object a line."
        raise _Bad("whole line", _cut(repr(line.strip())), remedy) from error
    except (ValueError, RecursionError) as error:  # the parser's own two limits
        remedy = "It has a number of thousands of digits, or very deep nesting: simplify it."
        raise _Bad("whole line", _cut(repr(line.strip())), remedy) from error
    if not isinstance(value, dict):
        raise _Bad("whole line", _short(value), 'Write a JSON object: {"id": …, "title": …, …}.')
    return value


def _without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    entry = dict(pairs)
    if len(entry) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise _Bad(twice, "the same field twice", "Keep one of the two.")
    return entry


def _notification(entry: Mapping[str, Any]) -> Notification:
    seen = Observation(**{key: check(entry, key) for key, check in _SEEN.items()})
    if not (seen.title.strip() or seen.body.strip()):
        raise _Bad("title", _short(seen.title), "Title and body are both blank: fill one of them.")
    hidden = entry.get("hidden")
    return Notification(seen, None if hidden is None else _hidden(hidden))


def _hidden(hidden: object) -> Hidden:
    if not isinstance(hidden, dict):
        raise _Bad(
            "hidden", _short(hidden), 'Write {"utilities": {…}, "preferred": …} or leave out.'
        )
    utilities = _field(hidden, "utilities", "hidden.")
    if not isinstance(utilities, dict):
        raise _Bad("hidden.utilities", _short(utilities), "Write an object with the three routes.")
    values = tuple(_utility(utilities, route) for route in ROUTES)
    preferred = _field(hidden, "preferred", "hidden.")
    if preferred not in [route.value for route in ROUTES]:
        remedy = "Use INTERRUPT, LATER or ARCHIVE."
        raise _Bad("hidden.preferred", _short(preferred), remedy)
    return Hidden(values, Route(preferred))


def _utility(utilities: Mapping[str, Any], route: Route) -> float:
    low, high = -MAX_UTILITY, MAX_UTILITY
    return _number(utilities, route.value, low, high, prefix="hidden.utilities.")


def _field(entry: Mapping[str, Any], key: str, prefix: str = "") -> Any:
    if key not in entry:
        present = ", ".join(entry) or "no field at all"
        raise _Bad(prefix + key, f"no such field ({_cut(present)})", f'Add "{key}".')
    return entry[key]


def _number(
    entry: Mapping[str, Any], key: str, low: float, high: float, *, prefix: str = ""
) -> float:
    """A finite number in [low, high]; the comparison also refuses NaN, which equals nothing."""
    value = _field(entry, key, prefix)
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not low <= value <= high:
        remedy = f"Write a number from {low:g} to {high:g}."
        raise _Bad(prefix + key, _short(value), remedy)
    return float(value)


def _string(entry: Mapping[str, Any], key: str, limit: int) -> str:
    value = _field(entry, key)
    if not isinstance(value, str):
        raise _Bad(key, _short(value), "Write a text in double quotes.")
    if len(value) > limit:
        received = f"{len(value):,} characters, {_short(value)}"
        raise _Bad(key, received, f"Shorten it to {limit:,} characters.")
    if any("\ud800" <= character <= "\udfff" for character in value):
        raise _Bad(key, _short(value), "Half of a surrogate pair is no character: remove it.")
    return value


def _label(entry: Mapping[str, Any], key: str) -> str:
    value = _string(entry, key, MAX_LABEL)
    if not value.strip():
        raise _Bad(key, _short(value), "It must not be blank: write a short name.")
    return value


def _text(entry: Mapping[str, Any], key: str) -> str:
    return _string(entry, key, MAX_TEXT)


def _local_time(entry: Mapping[str, Any], key: str) -> str:
    value = _label(entry, key)
    if not _TIME.fullmatch(value):
        raise _Bad(key, _short(value), 'Write hours and minutes from "00:00" to "23:59".')
    return value


def _importance(entry: Mapping[str, Any], key: str) -> float:
    return _number(entry, key, 0.0, 1.0)


def _short(value: object) -> str:
    """The value as it would stand in JSON, shortened, and safe to print."""
    if isinstance(value, dict | list):
        return "an object" if isinstance(value, dict) else "a list"
    return _cut(json.dumps(value))


def _cut(text: str) -> str:
    return text if len(text) <= _SHOWN else text[:_SHOWN] + "…"


# The fields that everyone may see, in the order in which they are written, and how to check them.
_SEEN: dict[str, Callable[[Mapping[str, Any], str], Any]] = {
    "id": _label,
    "local_time": _local_time,
    "regime": _label,
    "category": _label,
    "importance": _importance,
    "title": _text,
    "body": _text,
}
