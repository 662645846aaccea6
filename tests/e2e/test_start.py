"""Starting: without network and cache, and again after a hard stop."""

from __future__ import annotations

from .conftest import App


def test_without_network_and_cache_the_app_says_what_is_missing(tmp_path, new_player):
    app = App(tmp_path, SDFT_CACHE=str(tmp_path / "cache"), PIP_NO_INDEX="1", PIP_FIND_LINKS="")
    try:
        player = new_player()
        player.page.goto(app.url)
        player.page.wait_for_selector(
            "[data-testid=learning-state][data-kind=problem]", timeout=60_000
        )
        said = player.at("learning-state").inner_text()
        assert "is not on this machine yet" in said and "start again" in said
    finally:
        app.kill()


def test_after_a_hard_stop_the_session_goes_on(embedded_folder, tmp_path, new_player):
    app = App(tmp_path)
    try:
        player = new_player().open(app.url)
        for _ in range(4):
            player.answer("delete")
        player.settled()
        card, regret = player.card(), player.at("metric-regret").inner_text()
        app.kill()
        app.start()
        player.problems.clear()  # the page lost its connection, which the browser reports
        player.page.goto(app.url)
        player.page.wait_for_selector(f"[data-notification-id={card[0]}]", timeout=60_000)
        player.settled()
        assert player.card() == card
        assert player.at("metric-regret").inner_text() == regret
        player.answer("delete")
    finally:
        app.kill()
