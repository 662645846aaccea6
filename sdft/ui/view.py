"""The view model: everything the play screen draws, computed from one session's records.

Pure translation: no widget, no model, no state of its own. Words come from ``assets/text``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sdft.assets import read_json
from sdft.host import Activity, Hosted
from sdft.learning.replay import draw_chances
from sdft.learning.target import BlendSettings
from sdft.metrics import metrics
from sdft.model.owner import ModelStatus
from sdft.session import Session
from sdft.trace import Decided, Learned, Matured, Record, Reviewed, Scored, Updated
from sdft.ui.charts import charts
from sdft.world.phone import Delivered
from sdft.world.routes import Outcome, Reliability, Route, Surface, default_outcome, gestures

_LEDGER_LINES = 40
_SAVED_SHOWN = 30

GESTURES = {
    Outcome.OPENED_IMMEDIATELY: "open",
    Outcome.OPENED_AFTER_DELAY: "later",
    Outcome.DELETED_NOTIFICATION: "delete",
    Outcome.OPENED_DIGEST: "open",
    Outcome.DELETED_FROM_DIGEST: "delete",
    Outcome.IGNORED: "ignore",
    Outcome.NO_OBSERVABLE_SELECTION: "ignore",
    Outcome.ASKED_TO_SHOW: "show-these",
    Outcome.OPENED_FROM_SAVED: "open-saved",
    Outcome.CONFIRMED_QUIET: "keep-quiet",
}


def words(language: str = "en") -> dict[str, str]:
    """All texts of the screen by key."""
    return read_json("text", f"{language}.json")


def duration(minutes: int, text: dict[str, str]) -> str:
    """Simulated minutes as words: 45 min, 1 h 45 min, 2 h."""
    hours, rest = divmod(max(0, minutes), 60)
    if not hours:
        return text["time.minutes"].format(minutes=rest)
    if not rest:
        return text["time.hours"].format(hours=hours)
    return text["time.both"].format(hours=hours, minutes=rest)


def loading_view(status: ModelStatus, owners: Sequence[dict[str, str]]) -> dict[str, Any]:
    """The screen while there is no session yet."""
    kind = "problem" if status.kind == "failed" else "loading"
    progress = status.progress if status.kind == "loading" else None
    state = {"kind": kind, "text": status.text, "progress": progress}
    return {"state": state, "personas": list(owners)}


def view(hosted: Hosted, owners: Sequence[dict[str, str]]) -> dict[str, Any]:
    """The whole screen of one session as JSON data."""
    text = words()
    session = hosted.session
    revision = hosted.revision  # read first: what follows is at least as new
    records = list(session.records)
    decided = [r for r in records if isinstance(r, Decided)]
    scored = [r for r in records if isinstance(r, Scored)]
    titles = {r.t: r.seen.title for r in decided}
    return {
        "revision": revision,
        "session": _session(hosted, owners),
        "state": _state(hosted.activity, session, text),
        "clock": _clock(session, decided, text),
        "card": _card(session, decided[-1], text) if decided else None,
        "digest": [_digest_item(d, session, text) for d in session.phone.on(Surface.DIGEST)],
        "saved": [_item(d) for d in session.phone.on(Surface.SAVED)[:_SAVED_SHOWN]],
        "pending": [_pending(d, session, text) for d in session.phone.pending()],
        "decision": _decision(decided[-1]) if decided else None,
        "lesson": _lesson(records, titles, session.settings.blend, text),
        "replay": _replay(session, records),
        "metrics": _metrics(records),
        "ledger": _ledger(records, titles, text),
        "charts": charts(scored, text),
        "adapter": _adapter(session, records),
        "autopilot": {
            "running": hosted.activity.kind == "autopilot",
            "done": hosted.activity.done,
            "of": hosted.activity.of,
        },
        "personas": list(owners),
    }


def _session(hosted: Hosted, owners: Sequence[dict[str, str]]) -> dict[str, Any]:
    header = hosted.session.header
    briefing = {owner["id"]: owner["briefing"] for owner in owners}
    return {
        "id": hosted.id,
        "persona": header.owner,
        "briefing": briefing.get(header.owner, ""),
        "seed": header.seed,
        "model": header.model,
        "decisions": hosted.session.decisions,
        "length": header.length,
        "finished": hosted.session.finished,
    }


def _state(activity: Activity, session: Session, text: dict[str, str]) -> dict[str, Any]:
    kind = activity.kind
    if kind == "ready" and session.finished:
        kind = "ended"
    words_for = text.get(f"state.{kind}", "")
    progress = activity.done / activity.of if activity.of else None
    return {"kind": kind, "text": activity.text or words_for, "progress": progress}


def _clock(session: Session, decided: Sequence[Decided], text: dict[str, str]) -> dict[str, Any]:
    minutes = session.phone.clock
    label = decided[-1].seen.local_time if decided else None
    return {"label": label, "elapsed": duration(minutes, text), "day": 1 + minutes // 1440}


def _gestures(outcomes: Sequence[Outcome]) -> list[dict[str, str]]:
    return [{"outcome": o.name, "gesture": GESTURES[o]} for o in outcomes]


def _item(item: Delivered) -> dict[str, Any]:
    seen = item.decision.seen
    return {
        "id": item.id,
        "title": seen.title,
        "body": seen.body,
        "category": seen.category,
        "local_time": seen.local_time,
        "gestures": _gestures(gestures(item.decision.route)),
    }


def _digest_item(item: Delivered, session: Session, text: dict[str, str]) -> dict[str, Any]:
    closes = item.decision.clock + Outcome.IGNORED.window_minutes - session.phone.clock
    return {**_item(item), "closes_in": duration(closes, text)}


def _card(session: Session, decided: Decided, text: dict[str, str]) -> dict[str, Any] | None:
    """The newest notification until it has been answered or looked away from."""
    newest = session.phone.current
    if newest is None or newest.surface is None or newest.acknowledged:
        return None
    route = newest.decision.route
    outcomes = [*gestures(route), default_outcome(route)]
    if route is Route.ARCHIVE:  # its corrections are in the Saved drawer
        outcomes = [default_outcome(route)]
    return {
        **_item(newest),
        "importance": decided.seen.importance,
        "regime": decided.seen.regime,
        "route": route.name,
        "reason": text[f"reason.{decided.drawn_by}"].format(
            share=f"{max(decided.student):.0%}", silent=decided.silent_for
        ),
        "gestures": _gestures(outcomes),
    }


def _pending(item: Delivered, session: Session, text: dict[str, str]) -> dict[str, str]:
    return {
        "id": item.id,
        "title": item.decision.seen.title,
        "what": text[f"did.{item.outcome.name}"],
        "due_in": duration(item.due - session.phone.clock, text),
    }


def _decision(decided: Decided) -> dict[str, Any]:
    first = max(range(3), key=lambda i: decided.student[i])
    parts = {
        part: sum(share for i, share in enumerate(getattr(decided, part)) if i != first)
        for part in ("epsilon", "probe", "guard")
    }
    return {
        "student": decided.student,
        "behaviour": decided.behavior,
        "route": decided.route.name,
        "drawn_by": decided.drawn_by,
        "mass": {"total": sum(parts.values()), **parts},
        "silent_for": decided.silent_for,
    }


def _newest(records: Sequence[Record], kind: type) -> Any:
    return next((r for r in reversed(records) if isinstance(r, kind)), None)


def _lesson(
    records: Sequence[Record],
    titles: dict[int, str],
    blend: BlendSettings,
    text: dict[str, str],
) -> dict[str, Any] | None:
    reviewed = _newest(records, Reviewed)
    if reviewed is None:
        return None
    learned = _newest(records, Learned)
    mine = learned if learned and learned.lesson == reviewed.lesson else None
    route = next(r.route for r in records if isinstance(r, Decided) and r.t == reviewed.t)
    return {
        "number": reviewed.lesson,
        "notification_title": titles[reviewed.t],
        "route": route.name,
        "outcome": reviewed.outcome.name,
        "outcome_text": text[f"proves.{reviewed.outcome.name}"],
        "sealed": reviewed.sealed,
        "teacher": reviewed.teacher,
        "target": reviewed.target,
        "before": mine.before if mine else None,
        "after": mine.after if mine else None,
        "group": reviewed.group,
        "formula": _formula(reviewed, blend),
    }


def _formula(reviewed: Reviewed, blend: BlendSettings) -> str | None:
    """The target of the supported route with its numbers, T = teacher + sealed + evidence."""
    if reviewed.outcome.reliability is not Reliability.RELIABLE:
        return None
    (route,) = reviewed.outcome.support
    q, d, t = (x[route.index] for x in (reviewed.teacher, reviewed.sealed, reviewed.target))
    weights = f"{blend.teacher:.2f}·{q:.2f} + {blend.sealed:.2f}·{d:.2f} + {blend.evidence:.2f}·1"
    return f"T = {weights} = {t:.2f}"


def _replay(session: Session, records: Sequence[Record]) -> dict[str, Any]:
    lessons = session.lessons
    settings = session.settings.replay
    last = _newest(records, Updated)
    batches = [r.rows for r in records if isinstance(r, Updated) and r.lesson == last.lesson]
    used = {number for rows in batches for number in rows}
    rows = [
        {
            "lesson": lesson.number,
            "title": lesson.seen.title,
            "target": lesson.target,
            "group": lesson.group,
            "age": lessons[-1].number - lesson.number,
            "chance": chance,
            "in_last_batch": lesson.number in used,
        }
        for lesson, chance in zip(lessons, draw_chances(lessons, settings), strict=True)
    ]
    return {"size": len(lessons), "capacity": settings.capacity, "rows": rows[::-1]}


def _metrics(records: Sequence[Record]) -> dict[str, Any]:
    result = metrics(records)
    return {
        "accuracy": result.accuracy,
        "regret": result.cumulative_regret,
        "reward": result.reward_per_decision * result.decisions,
        "decisions": result.decisions,
        "lessons": result.lessons,
    }


def _adapter(session: Session, records: Sequence[Record]) -> dict[str, Any]:
    learned = _newest(records, Learned)
    return {
        "parameters": session.header.adapter_parameters,
        "updates": learned.updates if learned else 0,
        "distance": learned.distance if learned else 0.0,
    }


def _ledger(
    records: Sequence[Record], titles: dict[int, str], text: dict[str, str]
) -> list[dict[str, Any]]:
    """One sentence for every callback and what it taught, newest first."""
    moved = {r.lesson: r for r in records if isinstance(r, Learned)}
    lines = []
    for number, record in enumerate(records):
        if isinstance(record, Matured) and record.outcome.reliability is Reliability.CENSORED:
            sentence = text[f"taught.{record.outcome.name}"]
            lines.append((number, "censored", record.t, sentence))
        elif isinstance(record, Reviewed):
            lines.append((number, _kind(record), record.t, _sentence(record, moved, text)))
    newest = lines[::-1][:_LEDGER_LINES]
    return [
        {"seq": number, "kind": kind, "title": titles[t], "text": sentence}
        for number, kind, t, sentence in newest
    ]


def _kind(record: Reviewed) -> str:
    if record.outcome.is_saved_correction:
        return "correction"
    return "ambiguous" if record.outcome.reliability is Reliability.AMBIGUOUS else "lesson"


def _sentence(record: Reviewed, moved: dict[int, Learned], text: dict[str, str]) -> str:
    sentence = text[f"taught.{record.outcome.name}"]
    if record.superseded:
        sentence += " " + text["taught.superseded"].format(count=len(record.superseded))
    learned = moved.get(record.lesson)
    if learned is None:
        key = "taught.waiting" if record.steps == 0 else "taught.learning"
        return f"{sentence} {text[key]}"
    route = max(range(3), key=lambda i: record.target[i])
    return f"{sentence} " + text["taught.moved"].format(
        route=text[f"route.{tuple(Route)[route].name}"],
        before=f"{learned.before[route]:.0%}",
        after=f"{learned.after[route]:.0%}",
    )
