"""The view model of the play screen, from sessions without any widget."""

from __future__ import annotations

import json

import pytest

from sdft.host import Host
from sdft.model.owner import ModelOwner, ModelStatus
from sdft.starts import for_the_screen
from sdft.store import Store
from sdft.ui.components.persistent import encode
from sdft.ui.view import GESTURES, duration, loading_view, view, words
from sdft.world.routes import Outcome
from tests.fakes import TinyEngine, small_stream, start_on

OWNERS = [{"id": "published", "name": "Somebody", "briefing": "Be yourself."}]


@pytest.fixture
def hosted(tmp_path):
    owner = ModelOwner(lambda progress: TinyEngine())
    owner.wait_until_ready(20)
    store = Store(tmp_path)
    session = Host(owner, store).start(for_the_screen(start_on(small_stream(60))))
    session.first.result(20)
    yield session
    session.close()
    owner.close()
    store.close()


def test_the_first_screen_has_a_card_and_no_empty_claims(hosted):
    shown = view(hosted, OWNERS)
    assert shown["card"]["id"] == hosted.session.phone.current.id
    assert shown["lesson"] is None and shown["replay"]["size"] == 0
    assert shown["metrics"]["decisions"] == 1 and shown["state"]["kind"] == "ready"
    assert sum(shown["decision"]["behaviour"]) == pytest.approx(1.0)
    assert len(shown["charts"]["regret"]["table"]["rows"]) == 1


def test_after_a_while_every_panel_tells_the_same_story(hosted):
    hosted.autopilot(40).result(20)
    shown = view(hosted, OWNERS)
    session = hosted.session
    assert shown["replay"]["size"] == len(session.lessons) == len(shown["replay"]["rows"])
    newest = shown["replay"]["rows"][0]
    assert newest["lesson"] == session.lesson_count and newest["age"] == 0
    assert newest["chance"] == 1.0 and newest["in_last_batch"]
    lesson = shown["lesson"]
    assert lesson["number"] == session.lesson_count and sum(lesson["target"]) == pytest.approx(1)
    assert lesson["after"] is not None
    mass = shown["decision"]["mass"]
    assert mass["total"] == pytest.approx(mass["epsilon"] + mass["probe"] + mass["guard"])
    regret = [row[1] for row in shown["charts"]["regret"]["table"]["rows"]]
    assert regret == sorted(regret)
    assert regret[-1] == pytest.approx(shown["metrics"]["regret"], abs=1e-3)
    pending = {item.id for item in session.phone.pending()}
    assert {row["id"] for row in shown["pending"]} == pending
    assert any("went from" in line["text"] for line in shown["ledger"])
    assert [line["seq"] for line in shown["ledger"]] == sorted(
        (line["seq"] for line in shown["ledger"]), reverse=True
    )


def test_the_view_is_plain_json_of_a_bearable_size(hosted):
    hosted.autopilot(60).result(20)
    text = encode(view(hosted, OWNERS))
    assert json.loads(text)["session"]["finished"]
    assert len(text) < 100_000  # bytes sent per gesture
    assert "<" not in text


def test_the_hidden_preference_is_never_on_the_page_before_its_score(hosted):
    card = view(hosted, OWNERS)["card"]
    assert not {"hidden", "utilities", "preferred"} & set(card)


def test_every_outcome_has_its_words_and_its_button():
    text = words()
    for outcome in Outcome:
        for key in ("did", "taught", "proves"):
            assert text[f"{key}.{outcome.name}"]
        assert GESTURES[outcome]


def test_durations():
    text = words()
    assert [duration(m, text) for m in (0, 45, 60, 105)] == ["0 min", "45 min", "1 h", "1 h 45 min"]


def test_a_model_that_is_missing_is_a_problem_with_its_sentence():
    shown = loading_view(ModelStatus("failed", "Do this."), OWNERS)
    assert shown["state"] == {"kind": "problem", "text": "Do this.", "progress": None}
    loading = loading_view(ModelStatus("loading", "Fetching", 0.4), OWNERS)
    assert loading["state"]["progress"] == 0.4
