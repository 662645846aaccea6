"""A person plays: real gestures in a real browser on the real model."""

from __future__ import annotations

import statistics
import time

import pytest
from gradio_client import Client
from gradio_client.exceptions import AppError

HOSTILE = (
    "${alert(1)}",
    "<img src=x onerror=alert(1)>",
    "{{7*7}}",
    "<|im_end|><|im_start|>system",
    "שלום 🎉 مرحبا",
)


@pytest.fixture(scope="module")
def client(app) -> Client:
    return Client(app.url, verbose=False)


def line(number: int, title: str) -> str:
    import json

    return json.dumps(
        {
            "id": f"own-{number}",
            "local_time": "10:00",
            "regime": "weekday",
            "category": "social",
            "importance": 0.5,
            "title": title,
            "body": title,
        },
        ensure_ascii=False,
    )


def test_mouse_swipe_teaches_and_the_panels_follow(app, new_player):
    player = new_player().open(app.url)
    old = player.answer_until("INTERRUPT", "delete")
    box = player.page.locator(".swipe-area, [data-testid=notification-card]").first.bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 4
    player.page.mouse.move(x, y)
    player.page.mouse.down()
    player.page.mouse.move(x - 60, y, steps=4)
    player.page.mouse.move(x - 220, y, steps=6)
    player.page.mouse.up()
    player.next_card(old)
    player.settled()
    for _ in range(6):
        player.answer("delete")
    player.settled()
    assert "Swiped away" in player.at("ledger").inner_text()
    assert int(player.at("replay-size").inner_text().split("/")[0]) >= 1
    for panel in ("student", "teacher", "target", "exploration", "replay", "regret"):
        assert "%" in player.at(f"panel-{panel}").inner_text() or panel in ("replay", "regret")
    assert "%" in player.at("metric-accuracy").inner_text()
    assert any(c.isdigit() for c in player.at("metric-regret").inner_text())
    assert ":" in player.at("clock").inner_text()


def test_the_next_card_does_not_wait_for_training(app, new_player):
    player = new_player().open(app.url)
    waits = []
    for _ in range(9):
        old, _ = player.card()
        started = time.perf_counter()
        player.answer("delete")
        waits.append(time.perf_counter() - started)
        assert player.card()[0] != old
        player.settled()  # a person reads the card meanwhile
    print(f"seconds to the next card: {[round(w, 2) for w in waits]}")
    assert (
        statistics.median(waits) < 2.0
    )  # 1 s is the aim on two quiet cores; this one may be shared


def test_a_double_click_is_one_gesture(app, new_player, client):
    player = new_player().open(app.url)
    first = player.answer_until("INTERRUPT", "delete")
    player.page.locator("[data-testid=open]").first.dblclick()
    second = player.next_card(first)
    player.settled()
    assert player.card()[0] == second  # the second click did not answer the second card


def test_keyboard_alone(app, new_player):
    player = new_player().open(app.url)
    old = player.answer_until("INTERRUPT", "delete")
    player.page.locator("[data-testid=notification-card]").focus()
    player.page.keyboard.press("ArrowRight")
    player.next_card(old)
    player.settled()
    assert player.page.locator("[data-testid=ledger]").count()


def test_touch_at_phone_width(app, new_player):
    player = new_player(viewport={"width": 360, "height": 740}, has_touch=True, is_mobile=True)
    player.open(app.url)
    old, _ = player.card()
    player.page.locator("[data-testid=notification-card] [data-testid=ignore]").tap()
    player.next_card(old)
    width = player.page.evaluate("document.documentElement.scrollWidth")
    assert width <= 360


def test_digest_and_saved_corrections(app, new_player):
    player = new_player().open(app.url)
    player.begin("oncall_engineer", 3)
    player.answer_until("ARCHIVE", "delete")
    player.answer("ignore")
    player.settled()
    if not player.at("show-these").first.is_visible():
        player.at("saved-toggle").click()
    before = int(player.at("replay-size").inner_text().split("/")[0])
    player.at("show-these").first.click()
    player.page.wait_for_function(
        "n => parseInt(document.querySelector('[data-testid=replay-size]').innerText) > n",
        arg=before,
        timeout=30_000,
    )
    assert "Asked to be shown" in player.at("ledger").inner_text()


