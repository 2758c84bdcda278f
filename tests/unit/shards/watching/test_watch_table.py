"""The tables of docs/informers.md: every row is what the machine does, and every case has the test that it names."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from shards.errors import ApiError, Unreachable, api_error
from shards.watching.listing import StreamOverdue
from shards.watching.watch import AUDIT_SECONDS, HEALTHY_SECONDS, Mode, WatchMachine
from shards.watching.wire import MalformedStream, Page

ROOT = Path(__file__).parents[4]
TEXT = (ROOT / "docs" / "informers.md").read_text()
LONG = 60.0
WAIT_SECONDS = 7.0


class Least(random.Random):
    """Every draw is the lower end, so that a pause is the shortest that it can be."""

    def uniform(self, a: float, b: float) -> float:
        return a


def page(following: str = "", version: str = "100") -> Page:
    return Page([msgspec.Raw(b"{}")], b"", version, following, 100)


def fail(*statuses: int, lasted: float = LONG, wait: float | None = None) -> Callable[[WatchMachine], None]:
    def happen(machine: WatchMachine) -> None:
        for status in statuses:
            machine.failed(api_error(status, "", "", retry_after_seconds=wait), lasted)

    return happen


def breaks(machine: WatchMachine) -> None:
    machine.failed(Unreachable("reset"))


def too_large() -> ApiError:
    return api_error(504, "Timeout", "Too large resource version: 100")


def expired_twice(machine: WatchMachine) -> None:
    machine.failed(api_error(410))
    machine.page(page("t"))
    machine.failed(api_error(410))


def breaks_three_times(machine: WatchMachine) -> None:
    for _ in range(3):
        breaks(machine)


def expires_again(machine: WatchMachine) -> None:
    machine.failed(api_error(410))
    machine.page(page())
    machine.failed(api_error(410))


def behind(machine: WatchMachine) -> None:
    with pytest.raises(Unreachable) as caught:
        machine.bookmark("50")
    machine.failed(caught.value)


def older(machine: WatchMachine) -> None:
    with pytest.raises(MalformedStream) as caught:
        machine.page(page(version="99"))
    machine.failed(caught.value)


def pages() -> WatchMachine:
    machine = WatchMachine([], Least())
    machine.page(page("t"))
    return machine


def stream() -> WatchMachine:
    return WatchMachine([], Least(), streams=True)


def watch() -> WatchMachine:
    machine = WatchMachine([], Least())
    machine.page(page())
    return machine


def check() -> WatchMachine:
    machine = watch()
    machine.failed(Unreachable("reset"))
    return machine


def as_new() -> WatchMachine:
    machine = watch()
    machine.failed(api_error(410), LONG)
    return machine


STATES: dict[str, Callable[[], WatchMachine]] = {
    "pages": pages,
    "pages, as new": as_new,
    "stream": stream,
    "watch": watch,
    "check": check,
}

BUSY = "401, 403, 429, 502, 503, 504"

EVENTS: dict[tuple[str, str], list[Callable[[WatchMachine], object]]] = {
    ("pages", "a page with a continue token"): [lambda machine: machine.page(page("t2"))],
    ("pages", "the last page"): [lambda machine: machine.page(page())],
    ("pages", "the token expired"): [fail(410)],
    ("pages", "the token is not understood or is ahead of the server"): [
        fail(400),
        lambda machine: machine.failed(too_large()),
    ],
    ("pages", "the same, twice in a row"): [expired_twice],
    ("pages", BUSY): [fail(int(status)) for status in BUSY.split(", ")],
    ("pages", "a failure with Retry-After"): [fail(429, wait=WAIT_SECONDS)],
    ("pages", "the connection breaks"): [breaks],
    ("pages", "a page fails otherwise three times"): [fail(500, 500, 500)],
    ("pages, as new", "the last page"): [lambda machine: machine.page(page())],
    ("pages, as new", f"{BUSY}, or the connection breaks"): [
        *(fail(int(status)) for status in BUSY.split(", ")),
        breaks,
    ],
    ("pages, as new", "410, 504 too large, or any other failure"): [
        fail(410),
        fail(400),
        fail(500),
        lambda machine: machine.failed(too_large()),
    ],
    ("pages, as new", "an answer that is older"): [older],
    ("stream", "the bookmark that ends it"): [lambda machine: machine.streamed("100")],
    ("stream", "400, 405, 406, 415, 422, 501"): [fail(status) for status in (400, 405, 406, 415, 422, 501)],
    ("stream", "no end for 300 s, or nothing for 30 s"): [lambda machine: machine.failed(StreamOverdue("no end"))],
    ("stream", "it breaks or ends before its bookmark"): [breaks, lambda machine: machine.ended(LONG)],
    ("stream", "the same, three times in a row"): [breaks_three_times],
    ("watch", "an event or a bookmark"): [
        lambda machine: machine.event_version("101"),
        lambda machine: machine.bookmark("101"),
    ],
    ("watch", "it ends"): [lambda machine: machine.ended(LONG)],
    ("watch", "it ends within a second"): [lambda machine: machine.ended(HEALTHY_SECONDS / 2)],
    ("watch", "a bookmark behind the version"): [behind],
    ("watch", "410 in either shape"): [fail(410), fail(410, lasted=0.0)],
    ("watch", "404, 504 too large"): [fail(404), lambda machine: machine.failed(too_large())],
    ("watch", "any of these, again before anything was healthy"): [expires_again],
    ("watch", BUSY): [fail(int(status), lasted=0.0) for status in BUSY.split(", ")],
    ("watch", "a failure with Retry-After"): [fail(429, wait=WAIT_SECONDS)],
    ("watch", "the connection breaks, or no byte came for 75 s"): [breaks],
    ("watch", "it fails otherwise three times without progress"): [fail(500, 500, 500, lasted=0.0)],
    ("watch", "four to eight hours of watching have passed"): [lambda machine: machine.ended(AUDIT_SECONDS[0])],
    ("check", "a version that is not behind"): [lambda machine: machine.checked("100")],
    ("check", "a version that is behind"): [lambda machine: machine.checked("99")],
    ("check", "the connection breaks"): [breaks],
}

ASKED: dict[tuple[str, str], list[Callable[[WatchMachine], object]]] = {
    ("any", "a list is asked for"): [lambda machine: machine.list_again()]
}


def rows(heading: str) -> list[list[str]]:
    section = TEXT.split(f"\n## {heading}\n")[1].split("\n## ")[0]
    lines = [line for line in section.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


ROWS = rows("What comes next")


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row[0]}: {row[1]}")
def test_the_machine_does_what_the_row_says(row: list[str]) -> None:
    state, what, following, when, view = row
    starts = list(STATES.values()) if state == "any" else [STATES[state]]
    for start in starts:
        for happen in (EVENTS | ASKED)[state, what]:
            machine = start()
            if state == "any" and machine.mode is Mode.STREAM:
                following = "stream"
            elif state == "any":
                following = "pages"
            before = machine.complete
            happen(machine)
            old = "" if machine.fresh or not machine.listing else ", as new"
            assert (f"{machine.mode.value}{old}", moment(machine)) == (following, when)
            assert (machine.complete, before) in VIEWS[view]


VIEWS = {
    "as before": [(True, True), (False, False)],
    "follows": [(True, True)],
    "replaced, complete": [(True, False)],
    "lost": [(False, True)],
}


def moment(machine: WatchMachine) -> str:
    _, delay = machine.request()
    if delay == WAIT_SECONDS:
        return "when the server said"
    return "after a pause" if delay else "at once"


def test_every_row_is_played_and_everything_that_is_played_is_a_row() -> None:
    assert {(row[0], row[1]) for row in ROWS} == {*EVENTS, *ASKED}


def test_every_case_has_the_test_that_it_names() -> None:
    for row in rows("Cases"):
        for place in row[3].split("; "):
            file, _, names = place.partition(": ")
            [path] = ROOT.glob(f"{file}.py" if "/" in file else f"tests/unit/shards/**/{file}.py")
            text = path.read_text()
            for name in re.findall(r"`(\w+)`", names):
                assert re.search(rf"def {name}\b", text), (row[0], name)
