"""The timeline of one experiment: bands, shards, latency and queue on one time axis, as HTML."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from chaos.reports import charts, drawing, said
from chaos.reports.bands import ACTION, FAULT_BAND, HARM
from chaos.reports.charts import track
from chaos.reports.drawing import COLOURS
from chaos.reports.markup import Markup, element, embedded_json
from chaos.reports.story import IDLE, Band, Kind, Story

LANES = 8
SHADED = 40
"""Bands in one picture: more of them would shade everything."""
NAMED = 80
"""Likewise: of more of them, only few could be named."""
_LANE_PIXELS = 18
_LABEL_PIXELS = 6.4
"""Of one character."""
_PLOT_PIXELS = 1000.0
"""As wide as a plot is on a desktop; bands are laid out for that."""
_LABELLED_ROW_PIXELS = 18
_MEMBERS_SHOWN = 32
_TINY_PERCENT = 5.0
"""Of the axis: too short for a name."""
_LAST_PERCENT = 96.0
"""Of the axis: what is marked behind that has no room to its right."""
_RUG = (ACTION, FAULT_BAND, HARM)


def timeline(story: Story, number: int) -> Markup:
    """number: of the experiment on its page."""
    tracks = [
        _axis(story, "top"),
        _bands(story),
        _places(story),
        _shards(story),
        charts.idle(story),
        charts.latency(story),
        charts.queue(story),
        _axis(story, "bottom"),
    ]
    plots = element(
        "div",
        _behind(story),
        *tracks,
        element("div", class_="cursor", hidden=True),
        element("div", class_="chosen-row", hidden=True),
        element("div", class_="chosen", hidden=True),
        class_="plots",
        tabindex=0,
        role="application",
        aria_label="Timeline. Arrow keys move in time and from shard to shard, plus and minus zoom, 0 shows all.",
    )
    data = element("script", embedded_json(facts(story)), type="application/json", class_="facts")
    return element("figure", _tools(), _legend(story), plots, data, class_="timeline", id=f"timeline-{number}")


def facts(story: Story) -> dict[str, object]:
    """What the page's script tells of under the cursor. Times are seconds, to the millisecond."""
    members = {member: index for index, member in enumerate(story.members)}
    return {
        "began": story.began,
        "ended": round(story.ended, 3),
        "members": story.members,
        "rows": [
            {
                "name": row.short,
                "range": row.range,
                "phases": [
                    [round(p.began, 3), round(p.ended, 3), p.kind, members.get(p.member, -1), p.epoch, p.why]
                    for p in row.phases
                ],
            }
            for row in story.rows
        ],
        "bands": [[round(b.began, 3), round(b.ended, 3), b.label, b.detail] for b in story.bands],
        "places": [[round(p.at, 3), p.id, p.what] for p in story.places],
        "bucket": story.load.bucket_seconds,
        "noted": story.load.noted,
        "moments": [[m.ended, m.p50, m.p99, m.longest, m.waiting, m.running, m.idle] for m in story.load.moments],
    }


def _tools() -> Markup:
    buttons = (
        ("out", "\N{MINUS SIGN}", "Zoom out"),
        ("in", "+", "Zoom in"),
        ("left", "\N{LEFTWARDS ARROW}", "Earlier"),
        ("right", "\N{RIGHTWARDS ARROW}", "Later"),
        ("all", "All", "Show the whole time"),
        ("taller", "Taller rows", "Make the rows of shards higher"),
    )
    made = [
        element("button", label, type="button", data_do=do, title=title, aria_label=title)
        for do, label, title in buttons
    ]
    hint = "Point at anything, or press arrow keys in the picture. Drag sideways to zoom."
    return element(
        "div",
        element("div", *made, class_="buttons"),
        element("output", hint, class_="readout", aria_live="polite"),
        class_="tools",
    )


def _legend(story: Story) -> Markup:
    kinds = [
        ("opening", "opening: claimed, views not there yet"),
        ("owned", "owned"),
        ("draining", "draining: takes no more keys"),
        ("dead", "holder dead or stopped"),
        ("unowned", "nobody"),
    ]
    shown = [element("li", element("i", class_=f"key {kind}"), label) for kind, label in kinds]
    members = [
        element(
            "li",
            element(
                "button",
                element("i", class_=f"key owned m{index % COLOURS}"),
                member,
                type="button",
                data_member=index,
                aria_pressed="false",
                title=f"Show only what {member} held",
            ),
        )
        for index, member in enumerate(story.members[:_MEMBERS_SHOWN])
    ]
    more = len(story.members) - len(members)
    if more > 0:
        members.append(element("li", f"and {more} more: their colours repeat"))
    return element(
        "div", element("ul", *shown, class_="kinds"), element("ul", *members, class_="members"), class_="legend"
    )


def _axis(story: Story, where: str) -> Markup:
    marks = [
        element(
            "span",
            _tick(at, story.ended),
            class_="last" if float(drawing.percent(story, at)[:-1]) > _LAST_PERCENT else None,
            data_a=at,
            style=f"left:{drawing.percent(story, at)}",
        )
        for at in drawing.ticks(story.began, story.ended)
    ]
    return track(f"axis {where}", ["seconds" if story.ended < said.LONG_SECONDS else "min:s"], marks)