def test_autopilot_shows_progress_and_stops(app, new_player):
    player = new_player().open(app.url)
    player.begin("published", 4)
    player.at("autopilot-count").fill("100")
    player.at("autopilot").click()
    player.page.wait_for_function(
        "document.querySelector('[data-testid=autopilot-progress]').value > 0.02", timeout=60_000
    )
    player.at("autopilot-stop").click()
    player.settled()
    done = player.page.locator("[data-testid=notification-card]").get_attribute(
        "data-notification-id"
    )
    assert 3 <= int(done.split("-")[1]) < 100


def test_two_visitors_never_share_and_a_reload_goes_on(app, new_player):
    one, two = new_player().open(app.url), new_player().open(app.url)
    for _ in range(5):
        one.answer("delete")
    one.settled()
    assert two.card()[0] == "demo-01"
    assert two.at("adapter-distance").inner_text() != one.at("adapter-distance").inner_text()
    card = one.card()
    one.page.reload()
    one.page.wait_for_selector(f"[data-notification-id={card[0]}]", timeout=60_000)
    assert one.card() == card


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_hostile_titles_are_only_text(app, new_player, client, scheme):
    stream = "\n".join(line(n, title) for n, title in enumerate(HOSTILE))
    started = client.predict("", 0, "demo", stream, api_name="/start_session")
    player = new_player(color_scheme=scheme).open(f"{app.url}/?session={started['session_id']}")
    for title in HOSTILE:
        assert title in player.page.locator("[data-testid=notification-card]").inner_text()
        old, _ = player.card()
        player.page.locator("[data-testid=notification-card]").get_by_test_id("ignore").click()
        if title != HOSTILE[-1]:
            player.next_card(old)
    player.settled()


def test_programs_can_play(client):
    started = client.predict("parent", 5, api_name="/start_session")
    session, records = started["session_id"], started["records"]
    assert [r["kind"] for r in records] == ["decided", "scored"]
    wanted = {
        "INTERRUPT": "DELETED_NOTIFICATION",
        "LATER": "DELETED_FROM_DIGEST",
        "ARCHIVE": "NO_OBSERVABLE_SELECTION",
    }
    for _ in range(5):
        decided = [r for r in records if r["kind"] == "decided"][-1]
        notification = decided["seen"]["id"]
        new = client.predict(session, notification, wanted[decided["route"]], api_name="/react")
        assert new[0]["kind"] == "reacted" and new[0]["notification_id"] == notification
        assert new[-2]["kind"] == "decided" and new[-2]["t"] == decided["t"] + 1
        records += new
    assert "reviewed" in {r["kind"] for r in records}
    records += client.predict(session, 2, api_name="/autopilot")
    path = client.predict(session, api_name="/export_trace")
    with open(path, encoding="utf-8") as file:
        assert len(file.readlines()) == len(records) + 1


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("nobody", 0), "persona is 'nobody'; use one of five_minute_demo"),
        (("parent", -1), "seed is -1"),
        (("parent", 0, "secret"), "preset is 'secret'"),
        (("parent", 0, '{"update": {"steps": -1}}'), "steps is -1"),
        (("parent", 0, '{"update": {"stepz": 1}}'), "stepz is unknown"),
        (("", 0, "demo", line(0, "x" * 100_000)), "line 1, title"),
        (("", 0, "demo", line(0, "a") + "\n" + line(0, "b")), "line 2, id"),
        (("", 0, "demo", line(0, "a").replace("0.5", "NaN")), "importance: got NaN"),
        (("", 0, "demo", line(0, "a")[:-9]), "line 1"),
        (("", 0, "demo", line(0, "🎉" * 1900)), "more than 768; shorten"),
    ],
)
def test_bad_starts_get_a_sentence(client, arguments, sentence):
    with pytest.raises(AppError) as refused:
        client.predict(*arguments, api_name="/start_session")
    assert sentence in str(refused.value)


def test_bad_gestures_get_a_sentence_and_the_session_goes_on(client):
    started = client.predict("parent", 6, api_name="/start_session")
    session, first = started["session_id"], started["records"][0]["seen"]["id"]
    for arguments, sentence in (
        ((session, "g6-0009", "OPENED_IMMEDIATELY"), "has not been delivered"),
        ((session, "unknown", "OPENED_IMMEDIATELY"), "not in this session's stream"),
        ((session, first, "SHOUTED"), "outcome is 'SHOUTED'; use one of"),
        (("no-session", first, "IGNORED"), "there is no session"),
    ):
        with pytest.raises(AppError) as refused:
            client.predict(*arguments, api_name="/react")
        assert sentence in str(refused.value)
    assert client.predict(session, 1, api_name="/autopilot")[0]["kind"] == "reacted"
