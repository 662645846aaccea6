"""Sessions that survive: SQLite in WAL mode, one transaction = trace records + checkpoint.

``append`` returns only after the transaction is on disk (synchronous=FULL), so whatever a screen
says after it has happened. After kill -9 at any moment the trace and the newest checkpoint agree,
and ``Session`` goes on from both. Adapter and optimizer are safetensors, never pickle.
"""

from __future__ import annotations

import sqlite3
import threading
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from safetensors.numpy import load as load_tensors
from safetensors.numpy import save as save_tensors

from sdft.model.engine import Adapter, AdapterLayout, OptimizerState
from sdft.session import Checkpoint
from sdft.trace import Header, Record, header_from_json, record_from_json, to_json
from sdft.world.notification import Notification
from sdft.world.stream import dump_line, read_stream

_SCHEMA = """
CREATE TABLE IF NOT EXISTS sessions (
    id TEXT PRIMARY KEY, header TEXT NOT NULL, stream TEXT NOT NULL,
    created TEXT NOT NULL DEFAULT CURRENT_TIMESTAMP);
CREATE TABLE IF NOT EXISTS records (
    session TEXT NOT NULL REFERENCES sessions(id), number INTEGER NOT NULL, json TEXT NOT NULL,
    PRIMARY KEY (session, number)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS checkpoints (
    session TEXT PRIMARY KEY REFERENCES sessions(id), number INTEGER NOT NULL,
    tensors BLOB NOT NULL);
"""
_VERSION = 1
_NOT_SAVED = (
    "this step could not be saved ({error}), so it did not happen. Free some space for {path} and "
    "do it again."
)
_NOT_READ = "cannot read {path}: {error}. Choose another folder with --data-dir."


class StoreError(RuntimeError):
    """The database cannot be read or written; the message says why and what to do."""


@dataclass(frozen=True)
class Saved:
    """A session as it lies in the store."""

    id: str
    header: Header
    stream: tuple[Notification, ...]
    records: tuple[Record, ...]
    checkpoint: Checkpoint | None


class Store:
    """One database file. Safe for use from several threads."""

    def __init__(self, folder: str | Path) -> None:
        """Open or create ``folder``/sessions.sqlite3.

        Raises:
            StoreError: the folder cannot be written, or another version wrote the file.
        """
        self.path = Path(folder) / "sessions.sqlite3"
        self._lock = threading.Lock()
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._connection = sqlite3.connect(
                self.path, timeout=30, isolation_level=None, check_same_thread=False
            )
            self._prepare()
        except (OSError, sqlite3.Error) as error:
            raise StoreError(
                f"cannot open {self.path}: {error}. Choose another folder with --data-dir, or free "
                "some space."
            ) from error

    def _prepare(self) -> None:
        self._connection.execute("PRAGMA journal_mode=WAL")
        self._connection.execute("PRAGMA synchronous=FULL")
        self._connection.execute("PRAGMA foreign_keys=ON")
        (version,) = self._connection.execute("PRAGMA user_version").fetchone()
        if version not in (0, _VERSION):
            raise StoreError(
                f"{self.path} has format {version}, this app writes {_VERSION}; "
                "choose another folder with --data-dir"
            )
        self._connection.executescript(_SCHEMA)
        self._connection.execute(f"PRAGMA user_version={_VERSION}")

    def close(self) -> None:
        """Close the database; nothing is lost if this is never called."""
        with self._lock:
            self._connection.close()

    @contextmanager
    def _transaction(self, begin: str, trouble: str) -> Iterator[sqlite3.Connection]:
        with self._lock:
            try:
                self._connection.execute(begin)
                yield self._connection
                self._connection.execute("COMMIT")
            except sqlite3.Error as error:
                raise StoreError(trouble.format(error=error, path=self.path)) from error
            finally:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")

    def _writing(self):
        return self._transaction("BEGIN IMMEDIATE", _NOT_SAVED)

    def create(self, header: Header, stream: Sequence[Notification]) -> str:
        """Store a new session and return its id."""
        session = uuid.uuid4().hex
        lines = "\n".join(dump_line(item) for item in stream)
        with self._writing() as db:
            db.execute(
                "INSERT INTO sessions (id, header, stream) VALUES (?, ?, ?)",
                (session, to_json(header), lines),
            )
        return session

    def recorder(self, session: str) -> StoreRecorder:
        """Where this session's records go."""
        return StoreRecorder(self, session)

    def append(
        self, session: str, records: Sequence[Record], checkpoint: Checkpoint | None
    ) -> None:
        """Add records, and replace the checkpoint if one is given, in one transaction."""
        lines = [to_json(record) for record in records]
        with self._writing() as db:
            query = "SELECT COALESCE(MAX(number), 0) FROM records WHERE session = ?"
            (last,) = db.execute(query, (session,)).fetchone()
            db.executemany(
                "INSERT INTO records (session, number, json) VALUES (?, ?, ?)",
                [(session, last + n, line) for n, line in enumerate(lines, 1)],
            )
            if checkpoint is not None:
                db.execute(
                    "INSERT OR REPLACE INTO checkpoints VALUES (?, ?, ?)",
                    (session, last + len(lines), _pack(checkpoint)),
                )

    def load(self, session: str, layout: AdapterLayout) -> Saved | None:
        """A stored session, or None if there is none of this id.

        Raises:
            StoreError: the file is damaged or has gone.
        """
        # One transaction, so that the checkpoint is never ahead of the records.
        with self._transaction("BEGIN", _NOT_READ) as db:
            row = db.execute(
                "SELECT header, stream FROM sessions WHERE id = ?", (session,)
            ).fetchone()
            if row is None:
                return None
            lines = db.execute(
                "SELECT json FROM records WHERE session = ? ORDER BY number", (session,)
            ).fetchall()
            blob = db.execute(
                "SELECT tensors FROM checkpoints WHERE session = ?", (session,)
            ).fetchone()
        return Saved(
            session,
            header_from_json(row[0]),
            tuple(read_stream(row[1].split("\n"), name="stored stream")),
            tuple(record_from_json(line) for (line,) in lines),
            _unpack(blob[0], layout) if blob else None,
        )


class StoreRecorder:
    """The session's end of the store."""

    def __init__(self, store: Store, session: str) -> None:
        self._store = store
        self._session = session

    def append(self, records: Sequence[Record], checkpoint: Checkpoint | None) -> None:
        """On disk when this returns. Raises StoreError, after which nothing has changed."""
        self._store.append(self._session, records, checkpoint)


def _pack(checkpoint: Checkpoint) -> bytes:
    optimizer = checkpoint.optimizer
    return save_tensors(
        {
            "adapter": checkpoint.adapter.vector,
            "first_moment": optimizer.first_moment,
            "second_moment": optimizer.second_moment,
            "steps": np.array([optimizer.steps], dtype=np.int64),
        }
    )


def _unpack(blob: bytes, layout: AdapterLayout) -> Checkpoint:
    tensors = load_tensors(blob)
    optimizer = OptimizerState(
        int(tensors["steps"][0]), tensors["first_moment"], tensors["second_moment"]
    )
    return Checkpoint(Adapter(layout, tensors["adapter"]), optimizer)
