"""The causal loop: the only place where world, model and learning meet.

    release callbacks whose window has closed  ->  learn from each
    see x_t  ->  student p_t  ->  behaviour b_t  ->  sample route a_t
    seal  ->  score before anything is learned from it  ->  execute  ->  queue the callback

Every stage can be called alone, and out of order it is refused. A session is a fold over its trace:
stages compute records, ``_commit`` makes them durable and only then applies them, so what is in
memory is never ahead of what is on disk. A session is used by one thread at a time.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from sdft.learning.losses import softmax
from sdft.learning.methods import Method, method_named
from sdft.learning.replay import Lesson, contradicted, remember
from sdft.learning.target import group
from sdft.model.engine import Adapter, Engine, OptimizerState, PromptTooLong, Row
from sdft.model.prompts import hindsight_prompt, student_prompt
from sdft.settings import Settings, settings_from, settings_to
from sdft.trace import (
    Decided,
    Header,
    Learned,
    Matured,
    Reacted,
    Record,
    Reviewed,
    Scored,
    SettingsChanged,
    Triple,
    Updated,
    Waited,
)
from sdft.world.chance import named_generator
from sdft.world.notification import Notification
from sdft.world.phone import MINUTES_PER_DECISION, Delivered, GestureError, Phone, SealedDecision
from sdft.world.routes import Outcome, Route, gestures


class OrderError(RuntimeError):
    """A stage was called before it may be; the message names the stage that comes first."""


@dataclass(frozen=True)
class Checkpoint:
    """What a trace cannot give back cheaply: adapter weights and the optimizer's memory."""

    adapter: Adapter
    optimizer: OptimizerState


class Recorder(Protocol):
    """Where records become durable before a session goes on."""

    def append(self, records: Sequence[Record], checkpoint: Checkpoint | None) -> None:
        """Store all of it or nothing. Raises StoreError, after which nothing has changed."""
        ...


class MemoryRecorder:
    """Keeps nothing; for runs whose trace is written at the end."""

    def append(self, records: Sequence[Record], checkpoint: Checkpoint | None) -> None:
        """Accept and forget."""


@dataclass(frozen=True)
class Start:
    """What makes a session: its stream, its seed, its method and settings."""

    stream: tuple[Notification, ...]
    stream_name: str
    owner: str
    seed: int
    settings: Settings
    method: str = "online-sdft"
    changes: tuple[tuple[int, str], ...] = ()


def header_for(start: Start, engine: Engine, software: dict[str, str]) -> Header:
    """The trace header of a session."""
    return Header(
        model=engine.info.name,
        method=start.method,
        seed=start.seed,
        settings=settings_to(start.settings),
        stream=start.stream_name,
        length=len(start.stream),
        owner=start.owner,
        adapter_parameters=engine.layout.size,
        software=software,
        changes=start.changes,
    )


def check_stream(stream: Iterable[Notification], engine: Engine) -> None:
    """Refuse a stream in which a prompt would not fit, before anything starts.

    Raises:
        PromptTooLong: names the notification, its tokens and the remedy.
        ValueError: the stream is empty.
    """
    count = 0
    for count, item in enumerate(stream, 1):
        if _surely_fits(item):
            continue
        try:
            engine.count_tokens(student_prompt(item.seen))
            for route in Route:
                for outcome in gestures(route):
                    engine.count_tokens(hindsight_prompt(item.seen, route, outcome))
        except PromptTooLong as error:
            raise PromptTooLong(f"notification {count} ({item.id!r}): {error}") from error
    if not count:
        raise ValueError("the stream is empty; give it at least one notification")


def _surely_fits(item: Notification) -> bool:
    """A token is at least one byte, and our own words take fewer than 200, so 400 more are safe."""
    seen = item.seen
    text = seen.title + seen.body + seen.category + seen.regime
    return len(text.encode("utf-8")) <= 400


