"""Each of the 27 holds on one short history, and is broken on the same with one thing wrong: every oracle fires."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from fleet.devcluster.checkers.registry import INVARIANTS
from fleet.devcluster.evidence.verdict import BROKEN, HELD
from fleet.devcluster.judging.judge import counts_of
from fleet.devcluster.recording.journal import Sent, Shown
from shards.journal import Note
from shards.keyrange import SPACE
from tests.unit.fleet.devcluster.chronicle import LOWER, UPPER, Chronicle, two_members, uid_in
from tests.unit.fleet.devcluster.judging.stories import Notebook, judged

LOW, HIGH = uid_in(LOWER), uid_in(UPPER)
SITES, PAGES = "demo.shardfleet.dev/v1/websites", "v1/configmaps"
HALVES = (0, SPACE // 2)
SIXTEENTHS = tuple(SPACE // 16 * i for i in range(16))

History = Callable[[Chronicle, Notebook, bool], None]
"""Goes on from two members that hold a half each. The last argument: whether the promise is broken."""

HISTORIES: dict[str, History] = {}


def history(id: str) -> Callable[[History], History]:
    def kept(made: History) -> History:
        HISTORIES[id] = made
        return made

    return kept


def live(story: Chronicle, *members: str, seconds: int) -> None:
    for _ in range(seconds // (1 + len(members))):
        story.coordinator()
        for name in members:
            story.member(name, 1, by=f"{name}@1")


@history("I1")
def _(story: Chronicle, book: Notebook, broken: bool) -> None:
    story.write("create", LOW, "b@1" if broken else "a@1")


@history("I2")
def _(story: Chronicle, book: Notebook, broken: bool) -> None:
    story.shard(LOWER, 2, released_by="a@1", by="a@1")
    story.shard(LOWER, 1 if broken else 3, "b@1", by="b@1")


@history("I3")
def _(story: Chronicle, book: Notebook, broken: bool) -> None:
    story.write("create", LOW, "a@1", cache="5", uid="c1", owner_uid=LOW, resource_version="10")
    story.write("patch", LOW, "a@1", cache="9" if broken else "10", uid="c1", resource_version="12")


@history("I4")
def _(story: Chronicle, book: Notebook, broken: bool) -> None:
    story.write("patch", LOW, "a@1", cache="9", uid=LOW, sent=Sent(uid=LOW, version="" if broken else "7"))


@history("I5")
def _(story: Chronicle, book: Notebook, broken: bool) -> None:
    story.wait(40)
    story.write("get", LOW, "a@1", uid="c0" if broken else "c1", status=200)
    story.write("delete", LOW, "a@1", uid="c1", sent=Sent(uid="c1"), removed=True)


@history("I6")
def _(story: Chronicle, book: Notebook, broken: bool) -> None:
    for _ in range(3):
        story.write("get", LOW, "a@1", status=503)
    if not broken:
        story.write("get", LOW, "a@1", status=200)
    story.write("delete", LOW, "a@1")


@history("I7")
def _(story: Chronicle, book: Notebook, broken: bool) -> None:
    story.shard(LOWER, 2, released_by="a@1", by="a@1")
    if not broken:
        story.shard(LOWER, 3, "b@1", by="b@1")
    live(story, "a", "b", seconds=40)


@history("I8")
def _(story: Chronicle, book: Notebook, broken: bool) -> None:
    story.layout(1, ("a",) * (16 if broken else 2), SIXTEENTHS if broken else HALVES)


@history("I9")
def _(story: Chronicle, book: Notebook, broken: bool) -> None:
    story.add("update", SITES, "site", user_agent="kubectl/1", uid=LOW, resource_version="20")
    book.now = story.now + (80 if broken else 1)
    book.write("started", resource=SITES, key="default/site", uid=LOW, views={SITES: "20"})
    book.notes.append(Note("begin", 1.0, "b"))


@history("I10")
def _(story: Chronicle, book: Notebook, broken: bool) -> None:
    story.add("update", SITES, "site", user_agent="kubectl/1", uid=LOW, resource_version="20")
    story.wait(70 if broken else 1)
    story.write("patch", LOW, "a@1", uid=LOW)
    story.wait(70)
    story.coordinator()


@history("I11")
def _(story: Chronicle, book: Notebook, broken: bool) -> None:
    story.write("create", LOW, "a@1", name="child", uid="c1", owner_uid=LOW)
    story.write("create", LOW, "a@1", name="child" if broken else "other", status=409)


@history("I12")
def _(story: Chronicle, book: Notebook, broken: bool) -> None:
    story.write("create", LOW, "a@1", name="child", uid="c1", owner_uid=LOW)
    if broken:
        story.write("delete", LOW, "a@1", name="child", uid="c1", removed=True)


@history("I13")
def _(story: Chronicle, book: Notebook, broken: bool) -> None:
    story.write("patch", LOW, "a@1", name="site", reason="status", uid="successor" if broken else LOW)


@history("I14")
def _(story: Chronicle, book: Notebook, broken: bool) -> None:
    story.add("update", SITES, LOW, uid=LOW, resource_version="20", user_agent="kubectl/1")
    book.write("view", resource=SITES, version="20", objects={} if broken else {LOW: "20"}, outcome="whole")


@history("I15")
def _(story: Chronicle, book: Notebook, broken: bool) -> None:
    story.informer("event", shown=Shown(type="LIST", version="10"))
    story.informer("event", shown=Shown(type="LIST", version="9" if broken else "11"), resource_version="0")


@history("I16")
def _(story: Chronicle, book: Notebook, broken: bool) -> None:
    book.change("added", "c1", "10")
    book.change("added" if broken else "modified", "c1", "11")


@history("I17")
def _(story: Chronicle, book: Notebook, broken: bool) -> None:
    book.write("list", resource=PAGES)
    if not broken:
        book.write("listed", resource=PAGES, version="20")
    book.change("deleted", "c1", "10", by="list")


@history("I18")
def _(story: Chronicle, book: Notebook, broken: bool) -> None:
    book.pulse(view_age=300.0 if broken else 3.0)


@history("I19")
def _(story: Chronicle, book: Notebook, broken: bool) -> None:
    book.write("started", key="default/site", seconds=90.0 if broken else 9.0)


@history("I20")
def _(story: Chronicle, book: Notebook, broken: bool) -> None:
    for count, seconds in enumerate((1.0, 2.0, 2.0 if broken else 4.0)):
        figures = {"base": 1.0, "longest": 300.0, "asked": 0.0}
        book.write("retry", key="default/site", uid=LOW, count=count, seconds=seconds, figures=figures)


@history("I21")
def _(story: Chronicle, book: Notebook, broken: bool) -> None:
    story.informer("list", status=429, shown=Shown(retry_after_seconds=5.0))
    story.wait(0 if broken else 5)
    story.informer("list")


@history("I22")
def _(story: Chronicle, book: Notebook, broken: bool) -> None:
    story.layout(1, ("a",) * 8 + ("b",) * 8, SIXTEENTHS)
    story.layout(2, (("b",) * 8 + ("a",) * 8) if broken else (("a",) * 7 + ("b",) * 9), SIXTEENTHS)


@history("I23")
def _(story: Chronicle, book: Notebook, broken: bool) -> None:
    story.write("create", LOW, "a@1", name="one")
    story.shard(LOWER, 2, released_by="a@1", by="a@1")
    story.write("create", HIGH if not broken else LOW, "b@1" if not broken else "a@1", name="two")


@history("I24")
def _(story: Chronicle, book: Notebook, broken: bool) -> None:
    live(story, "b", seconds=40 if broken else 10)
    story.member("a", 2, held=False, by="agent@1")


@history("I25")
def _(story: Chronicle, book: Notebook, broken: bool) -> None:
    for mib in (60.0, 60.0, 60.0, 600.0 if broken else 66.0):
        book.pulse(rss_mib=mib)


@history("I26")
def _(story: Chronicle, book: Notebook, broken: bool) -> None:
    book.pulse(longest_wait=90.0 if broken else 1.0)


@history("I27")
def _(story: Chronicle, book: Notebook, broken: bool) -> None:
    if not broken:
        story.shard(LOWER, 2, released_by="a@1", by="a@1")
    story.shard(LOWER, 3, "b@1", by="b@1")


def test_every_invariant_has_a_history() -> None:
    assert list(HISTORIES) == [each.id for each in INVARIANTS]


@pytest.mark.parametrize("id", HISTORIES)
def test_it_holds_where_it_is_kept_and_fires_where_it_is_broken(id: str) -> None:
    outcomes = {}
    reference = None
    for broken in (False, True):
        story, book = two_members(), Notebook()
        HISTORIES[id](story, book, broken)
        reference = reference or (counts_of(story.entries) if id == "I12" else None)
        found = judged(id, story, book.notes, reference=reference)
        outcomes[broken] = found.outcome
        assert bool(found.findings) == bool(found.broken) == broken, found
        assert found.checks
    assert outcomes == {False: HELD, True: BROKEN}
