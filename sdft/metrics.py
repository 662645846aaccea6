"""What a trace says about how well it went (PROTOCOL.md section 8). Prequential: every decision is
scored before anything is learned from it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass

from sdft.trace import Decided, Learned, Matured, Record, Reviewed, Scored
from sdft.world.routes import ROUTES, Reliability


@dataclass(frozen=True)
class Metrics:
    """Totals of one trace. Scores are None if nothing was scored."""

    decisions: int
    accuracy: float | None  # share of decisions equal to the sampled preference
    cumulative_regret: float | None  # utility lost against the best route, summed
    expected_regret: float | None  # the same under b_t instead of the drawn route
    reward_per_decision: float  # observable reward of matured callbacks, by all decisions
    lessons: int
    updates: int  # optimizer steps
    reliable: int  # matured callbacks by how much they prove
    ambiguous: int
    censored: int
    pending: int  # callbacks never released; their decisions are scored all the same
    routes: dict[str, int]
    accuracy_by_regime: dict[str, float]
    seconds: float  # spent deciding, reviewing and updating

    def as_dict(self) -> dict:
        """Plain JSON data."""
        return asdict(self)


def metrics(records: Iterable[Record]) -> Metrics:
    """All metrics of a trace's records."""
    kept = list(records)
    decided = [r for r in kept if isinstance(r, Decided)]
    scored = [r for r in kept if isinstance(r, Scored)]
    matured = {r.t: r for r in kept if isinstance(r, Matured)}
    kinds = [r.outcome.reliability for r in matured.values()]
    learned = [r for r in kept if isinstance(r, Learned)]
    rewards = sum(r.reward for r in matured.values())
    return Metrics(
        decisions=len(decided),
        accuracy=_mean([s.correct for s in scored]),
        cumulative_regret=_total([s.regret for s in scored]),
        expected_regret=_total([s.expected_regret for s in scored]),
        reward_per_decision=rewards / len(decided) if decided else 0.0,
        lessons=sum(isinstance(r, Reviewed) for r in kept),
        updates=learned[-1].updates if learned else 0,
        reliable=kinds.count(Reliability.RELIABLE),
        ambiguous=kinds.count(Reliability.AMBIGUOUS),
        censored=kinds.count(Reliability.CENSORED),
        pending=len(decided) - len(matured),
        routes={route.name: sum(d.route is route for d in decided) for route in ROUTES},
        accuracy_by_regime=_by_regime(decided, scored),
        seconds=sum(getattr(r, "seconds", 0.0) for r in kept),
    )


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None


def _total(values: Sequence[float]) -> float | None:
    return sum(values) if values else None


def _by_regime(decided: Sequence[Decided], scored: Sequence[Scored]) -> dict[str, float]:
    regime = {d.t: d.seen.regime for d in decided}
    correct: dict[str, list[bool]] = {}
    for score in scored:
        correct.setdefault(regime[score.t], []).append(score.correct)
    return {name: sum(values) / len(values) for name, values in correct.items()}


def cumulative(values: Iterable[float]) -> list[float]:
    """Running totals."""
    total, totals = 0.0, []
    for value in values:
        total += value
        totals.append(total)
    return totals


def moving_accuracy(correct: Sequence[bool], window: int = 30) -> list[float]:
    """Share correct among the last ``window`` decisions (fewer at the start)."""
    shares = []
    for end in range(1, len(correct) + 1):
        recent = correct[max(0, end - window) : end]
        shares.append(sum(recent) / len(recent))
    return shares
