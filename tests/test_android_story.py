"""The story of the Android prototype on the real model: told apart, kept quiet, asked back.

A person answers on the surface where each notification really went, so what is shown and what is
learned is the session's own doing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sdft.learning.losses import softmax
from sdft.model.prompts import student_prompt
from sdft.session import MemoryRecorder, Session, Start, header_for
from sdft.settings import preset
from sdft.trace import Reviewed
from sdft.world.notification import Notification, Observation
from sdft.world.routes import Outcome, Route

SHOPS = ("Pine & Co", "Harbour Shoes", "Bluebird Books", "Corner Deli", "Lumen Lamps", "Kite Bikes")
OFFERS = ("all teapots", "running shoes", "crime novels", "olive oil", "desk lamps", "helmets")
SERVICES = ("checkout", "login", "search", "payments", "mail", "uploads")


def promotion(number: int) -> Observation:
    shop, offer = SHOPS[number % 6], OFFERS[(number + number // 6) % 6]
    return Observation(
        id=f"promotion-{number}",
        local_time=f"{9 + number % 8:02d}:10",
        regime="weekday",
        category="promo",
        importance=0.05 + 0.01 * (number % 7),
        title=f"{10 + 5 * (number % 9)}% off {offer} at {shop}",
        body=f"This week only: save on {offer} in our store and online.",
    )


def alert(number: int) -> Observation:
    service = SERVICES[number % 6]
    return Observation(
        id=f"alert-{number}",
        local_time=f"{9 + number % 8:02d}:40",
        regime="weekday",
        category="monitoring",
        importance=0.9 + 0.01 * (number % 7),
        title=f"{service} is down",
        body=f"{20 + 7 * (number % 9)}% of {service} requests fail. Somebody has to look now.",
    )


# What a person does with each kind, by where it was put.
DELETES = {
    Route.INTERRUPT: Outcome.DELETED_NOTIFICATION,
    Route.LATER: Outcome.DELETED_FROM_DIGEST,
    Route.ARCHIVE: Outcome.CONFIRMED_QUIET,
}
OPENS = {
    Route.INTERRUPT: Outcome.OPENED_IMMEDIATELY,
    Route.LATER: Outcome.OPENED_DIGEST,
    Route.ARCHIVE: Outcome.ASKED_TO_SHOW,
}


def session_on(engine, kinds: Sequence[Observation], steps: int) -> Session:
    settings = preset("demo")
    settings = replace(settings, update=replace(settings.update, steps=steps))
    stream = tuple(Notification(seen) for seen in kinds)
    start = Start(stream, "story", "", 11, settings)
    session = Session(engine, stream, header_for(start, engine, {}), MemoryRecorder())
    session.advance()
    return session


def answer(session: Session, gestures: dict[Route, Outcome]) -> None:
    newest = session.phone.current
    session.react(newest.id, gestures[newest.decision.route])
    session.release()
    session.learn_all()
    session.advance()


def belief(session: Session, seen: Observation, route: Route) -> float:
    logits = session.engine.logits([student_prompt(seen)], session.adapter)
    return float(softmax(logits)[0][route.index])


def pairs_until_told_apart(engine, steps: int, limit: int) -> int:
    """Pairs of gestures until unseen notifications of both kinds get their own route above 0.9."""
    mixed = [kind(n) for n in range(limit + 2) for kind in (promotion, alert)]
    session = session_on(engine, mixed, steps)
    for pair in range(1, limit + 1):
        answer(session, DELETES)
        answer(session, OPENS)
        quiet = belief(session, promotion(pair + 30), Route.ARCHIVE)
        loud = belief(session, alert(pair + 30), Route.INTERRUPT)
        if quiet > 0.9 and loud > 0.9:
            return pair
    return limit + 1


def test_told_apart_with_the_demo_settings(engine):
    assert pairs_until_told_apart(engine, steps=6, limit=5) <= 5


def test_told_apart_with_the_published_steps(engine):
    assert pairs_until_told_apart(engine, steps=2, limit=14) <= 14


def test_kept_quiet_and_asked_back(engine):
    session = session_on(engine, [promotion(n) for n in range(40)], steps=6)
    deletions = 0
    while belief(session, promotion(50), Route.ARCHIVE) <= 0.9:
        answer(session, DELETES)
        deletions += 1
        assert deletions <= 10
    # Without evidence to the contrary the other kind follows: something to see, not to hide.
    assert belief(session, alert(50), Route.ARCHIVE) > 0.5

    requests = 0
    while belief(session, promotion(50), Route.INTERRUPT) <= 0.9:
        answer(session, OPENS)
        requests += 1
        assert requests <= 5
    reviews = [r for r in session.records if isinstance(r, Reviewed)]
    assert any(r.superseded for r in reviews)
    assert all(lesson.group != "ARCHIVE" for lesson in session.lessons[-requests:])
