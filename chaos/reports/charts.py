"""The charts below the shards, each a track of the timeline, as HTML."""

from __future__ import annotations

from collections.abc import Sequence

from chaos.reports import drawing, said
from chaos.reports.drawing import CHART_PIXELS
from chaos.reports.markup import Markup, element, joined
from chaos.reports.story import Story


def track(kind: str, name: Sequence[str], plot: Sequence[str]) -> Markup:
    """One line of the timeline. name: to its left."""
    return element(
        "div", element("div", *name, class_="name"), element("div", *plot, class_="plot"), class_=f"track {kind}"
    )


def _chart(story: Story, kind: str, name: str, top: str, bottom: str, inside: str) -> Markup:
    title = [element("b", name), element("span", top, class_="top"), element("span", bottom, class_="bottom")]
    return track(f"chart {kind}", title, [Markup(drawing.svg(story, CHART_PIXELS, inside, kind))])


def idle(story: Story) -> Markup:
    values = [float(each.idle) for each in story.load.moments]
    top = min(drawing.rounded_up(max(values, default=0.0) or 1), max(1, len(story.rows)))
    path = drawing.area(story, values, drawing.linear(top), CHART_PIXELS - 1)
    return _chart(story, "idle", "Shards nobody works on", str(top), "0", f'<path class="area" d="{path}"/>')


def latency(story: Story) -> Markup:
    moments = story.load.moments
    if not story.load.noted:
        return _nothing("latency", "Reconcile latency")
    low, high = drawing.decades([value for each in moments for value in (each.p50, each.p99) if value is not None])
    scale = drawing.logarithmic(low, high)
    lines = joined(
        Markup(f'<path class="{name}" d="{drawing.steps(story, values, scale)}"/>')
        for name, values in (
            ("p99", drawing.column(moments, lambda each: each.p99)),
            ("p50", drawing.column(moments, lambda each: each.p50)),
        )
    )
    key = element("span", element("i", class_="p50"), "50 %", element("i", class_="p99"), "99 %", class_="lines")
    title = [
        element("b", "Reconcile latency"),
        key,
        element("span", said.seconds(high), class_="top"),
        element("span", said.seconds(low), class_="bottom"),
    ]
    return track("chart latency", title, [Markup(drawing.svg(story, CHART_PIXELS, lines, "latency"))])


def queue(story: Story) -> Markup:
    if not story.load.noted:
        return _nothing("queue", "Keys")
    waiting = [float(each.waiting) for each in story.load.moments]
    running = [float(each.running) for each in story.load.moments]
    top = drawing.rounded_up(max([*waiting, *running], default=0.0) or 1)
    scale = drawing.linear(top)
    inside = (
        f'<path class="area" d="{drawing.area(story, waiting, scale, CHART_PIXELS - 1)}"/>'
        f'<path class="running" d="{drawing.steps(story, running, scale)}"/>'
    )
    key = element(
        "span", element("i", class_="waiting"), "waiting", element("i", class_="running"), "running", class_="lines"
    )
    title = [
        element("b", "Keys"),
        key,
        element("span", str(top), class_="top"),
        element("span", "0", class_="bottom"),
    ]
    return track("chart queue", title, [Markup(drawing.svg(story, CHART_PIXELS, inside, "queue"))])


def _nothing(kind: str, name: str) -> Markup:
    note = element("p", "The workers noted nothing: their journals are not there.", class_="empty")
    return track(f"chart {kind}", [element("b", name)], [note])
