"""Where the content lives: text and data are files under ``assets/``, never inside Python."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any


def asset_path(*parts: str) -> Path:
    """The path of a file below ``assets/``, given its parts; the file need not exist."""
    return Path(__file__).resolve().parents[1].joinpath("assets", *parts)


@cache
def read_json(*parts: str) -> Any:
    """The parsed content of ``assets/<parts>``, read once a process.

    The value is shared by all callers: treat it as read-only. Raises OSError if the file is
    missing and ValueError if it is not JSON.
    """
    return json.loads(asset_path(*parts).read_text(encoding="utf-8"))
