"""Streams: what generation guarantees, and that the sample streams can be made again."""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from sdft.world.catalogue import TextDeck, load_catalogue
from sdft.world.chance import named_generator
from sdft.world.persona import CATEGORIES, REGIMES, TIERS
from sdft.world.routes import Route
from sdft.world.stream import MAX_EVENTS, StreamSpec, generate, read_stream

SAMPLES = Path(__file__).resolve().parents[2] / "sample_streams"
README = (SAMPLES / "README.md").read_text(encoding="utf-8")
COMMANDS = re.findall(r'^    python -c "(.+)"$', README, re.MULTILINE)
SEEDS = [0, 100, 101, 102, 2**40]


@pytest.mark.parametrize("seed", SEEDS)
def test_no_title_and_body_repeat(seed):
    texts = [(n.seen.title, n.seen.body) for n in generate(StreamSpec("published", seed))]
    assert len(set(texts)) == 240


def test_no_title_and_body_repeat_in_the_longest_stream():
    events = generate(StreamSpec("parent", 1, events=MAX_EVENTS))
    assert len({(n.seen.title, n.seen.body) for n in events}) == MAX_EVENTS
    assert len({n.id for n in events}) == MAX_EVENTS


def test_a_deck_deals_every_text_of_a_scenario_once_and_then_says_so():
    scenario = load_catalogue().scenarios["social", "low"]
    small = replace(scenario, wordings=scenario.wordings[-2:])
    texts = sum(wording.variants for wording in small.wordings)
    deck = TextDeck(named_generator(5, "texts"))
    dealt = {(t.title, t.body) for t in (deck.deal(small) for _ in range(texts))}
    assert len(dealt) == texts
    with pytest.raises(ValueError, match="no new text left for low social"):
        deck.deal(small)


def test_the_catalogue_is_complete():
    catalogue = load_catalogue()
    assert set(catalogue.scenarios) == {(c, t) for c in CATEGORIES for t in TIERS}
    for scenario in catalogue.scenarios.values():
        assert len({w.title for w in scenario.wordings}) >= 5
        assert all(0 < m < 1 for m in (scenario.importance, scenario.deadline, scenario.affinity))
        # enough for a third of the longest stream's events of a category
        assert sum(w.variants for w in scenario.wordings) >= 2 * MAX_EVENTS / 21
    urgent = [s for (_, tier), s in catalogue.scenarios.items() if tier == "urgent"]
    stated = [w for s in urgent for w in s.wordings if "{minutes}" in w.title + w.body]
    assert len(stated) >= 10


def test_a_tier_has_its_own_words(tier_of):
    events = [n for seed in (100, 101) for n in generate(StreamSpec("published", seed))]
    assert {tier_of(n.seen) for n in events} == set(TIERS)  # the fixture asserts one match each


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("events", [240, 241, 500])
def test_regimes_and_categories_are_balanced(seed, events, tier_of):
    stream = generate(StreamSpec("published", seed, events=events))
    sizes = Counter(n.seen.regime for n in stream)
    assert list(sizes) == list(REGIMES) and max(sizes.values()) - min(sizes.values()) <= 1
    for regime in REGIMES:
        seen = [n.seen for n in stream if n.seen.regime == regime]
        counts = Counter(s.category for s in seen)
        assert len(counts) == 7 and max(counts.values()) - min(counts.values()) <= 1
    if events == 240:
        tiers = Counter((n.seen.category, tier_of(n.seen)) for n in stream)
        assert len(tiers) == 21 and max(tiers.values()) - min(tiers.values()) <= 3


@pytest.mark.parametrize("events", [1, 2, 3, 7, 22])
def test_short_streams_work(events):
    stream = generate(StreamSpec("published", 100, events=events))
    assert len(stream) == events
    assert all(n.seen.regime in REGIMES for n in stream)


@pytest.mark.parametrize("seed", SEEDS)
def test_times_are_ordered_within_a_regime(seed):
    stream = generate(StreamSpec("published", seed))
    for regime, start, end in (("weekday", 8, 18), ("on-call", 0, 24), ("off-hours", 18, 32)):
        times = [n.seen.local_time for n in stream if n.seen.regime == regime]
        minutes = [60 * int(t[:2]) + int(t[3:]) for t in times]
        unwrapped = [(m - 60 * start) % (24 * 60) for m in minutes]  # minutes since the start
        assert unwrapped == sorted(unwrapped)
        assert 0 <= unwrapped[0] and unwrapped[-1] < 60 * (end - start)


