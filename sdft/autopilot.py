"""The simulated owner at the phone: reacts to each card as its hidden preference says."""

from __future__ import annotations

from collections.abc import Callable

from sdft.session import Session
from sdft.world.persona import reaction
from sdft.world.routes import Route


class NoOwner(ValueError):
    """The stream says nothing about its owner, so nobody can react for them."""


def answer(session: Session) -> None:
    """Let the owner react to the newest notification, unless somebody has already.

    Raises:
        NoOwner: the notification has no hidden preference.
    """
    newest = session.phone.current
    if newest is None or newest.surface is None:
        return
    if newest.acknowledged and newest.decision.route is not Route.INTERRUPT:
        return
    hidden = session.stream[newest.decision.t - 1].hidden
    if hidden is None:
        raise NoOwner("this stream has no simulated owner; react to its cards yourself")
    session.react(newest.id, reaction(hidden.preferred, newest.decision.route), by="persona")


def play(session: Session, events: int, before_each: Callable[[int], bool]) -> None:
    """Answer up to ``events`` cards, learning as it goes.

    ``before_each`` is called with the number of cards answered so far; False stops.
    """
    session.learn_all()
    if session.decisions == 0:
        session.advance()
    for done in range(events):
        if not before_each(done):
            break
        answer(session)
        session.release()
        if session.decisions == len(session.stream):
            break
        session.advance()
    session.learn_all()
