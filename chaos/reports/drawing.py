"""Shapes on the time axis, as SVG that is stretched to whatever width there is: x in milliseconds since the beginning
of the story, y in pixels. Nothing in here is text that somebody else wrote."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence

from chaos.reports.story import Kind, Moment, Phase, Row, Story

COLOURS = 8
"""Of members, before they repeat."""
CHART_PIXELS = 84
_PLAIN_PIXELS = 6
"""Below that a row is too thin for shapes: colours have to do."""
_TICKS = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 15.0, 30.0, 60.0, 120.0, 300.0, 600.0, 900.0, 1800.0, 3600.0)
_IDLE_CLASS = {Kind.DEAD: "dead", Kind.FROZEN: "frozen", Kind.UNOWNED: "unowned"}


def row_pixels(rows: int) -> int:
    """Thin where there are many: three hundred are three screens of a phone."""
    for most, pixels in ((4, 30), (10, 24), (24, 18), (48, 12), (120, 6), (400, 3), (800, 2)):
        if rows <= most:
            return pixels
    return 1


def svg(story: Story, height: int, inside: str, kind: str) -> str:
    """One drawing as wide as the story is long. kind: its class."""
    width = milliseconds(story.ended - story.began)
    return (
        f'<svg class="{kind}" viewBox="0 0 {width} {height}" preserveAspectRatio="none" aria-hidden="true"'
        f' data-height="{height}" style="height:{height}px">{inside}</svg>'
    )


def milliseconds(seconds: float) -> int:
    return max(0, round(seconds * 1000))


def shards(story: Story) -> str:
    """One bar a range. Opening and draining are half as high; what nobody works on is as high as the row."""
    height = row_pixels(len(story.rows))
    colour = {member: index % COLOURS for index, member in enumerate(story.members)}
    boxes: dict[str, list[str]] = defaultdict(list)
    for index, row in enumerate(story.rows):
        for phase in row.phases:
            name = _IDLE_CLASS.get(phase.kind) or f"{phase.kind} m{colour.get(phase.member, 0)}"
            boxes[name].append(_box(story, phase, index * height, height))
    # What matters most is drawn last.
    ordered = sorted(boxes, key=lambda name: (name in _IDLE_CLASS.values(), name))
    inside = "".join(f'<path class="{name}" d="{"".join(boxes[name])}"/>' for name in ordered)
    kind = "shards" if height >= _PLAIN_PIXELS else "shards thin"
    return svg(story, height * max(1, len(story.rows)), inside, kind)


def _box(story: Story, phase: Phase, top: float, height: float) -> str:
    margin = 0.0 if phase.kind in _IDLE_CLASS or height < 3 else (0.5 if height < _PLAIN_PIXELS else height * 0.12)
    if phase.kind in (Kind.OPENING, Kind.DRAINING) and height >= _PLAIN_PIXELS:
        margin = height * 0.32
    x, end = milliseconds(phase.began - story.began), milliseconds(phase.ended - story.began)
    y, tall = _number(top + margin), _number(height - 2 * margin)
    return f"M{x} {y}h{max(1, end - x)}v{tall}h-{max(1, end - x)}z"


def steps(story: Story, values: Sequence[float | None], scale: Callable[[float], float]) -> str:
    """A line in steps, one a moment; broken where there is no value. scale: value to y."""
    width = milliseconds(story.load.bucket_seconds)
    parts, drawing = [], False
    for index, value in enumerate(values):
        if value is None:
            drawing = False
            continue
        x, y = index * width, _number(scale(value))
        parts.append(f"V{y}h{width}" if drawing else f"M{x} {y}h{width}")
        drawing = True
    return "".join(parts)


def area(story: Story, values: Sequence[float], scale: Callable[[float], float], floor: float) -> str:
    """From the floor up to the line."""
    width = milliseconds(story.load.bucket_seconds)
    if not any(values):
        return ""
    top = "".join(f"V{_number(scale(value))}h{width}" for value in values)
    return f"M0 {_number(floor)}{top}V{_number(floor)}z"


def logarithmic(low: float, high: float) -> Callable[[float], float]:
    """low is at the bottom of a chart, high at its top."""
    span = math.log10(high) - math.log10(low)

    def scale(value: float) -> float:
        part = (math.log10(min(max(value, low), high)) - math.log10(low)) / span
        return CHART_PIXELS - 2 - part * (CHART_PIXELS - 6)

    return scale


def linear(high: float) -> Callable[[float], float]:
    """0 is at the bottom of a chart, high at its top."""

    def scale(value: float) -> float:
        return CHART_PIXELS - 1 - (value / high if high else 0.0) * (CHART_PIXELS - 6)

    return scale


def decades(values: Iterable[float]) -> tuple[float, float]:
    """Powers of ten around them, at least one apart."""
    every = [value for value in values if value > 0]
    if not every:
        return 0.001, 1.0
    low = 10.0 ** math.floor(math.log10(max(min(every), 1e-4)))
    high = 10.0 ** math.ceil(math.log10(max(every)))
    return low, max(high, low * 10)


def rounded_up(value: float) -> int:
    """1, 2, 5, 10, 20, 50 and so on: the top of a chart."""
    step = 1
    while True:
        for factor in (1, 2, 5):
            if value <= factor * step:
                return factor * step
        step *= 10


def ticks(began: float, ended: float, most: int = 12) -> list[float]:
    """Round times in between."""
    step = next((each for each in _TICKS if (ended - began) / each <= most), (ended - began) / most)
    first = math.ceil(began / step - 1e-9)
    return [round(index * step, 3) for index in range(first, math.floor(ended / step + 1e-9) + 1)]


def column(moments: Sequence[Moment], get: Callable[[Moment], float | None]) -> list[float | None]:
    return [get(each) for each in moments]


def percent(story: Story, at: float) -> str:
    """How far along the axis, for styles."""
    part = (at - story.began) / (story.ended - story.began) if story.ended > story.began else 0.0
    return f"{min(max(part, 0.0), 1.0) * 100:.3f}%"


def labelled(rows: Sequence[Row]) -> list[tuple[int, Row]]:
    """Those with room for their name, and which they are."""
    every = max(1, math.ceil(13 / row_pixels(len(rows))))
    return [(index, row) for index, row in enumerate(rows) if index % every == 0]


def _number(value: float) -> str:
    return f"{value:.1f}".rstrip("0").rstrip(".")