class Session:
    """One phone, one owner, one adapter."""

    def __init__(
        self,
        engine: Engine,
        stream: Sequence[Notification],
        header: Header,
        recorder: Recorder,
        records: Sequence[Record] = (),
        checkpoint: Checkpoint | None = None,
    ) -> None:
        """A new session, or with ``records`` and ``checkpoint`` one that goes on from there."""
        self.engine = engine
        self.header = header
        self.records: list[Record] = []
        self.phone = Phone()
        self.lessons: tuple[Lesson, ...] = ()
        self.lesson_count = 0
        self.silent_for = 0
        self._stream = tuple(stream)
        self._recorder = recorder
        self._start_adapter = engine.new_adapter(header.seed)
        fresh = Checkpoint(self._start_adapter, OptimizerState.fresh(engine.layout))
        self._checkpoint = checkpoint or fresh
        self._decided = 0
        self._ready_to_decide = True
        self._to_review: list[Delivered] = []
        self._to_update: Reviewed | None = None
        self._use(settings_from(header.settings))
        for record in records:
            self._apply(record)

    @property
    def settings(self) -> Settings:
        """The settings in force."""
        return self._settings

    @property
    def adapter(self) -> Adapter:
        """The adapter as of the last finished lesson."""
        return self._checkpoint.adapter

    @property
    def stream(self) -> tuple[Notification, ...]:
        """All notifications of this session, delivered or not; the learner never sees this."""
        return self._stream

    @property
    def decisions(self) -> int:
        """Decisions made so far."""
        return self._decided

    @property
    def lessons_due(self) -> int:
        """Matured lessons that have not been learned yet."""
        return len(self._to_review) + (self._to_update is not None)

    @property
    def finished(self) -> bool:
        """Whether the stream has ended and its last card has been answered."""
        return self._decided == len(self._stream) and self.phone.waiting_card is None

    # Stages. Each returns the records that it added.

    def decide(self) -> list[Record]:
        """See the next notification, decide, seal and score it.

        Raises:
            OrderError: the stream has ended, a card waits, the clock has not moved, or lessons are
                due first.
        """
        self._refuse_early_decision()
        started = time.perf_counter()
        t = self._decided + 1
        item = self._stream[t - 1]
        logits = self.engine.logits([student_prompt(item.seen)], self.adapter)
        student = _triple(softmax(logits)[0])
        behavior = self.method.behavior(student, t, self.silent_for)
        uniform = float(named_generator(self.header.seed, "serving", t).random())
        route, part = behavior.draw(uniform)
        decided = Decided(
            t=t,
            clock=MINUTES_PER_DECISION * (t - 1),
            seen=item.seen,
            student=student,
            greedy=behavior.greedy,
            epsilon=behavior.epsilon,
            probe=behavior.probe,
            guard=behavior.guard,
            uniform=uniform,
            route=route,
            drawn_by=part,
            silent_for=self.silent_for,
            updates=self._checkpoint.optimizer.steps,
            seconds=time.perf_counter() - started,
        )
        scored = [_score(t, item, decided)] if item.hidden else []
        return self._commit([decided, *scored])

    def _refuse_early_decision(self) -> None:
        if self._decided == len(self._stream):
            raise OrderError(f"the stream has ended after {self._decided} notifications; reset")
        if self.phone.waiting_card is not None:
            raise OrderError(
                f"notification {self.phone.waiting_card.id!r} waits on the lock screen; "
                "react to it first"
            )
        if not self._ready_to_decide:
            raise OrderError("the clock has not moved since the last decision; wait first")
        if self.lessons_due and not self.settings.learn_behind:
            raise OrderError(f"{self.lessons_due} lessons are due; learn first")

    def react(self, notification_id: str, outcome: Outcome, by: str = "person") -> list[Record]:
        """Record what the owner did with a delivered notification.

        Raises:
            GestureError: not delivered yet, unknown, answered, or impossible on its route.
        """
        known = any(item.id == notification_id for item in self._stream)
        try:
            item = self.phone.check(notification_id, outcome)
        except GestureError as error:
            if known or "has not been delivered" not in str(error):
                raise
            raise GestureError(
                f"notification {notification_id[:60]!r} is not in this session's stream; "
                "use the id of a card on the phone"
            ) from error
        reacted = Reacted(
            t=item.decision.t,
            notification_id=item.id,
            outcome=outcome,
            clock=self.phone.clock,
            by=by,
        )
        return self._commit([reacted])

    def wait(self) -> list[Record]:
        """Move the clock to the next decision and release every callback that is then due.

        Raises:
            OrderError: a card waits, the clock has moved already, or lessons are overdue.
        """
        if self.phone.waiting_card is not None:
            raise OrderError("a card waits on the lock screen; react to it first")
        if self._ready_to_decide:
            raise OrderError("the clock has moved already; decide next")
        if self.lessons_due:
            raise OrderError(f"{self.lessons_due} lessons are due; learn first")
        clock = MINUTES_PER_DECISION * self._decided
        return self._commit([Waited(clock=clock), *self._maturing(clock)])

    def release(self) -> list[Record]:
        """Release every callback whose window has closed at the present clock."""
        due = self._maturing(self.phone.clock)
        return self._commit(due) if due else []

    def _maturing(self, clock: int) -> list[Record]:
        return [
            Matured(
                t=item.decision.t,
                notification_id=item.id,
                outcome=item.outcome,
                clock=clock,
                reward=item.outcome.reward,
            )
            for item in self.phone.due(clock)
        ]

    def learn(self) -> list[Record]:
        """Learn from the next matured callback: review it, then update the adapter.

        Raises:
            OrderError: nothing has matured.
        """
        if not self.lessons_due:
            raise OrderError("no callback has matured; wait or react first")
        reviewed = self.review() if self._to_update is None else []
        return reviewed + (self.update() if self._to_update is not None else [])

    def review(self) -> list[Record]:
        """The teacher rereads the next matured decision; its target becomes a lesson."""
        if self._to_update is not None:
            raise OrderError("the last lesson has not been learned; update first")
        if not self._to_review:
            raise OrderError("no callback has matured; wait or react first")
        started = time.perf_counter()
        item = self._to_review[0]
        decision, outcome = item.decision, item.outcome
        prompt = hindsight_prompt(decision.seen, decision.route, outcome)
        teacher = _triple(softmax(self.engine.logits([prompt], None))[0])
        target = _triple(self.method.target(outcome, decision.student, teacher))
        number = self.lesson_count + 1
        lesson = Lesson(number, decision.seen, target, group(outcome))
        gone = ()
        if outcome.is_saved_correction:
            gone = contradicted(self.lessons, lesson, self.settings.replay)
        reviewed = Reviewed(
            lesson=number,
            t=decision.t,
            notification_id=item.id,
            outcome=outcome,
            sealed=decision.student,
            teacher=teacher,
            target=target,
            group=lesson.group,
            superseded=tuple(old.number for old in gone),
            steps=self.method.steps(number),
            seconds=time.perf_counter() - started,
        )
        return self._commit([reviewed])

    def update(self) -> list[Record]:
        """The optimizer steps of the lesson just reviewed. Only the adapter changes."""
        if self._to_update is None:
            raise OrderError("no lesson waits for an update; review first")
        started = time.perf_counter()
        number, steps = self._to_update.lesson, self._to_update.steps
        adapter, optimizer = self._checkpoint.adapter, self._checkpoint.optimizer
        updated, before = [], None
        for step in range(1, steps + 1):
            batch = self.method.batch(self.lessons, self.header.seed, number, step)
            rows = [Row(student_prompt(lesson.seen), lesson.target) for lesson in batch]
            result = self.engine.train_step(rows, adapter, optimizer, self.settings.update.step)
            adapter, optimizer = result.adapter, result.optimizer
            before = before or _triple(softmax(result.logits)[0])
            updated.append(
                Updated(
                    lesson=number,
                    step=step,
                    rows=tuple(lesson.number for lesson in batch),
                    loss=result.loss,
                    gradient_norm=result.gradient_norm,
                )
            )
        after = softmax(self.engine.logits([student_prompt(self.lessons[-1].seen)], adapter))[0]
        learned = Learned(
            lesson=number,
            before=before,
            after=_triple(after),
            updates=optimizer.steps,
            distance=adapter.distance(self._start_adapter),
            adapter=adapter.digest,
            seconds=time.perf_counter() - started,
        )
        return self._commit([*updated, learned], Checkpoint(adapter, optimizer))

    def learn_all(self) -> list[Record]:
        """Learn from everything that has matured."""
        added: list[Record] = []
        while self.lessons_due:
            added += self.learn()
        return added

    def advance(self) -> list[Record]:
        """All in one: finish what is due, move the clock, learn, decide on the next card.

        With ``learn_behind`` the lessons that mature now are left for the caller to learn while the
        owner looks at the card.
        """
        added: list[Record] = []
        if not self._ready_to_decide:
            added += self.learn_all() + self.wait()
        if not self.settings.learn_behind:
            added += self.learn_all()
        return added + (self.decide() if self._decided < len(self._stream) else [])

    def catch_up(self) -> list[Record]:
        """Finish a step that was cut off: show the card that is missing, if one is.

        After a stop or a full disk the newest card may have been answered without a next one.
        """
        added = self.release()
        newest = self.phone.current
        missing = newest is None or newest.answered or newest.acknowledged
        if missing and self._decided < len(self._stream):
            added += self.advance()
        return added

    def change_settings(self, settings: Settings) -> list[Record]:
        """Use other settings from here on."""
        return self._commit([SettingsChanged(settings=settings_to(settings))])

    # State: only ``_apply`` changes it.

    def _commit(
        self, records: Sequence[Record], checkpoint: Checkpoint | None = None
    ) -> list[Record]:
        self._recorder.append(records, checkpoint)
        if checkpoint is not None:
            self._checkpoint = checkpoint
        for record in records:
            self._apply(record)
        return list(records)

    def _apply(self, record: Record) -> None:
        handlers: dict[type, Callable] = {
            Decided: self._on_decided,
            Reacted: lambda r: self.phone.react(r.notification_id, r.outcome),
            Waited: self._on_waited,
            Matured: self._on_matured,
            Reviewed: self._on_reviewed,
            Learned: self._on_learned,
            SettingsChanged: lambda r: self._use(settings_from(r.settings)),
        }
        handler = handlers.get(type(record))
        if handler:
            handler(record)
        self.records.append(record)

    def _use(self, settings: Settings) -> None:
        self._settings = settings
        self.method: Method = method_named(self.header.method, settings)

    def _on_decided(self, record: Decided) -> None:
        sealed = SealedDecision(
            record.t, record.clock, record.seen, record.student, record.behavior, record.route
        )
        self.phone.deliver(sealed)
        self.silent_for = self.silent_for + 1 if record.route is Route.ARCHIVE else 0
        self._decided = record.t
        self._ready_to_decide = False

    def _on_waited(self, record: Waited) -> None:
        self.phone.wait(record.clock)
        self._ready_to_decide = self._decided < len(self._stream)

    def _on_matured(self, record: Matured) -> None:
        item = self.phone.release(record.notification_id)
        if self.method.teaches(item.outcome):
            self._to_review.append(item)

    def _on_reviewed(self, record: Reviewed) -> None:
        item = self._to_review.pop(0)
        kept = tuple(x for x in self.lessons if x.number not in record.superseded)
        lesson = Lesson(record.lesson, item.decision.seen, record.target, record.group)
        self.lessons = remember(kept, lesson, self.settings.replay)
        self.lesson_count = record.lesson
        if record.steps:
            self._to_update = record

    def _on_learned(self, record: Learned) -> None:
        self._to_update = None


def _triple(values: Sequence[float]) -> Triple:
    a, b, c = (float(v) for v in values)
    return (a, b, c)


def _score(t: int, item: Notification, decided: Decided) -> Scored:
    hidden = item.hidden
    return Scored(
        t=t,
        preferred=hidden.preferred,
        utilities=hidden.utilities,
        regret=hidden.regret(decided.route),
        expected_regret=hidden.expected_regret(decided.behavior),
        correct=decided.route is hidden.preferred,
    )
