"""The simulated owner at the phone: reacts to each card as its hidden preference says."""

from __future__ import annotations

from collections.abc import Callable

from sdft.session import Session
from sdft.world.persona import reaction
from sdft.world.routes import Outcome


class NoOwner(ValueError):
    """The stream says nothing about its owner, so nobody can react for them."""


def answer_for(session: Session) -> Outcome | None:
    """What the owner does with the newest notification; None if it has been dealt with.

    Raises:
        NoOwner: the notification has no hidden preference.
    """
    newest = session.phone.current
    if newest is None or newest.surface is None or newest.acknowledged:
        return None
    hidden = session.stream[newest.decision.t - 1].hidden
    if hidden is None:
        raise NoOwner("this stream has no simulated owner; react to its cards yourself")
    return reaction(hidden.preferred, newest.decision.route)


def play(session: Session, events: int, before_each: Callable[[int], bool]) -> None:
    """Answer up to ``events`` cards, learning as it goes.

    ``before_each`` is called with the number of cards answered so far; False stops.
    """
    session.catch_up()
    for done in range(events):
        if not before_each(done):
            break
        session.learn_all()
        outcome = answer_for(session)
        if outcome is not None:
            session.react(session.phone.current.id, outcome, by="persona")
            session.release()
        if session.decisions == len(session.stream):
            break
        session.advance()
    session.learn_all()
