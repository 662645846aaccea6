"""The two prompts: what the student sees, and the hindsight prompt of the teacher.

Student = x only. Teacher = x and the factual callback in plain words (PROTOCOL.md section 3). The
wording is data, in ``assets/prompts.json``. Text of notifications goes in as ordinary text: engines
encode message contents so that nothing in them can become a special token, and white space is
folded so that a title cannot imitate another field.
"""

from __future__ import annotations

from dataclasses import dataclass

from sdft.assets import read_json
from sdft.world.notification import Observation
from sdft.world.routes import Outcome, Route


@dataclass(frozen=True)
class Message:
    """One chat turn; ``role`` is system, user or assistant."""

    role: str
    content: str


@dataclass(frozen=True)
class Prompt:
    """A chat whose next token is the route code. The first message is common to a whole kind of
    prompt, so that engines can compute it once."""

    messages: tuple[Message, ...]


def _line(text: str) -> str:
    """Untrusted text on one line."""
    return " ".join(text.split())


def _level(importance: float) -> str:
    """The importance in a word, which a small model reads better than digits."""
    low, medium, high = read_json("prompts.json")["importance_levels"]
    return low if importance < 1 / 3 else medium if importance < 2 / 3 else high


def _facts(seen: Observation) -> str:
    return read_json("prompts.json")["notification"].format(
        title=_line(seen.title),
        body=_line(seen.body),
        category=_line(seen.category),
        regime=_line(seen.regime),
        local_time=seen.local_time,
        importance=seen.importance,
        percent=round(100 * seen.importance),
        level=_level(seen.importance),
    )


def student_prompt(seen: Observation) -> Prompt:
    """The prompt of a decision: the notification and nothing else."""
    words = read_json("prompts.json")
    user = _facts(seen) + words["student_question"]
    return Prompt((Message("system", words["student_system"]), Message("user", user)))


def hindsight_prompt(seen: Observation, executed: Route, outcome: Outcome) -> Prompt:
    """The prompt of a review: the notification, the route executed and what the person then did."""
    words = read_json("prompts.json")
    user = (
        _facts(seen)
        + words["executed"][executed.name]
        + words["outcomes"][outcome.name]
        + words["teacher_question"]
    )
    return Prompt((Message("system", words["teacher_system"]), Message("user", user)))
