"""The real app in a process of its own, and a real Chromium."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

ROOT = Path(__file__).resolve().parents[2]
FLAGS = (
    "--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync"
).split()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class App:
    """A running ``python app.py``; ``restart`` kills it hard and starts it on the same data."""

    def __init__(self, folder: Path, *options: str, **environment: str) -> None:
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self._log = folder / "app.log"
        self._command = [sys.executable, "app.py", "--port", str(self.port)]
        self._command += ["--data-dir", str(folder / "data"), *options]
        self._environment = {**os.environ, **environment}
        self.start()

    def start(self) -> None:
        with open(self._log, "a", encoding="utf-8") as log:
            self.process = subprocess.Popen(
                self._command, cwd=ROOT, env=self._environment, stdout=log, stderr=log
            )
        deadline = time.monotonic() + 90
        while True:
            try:
                urllib.request.urlopen(self.url, timeout=2).close()
                return
            except OSError:
                if time.monotonic() > deadline or self.process.poll() is not None:
                    raise RuntimeError(self._log.read_text(encoding="utf-8")[-2000:]) from None
                time.sleep(0.1)

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()


@pytest.fixture(scope="session")
def app(embedded_folder, tmp_path_factory):
    running = App(tmp_path_factory.mktemp("app"))
    yield running
    running.kill()


@pytest.fixture(scope="session")
def browser():
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=FLAGS)
        yield chromium
        chromium.close()


class Player:
    """A person at the page: gestures, and what the page shows."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.problems: list[str] = []
        page.on("pageerror", lambda error: self.problems.append(f"page error: {error}"))
        page.on("dialog", lambda dialog: self.problems.append(f"dialog: {dialog.message}"))
        page.on("console", self._listen)
        page.on("request", self._check_address)

    def _listen(self, message) -> None:
        if message.type == "error":
            self.problems.append(f"console: {message.text}")

    def _check_address(self, request) -> None:
        if not request.url.startswith(("http://127.0.0.1", "data:", "blob:")):
            self.problems.append(f"request to {request.url}")

    def at(self, test_id: str):
        return self.page.get_by_test_id(test_id)

    def open(self, url: str) -> Player:
        self.page.goto(url)
        self.page.wait_for_selector(CARD, timeout=120_000)
        self.settled()
        return self

    def begin(self, persona: str, seed: int) -> None:
        """A new session with a generated stream."""
        self.at("persona").select_option(persona)
        self.at("seed").fill(str(seed))
        self.at("reset").click()
        self.page.wait_for_selector(f"[data-notification-id^=g{seed}-]", timeout=60_000)
        self.settled()

    def card(self) -> tuple[str, str]:
        """(notification id, route) of the card that is there."""
        node = self.page.locator(CARD)
        return node.get_attribute("data-notification-id"), node.get_attribute("data-route")

    def next_card(self, old: str) -> str:
        """Wait until another card is there; returns its id."""
        self.page.wait_for_function(
            "([css, old]) => { const card = document.querySelector(css);"
            " return card && card.dataset.notificationId !== old; }",
            arg=[CARD, old],
            timeout=60_000,
        )
        return self.card()[0]

    def settled(self) -> None:
        """Wait until nothing is being decided or learned."""
        self.page.wait_for_selector(
            "[data-testid=learning-state][data-kind=ready],"
            "[data-testid=learning-state][data-kind=ended]",
            timeout=60_000,
        )

    def answer(self, *preferred: str) -> str:
        """Press the first of these buttons that the card has, else go on; returns its id."""
        old, route = self.card()
        card = self.page.locator(CARD)
        for name in (*preferred, "ignore"):
            button = card.get_by_test_id(name)
            if button.count():
                button.click()
                break
        self.next_card(old)
        return old

    def answer_until(self, route: str, *gestures: str, most: int = 30) -> str:
        """Go on until a card took this route; returns its id."""
        for _ in range(most):
            if self.card()[1] == route:
                return self.card()[0]
            self.answer(*gestures)
        raise AssertionError(f"no card took the route {route} in {most} tries")


CARD = "[data-testid=notification-card][data-notification-id]"


@pytest.fixture
def new_player(browser: Browser):
    contexts, players = [], []

    def make(**options) -> Player:
        context = browser.new_context(**{"viewport": {"width": 1280, "height": 900}, **options})
        contexts.append(context)
        players.append(Player(context.new_page()))
        return players[-1]

    yield make
    problems = [problem for player in players for problem in player.problems]
    for context in contexts:
        context.close()
    assert problems == []