def test_the_same_spec_gives_the_same_stream_and_another_seed_another():
    spec = StreamSpec("oncall_engineer", 100)
    assert generate(spec) == generate(spec)
    assert generate(spec) != generate(replace(spec, seed=101))


@pytest.mark.parametrize("other", ["oncall_engineer", "parent", "exam_student"])
def test_the_persona_judges_but_does_not_choose_the_events(other):
    one, two = (generate(StreamSpec(p, 100)) for p in ("published", other))
    assert [n.seen for n in one] == [n.seen for n in two]
    assert [n.hidden for n in one] != [n.hidden for n in two]


def test_a_change_of_persona_rejudges_only_from_the_change_on():
    parent, student = (generate(StreamSpec(p, 102)) for p in ("parent", "exam_student"))
    changes = ((121, "exam_student"), (200, "parent"))
    mixed = generate(StreamSpec("parent", 102, changes=changes))
    assert mixed == parent[:120] + student[120:199] + parent[199:]
    assert parent[120].hidden != student[120].hidden  # so the slice above says where it begins


@pytest.mark.parametrize(
    ("fields", "word"),
    [
        ({"persona": "nobody"}, "nobody"),
        ({"seed": -1}, "seed"),
        ({"seed": 1.5}, "seed"),
        ({"events": 0}, "events"),
        ({"events": MAX_EVENTS + 1}, "events"),
        ({"events": True}, "events"),
        ({"changes": ((1, "parent"),)}, "changes"),
        ({"changes": ((241, "parent"),)}, "changes"),
        ({"changes": ((50, "parent"), (50, "published"))}, "changes"),
        ({"changes": ((50, "somebody"),)}, "somebody"),
    ],
)
def test_a_spec_that_makes_no_sense_is_refused(fields, word):
    with pytest.raises(ValueError, match=word):
        StreamSpec(**{"persona": "published", "seed": 100, **fields})


@pytest.mark.parametrize("command", COMMANDS, ids=range(len(COMMANDS)))
def test_a_command_of_the_readme_makes_the_same_bytes_again(command, tmp_path, monkeypatch):
    (tmp_path / "sample_streams").mkdir()
    monkeypatch.chdir(tmp_path)
    exec(command, {})  # our own README, not an input
    (made,) = (tmp_path / "sample_streams").iterdir()
    assert made.read_bytes() == (SAMPLES / made.name).read_bytes()


def test_the_readme_covers_every_sample_stream():
    names = {path.name for path in SAMPLES.glob("*seed*.jsonl")}
    assert len(names) == 3 == len(COMMANDS)
    assert all(f"**`{name}`**" in README for name in (*names, "five_minute_demo.jsonl"))


def test_the_readme_shows_a_real_line():
    shown = json.loads(re.search(r"```json\n(.+?)```", README, re.DOTALL)[1])
    line = (SAMPLES / "five_minute_demo.jsonl").read_text(encoding="utf-8").split("\n")[1]
    assert json.loads(line) == shown


def test_the_demo_has_sharply_distinct_kinds_that_alternate():
    demo = read_stream(SAMPLES / "five_minute_demo.jsonl")
    assert len(demo) == 36 == len({(n.seen.title, n.seen.body) for n in demo})
    routes_of = {n.seen.category: set() for n in demo}
    for n in demo:
        routes_of[n.seen.category].add(n.hidden.preferred)
        best, second, _ = sorted(n.hidden.utilities, reverse=True)
        assert n.hidden.regret(n.hidden.preferred) == 0.0 and best - second >= 0.8
    assert all(len(routes) == 1 for routes in routes_of.values())
    first = [n.hidden.preferred for n in demo[:12]]
    assert Route.LATER not in first and first.count(Route.ARCHIVE) == 6
    assert Route.LATER in [n.hidden.preferred for n in demo[12:18]]