def _tick(at: float, ended: float) -> str:
    if ended < said.LONG_SECONDS:
        return f"{at:g}"
    minutes, rest = divmod(abs(at), 60)
    return f"{'-' if at < 0 else ''}{minutes:.0f}:{rest:02.0f}"


def _behind(story: Story) -> Markup:
    """Faults, shaded through all tracks."""
    height = 10
    boxes = []
    for band in story.bands:
        if band.kind != ACTION:
            x, end = drawing.milliseconds(band.began - story.began), drawing.milliseconds(band.ended - story.began)
            boxes.append(f"M{x} 0h{max(1, end - x)}v{height}h-{max(1, end - x)}z")
    start = drawing.milliseconds(-story.began)
    inside = f'<path d="{"".join(boxes)}"/><path class="zero" d="M{start} 0v{height}"/>'
    busy = " busy" if len(story.bands) > SHADED else ""
    return element("div", Markup(drawing.svg(story, height, inside, "shade")), class_=f"behind{busy}")


def laned(bands: Sequence[Band], seconds: float) -> list[tuple[Band, int, bool]]:
    """Each with its lane, and whether there is room for its label. seconds: that the picture shows.

    Where there are very many, each kind has a lane, without labels.
    """
    if len(bands) > NAMED:
        return [(band, _RUG.index(band.kind), False) for band in bands]
    free = [float("-inf")] * LANES
    found = []
    for band in bands:
        label = (len(band.label) + 5) * _LABEL_PIXELS / _PLOT_PIXELS * seconds
        width = max(band.ended - band.began, 0.012 * seconds)
        roomy = next((lane for lane, at in enumerate(free) if at <= band.began), None)
        if roomy is None:
            lane = min(range(LANES), key=lambda each: free[each])
            found.append((band, lane, False))
            continue
        free[roomy] = band.began + max(width, label)
        found.append((band, roomy, True))
    return found


def _bands(story: Story) -> Markup:
    placed = laned(story.bands, story.ended - story.began)
    lanes = max((lane for _, lane, _ in placed), default=0) + 1
    made = []
    for number, (band, lane, roomy) in enumerate(placed, start=1):
        left, right = drawing.percent(story, band.began), drawing.percent(story, band.ended)
        width = float(right[:-1]) - float(left[:-1])
        made.append(
            element(
                "span",
                element("i", str(number)),
                element("b", band.label),
                class_=f"band {band.kind}{' failed' if band.failed else ''}{'' if roomy else ' crowded'}",
                data_a=round(band.began, 3),
                data_b=round(band.ended, 3),
                title=f"{band.label}: {band.detail}" if band.detail else band.label,
                style=f"left:{left};width:{width:.3f}%;top:{lane * _LANE_PIXELS}px",
            )
        )
    plot = element("div", *made, class_="lanes", style=f"height:{lanes * _LANE_PIXELS}px")
    name = ["Done and wrong", *([": zoom for names"] if len(story.bands) > NAMED else [])]
    return track("bands", name, [plot])


def _places(story: Story) -> Markup:
    if not story.places:
        return Markup("")
    apart, labelled = (story.ended - story.began) * 0.04, float("-inf")
    named = []
    for place in story.places:
        named.append(place.at - labelled >= apart)
        labelled = place.at if named[-1] else labelled
    made = [
        element(
            "span",
            element("b", place.id),
            class_="place" if label else "place near",
            data_a=round(place.at, 3),
            title=f"{place.id} at {said.at(place.at)}: {place.what}",
            style=f"left:{drawing.percent(story, place.at)}",
        )
        for place, label in zip(story.places, named, strict=True)
    ]
    return track("places", ["Found broken"], made)


def _shards(story: Story) -> Markup:
    height = drawing.row_pixels(len(story.rows))
    total = max(1, len(story.rows)) * height
    names = [
        element("span", row.short, title=row.range, style=f"top:{index * height / total * 100:.3f}%")
        for index, row in drawing.labelled(story.rows)
    ]
    labels = list(_holders(story)) if height >= _LABELLED_ROW_PIXELS else []
    empty = [] if story.rows else [element("p", "The recording tells of no shard.", class_="empty")]
    return track(
        "rows",
        [element("div", *names, class_="names", style=f"height:{total}px;--row:{height}px")],
        [Markup(drawing.shards(story)), element("div", *labels, class_="holders"), *empty],
    )


def _holders(story: Story) -> Iterator[Markup]:
    """Who has it, written on the bars."""
    count = len(story.rows)
    for index, row in enumerate(story.rows):
        for phase in row.phases:
            if phase.kind in IDLE or phase.kind is not Kind.OWNED:
                continue
            left, right = drawing.percent(story, phase.began), drawing.percent(story, phase.ended)
            width = float(right[:-1]) - float(left[:-1])
            colour = story.members.index(phase.member) % COLOURS
            yield element(
                "span",
                f"{phase.member} \N{MIDDLE DOT} {phase.epoch}",
                class_=f"on{colour}{' tiny' if width < _TINY_PERCENT else ''}",
                data_a=round(phase.began, 3),
                data_b=round(phase.ended, 3),
                style=f"left:{left};width:{width:.3f}%;top:{index / count * 100:.3f}%;height:{100 / count:.3f}%",
            )
