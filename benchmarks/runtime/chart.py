"""A bar chart as SVG, which a browser shows in light and dark. PURE."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple
from xml.sax.saxutils import escape

WIDTH, LABEL, BAR, GAP, TOP, BOTTOM, RIGHT = 720, 190, 22, 10, 58, 30, 90
_STYLE = (
    "text{font:13px system-ui,sans-serif;fill:#1f2328}.title{font-weight:600;font-size:15px}.small{font-size:11px;"
    "fill:#59636e}.ours{fill:#0969da}.peer{fill:#8c959f}.target{stroke:#cf222e;stroke-width:2;stroke-dasharray:5 3}"
    ".page{fill:#ffffff}@media(prefers-color-scheme:dark){text{fill:#f0f6fc}.small{fill:#9198a1}.ours{fill:#4493f8}"
    ".peer{fill:#656c76}.page{fill:#0d1117}}"
)


class Bar(NamedTuple):
    """One bar. ours: drawn in another colour."""

    label: str
    value: float
    ours: bool = False


def bars(
    title: str, unit: str, found: Sequence[Bar], *, targets: Sequence[tuple[str, float]] = (), note: str = ""
) -> str:
    """The chart's SVG. targets: dashed lines, each with what it says. note: small print, such as versions."""
    highest = max([each.value for each in found] + [value for _, value in targets] + [1e-9])
    scale = (WIDTH - LABEL - RIGHT) / highest
    height = TOP + len(found) * (BAR + GAP) + BOTTOM
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" '
        f'role="img" aria-label="{_text(title)}"><style>{_STYLE}</style>',
        f'<rect class="page" width="{WIDTH}" height="{height}"/>',
        f'<text class="title" x="12" y="24">{_text(title)}{_text(f", {unit}" if unit else "")}</text>',
    ]
    for number, each in enumerate(found):
        top = TOP + number * (BAR + GAP)
        length = max(each.value * scale, 1.0)
        lines += [
            f'<text x="{LABEL - 8}" y="{top + 16}" text-anchor="end">{_text(each.label)}</text>',
            f'<rect class="{"ours" if each.ours else "peer"}" x="{LABEL}" y="{top}" width="{length:.1f}" '
            f'height="{BAR}" rx="2"/>',
            f'<text x="{LABEL + length + 6:.1f}" y="{top + 16}">{_figure(each.value)}</text>',
        ]
    for text, value in targets:
        x = LABEL + value * scale
        lines += [
            f'<line class="target" x1="{x:.1f}" x2="{x:.1f}" y1="{TOP - 6}" y2="{height - BOTTOM}"/>',
            f'<text class="small" x="{x:.1f}" y="{TOP - 10}" text-anchor="middle">{_text(text)}</text>',
        ]
    lines += [f'<text class="small" x="12" y="{height - 10}">{_text(note)}</text>', "</svg>"]
    return "\n".join(lines) + "\n"


def _figure(value: float) -> str:
    return f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"


def _text(text: str) -> str:
    return escape(text, {'"': "&quot;"})
