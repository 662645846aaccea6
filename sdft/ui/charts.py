"""The curves as Plotly figures, each with the table that says the same.

Colours are left to the page, which knows the theme: a trace names its part in ``meta.role``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import plotly.graph_objects as go

from sdft.metrics import cumulative, moving_accuracy
from sdft.trace import Scored

_TABLE_ROWS = 60  # a table twin shows at most this many rows, evenly spaced
ACCURACY_WINDOW = 30  # decisions in the moving window


def charts(scored: Sequence[Scored], text: dict[str, str]) -> dict[str, Any] | None:
    """Regret and accuracy over the decisions so far, or None before the first score."""
    if not scored:
        return None
    steps = [score.t for score in scored]
    regret = _rounded(cumulative(score.regret for score in scored))
    expected = _rounded(cumulative(score.expected_regret for score in scored))
    correct = [score.correct for score in scored]
    recent = _rounded(moving_accuracy(correct, ACCURACY_WINDOW))
    overall = _rounded([n / t for t, n in enumerate(cumulative(correct), 1)])
    window = text["chart.recent"].format(window=ACCURACY_WINDOW)
    return {
        "regret": _chart(
            steps,
            {text["chart.regret"]: (regret, "main"), text["chart.expected"]: (expected, "ghost")},
            text["chart.decision"],
            {"rangemode": "tozero"},
        ),
        "accuracy": _chart(
            steps,
            {window: (recent, "main"), text["chart.overall"]: (overall, "ghost")},
            text["chart.decision"],
            {"range": [0, 1.02], "tickformat": ".0%"},
        ),
    }


def _rounded(values: Sequence[float]) -> list[float]:
    return [round(value, 3) for value in values]


def _chart(
    steps: Sequence[int],
    lines: dict[str, tuple[list[float], str]],
    axis: str,
    vertical: dict[str, Any],
) -> dict[str, Any]:
    figure = go.Figure(layout={"xaxis": {"title": {"text": axis}}, "yaxis": vertical})
    for name, (values, role) in lines.items():
        # A single point makes no line, so it is drawn as a mark.
        mode = "lines" if len(steps) > 1 else "markers"
        style = {"width": 2.5} if role == "main" else {"width": 1.5, "dash": "dot"}
        figure.add_scatter(
            x=list(steps), y=values, name=name, mode=mode, line=style, meta={"role": role}
        )
    figure.layout.template = None
    every = max(1, -(-len(steps) // _TABLE_ROWS))
    kept = [i for i in range(len(steps)) if (len(steps) - 1 - i) % every == 0]
    rows = [[steps[i], *(values[i] for values, _ in lines.values())] for i in kept]
    return {
        "figure": figure.to_plotly_json(),
        "table": {"columns": [axis, *lines], "rows": rows},
    }
