"""One history with a rule of the product in place, and with it removed: the judge holds the one, and names what the
other broke. On the embedded server, in virtual time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest

import shards.ownership.fenced
import shards.watching.listing
from fleet.rules.membership import MemberWatch
from shards.gates.own_writes import OwnWrites
from shards.limits.breaker import Breaker
from shards.objects import Object
from shards.ownership.tenure import Tenure
from shards.queue.workqueue import WorkQueue
from shards.reconciling.engine import Engine
from shards.settings import GateSettings, ShardSettings
from shards.watching.listing import Listing
from shards.watching.watch import WatchMachine
from shards.watching.watch_requests import ListPage
from tests.integration.rule_histories import (
    Author,
    Does,
    History,
    a_change,
    a_leave,
    a_replica_that_lags,
    a_slow_watch,
    crash,
    cut_off_from_its_lease,
    fail_at_first,
    lists_in_pages,
    many_deletions,
    note_generation,
    note_it_later,
    one_site,
    pages,
    post_a_page,
    told_to_wait,
)
from tests.integration.small_fleet import SmallFleet, running

pytestmark = pytest.mark.looptime

Patch = pytest.MonkeyPatch
Remove = Callable[[Patch], None]


@dataclass(frozen=True)
class Rule:
    """remove: takes it out of the product. history: what then happens. broken: what the judge says to it."""

    does: Does
    history: History
    remove: Remove
    broken: frozenset[str]
    settings: ShardSettings = field(default_factory=lambda: ShardSettings(gate=GateSettings()))
    held: frozenset[str] = frozenset()
    """Of the broken ones, what the history with the rule shows; empty: all."""


RULES: dict[str, Rule] = {}


# -- the rules ---------------------------------------------------------------------------------------------------------


def rule(
    name: str, *broken: str, does: Does = note_generation, history: History = one_site, **more: Any
) -> Callable[[Remove], Remove]:
    def kept(remove: Remove) -> Remove:
        RULES[name] = Rule(does, history, remove, frozenset(broken), **more)
        return remove

    return kept


@rule(
    "the deadline of a tenure",
    "I1",
    "I3",
    "I23",
    does=note_it_later,
    history=cut_off_from_its_lease,
    held=frozenset({"I1", "I23"}),
)
def _(patch: Patch) -> None:
    patch.setattr(Tenure, "deadline", lambda self: float("inf"))
    _let_reconciles_run(patch)


@rule("fencing", "I7", "I24", history=crash)
def _(patch: Patch) -> None:
    patch.setattr(MemberWatch, "fenceable", lambda self, members, **kwargs: [])


@rule("the wait for own writes", "I3", "I11", does=post_a_page, history=a_slow_watch)
def _(patch: Patch) -> None:
    patch.setattr(OwnWrites, "blocked", lambda self, key, views: None)


@rule("consistent lists", "I15", history=a_replica_that_lags)
def _(patch: Patch) -> None:
    asked = Listing.next_page

    def from_any_cache(self: Listing) -> ListPage:
        self.floor = ""  # nor is it asked how old the answer is
        return ListPage((*asked(self).query, ("resourceVersion", "0")), first=True)

    patch.setattr(Listing, "next_page", from_any_cache)


@rule("all pages of a list", "I14", "I17", history=lists_in_pages)
def _(patch: Patch) -> None:
    took = WatchMachine.page
    patch.setattr(WatchMachine, "page", lambda self, page: took(self, page._replace(next="")))


@rule("doubled delays", "I20", does=fail_at_first)
def _(patch: Patch) -> None:
    def always_the_first(self: WorkQueue[Any], key: Any, now: float, *, at_least_seconds: float = 0.0) -> float:
        self._failures[key] = self._failures.get(key, 0) + 1
        self.add_after(key, 0.005, now)
        return 0.005

    patch.setattr(WorkQueue, "add_rate_limited", always_the_first)


@rule("the wait for a delay", "I20", does=fail_at_first)
def _(patch: Patch) -> None:
    delayed = WorkQueue.add_rate_limited

    def at_once(self: WorkQueue[Any], key: Any, now: float, *, at_least_seconds: float = 0.0) -> float:
        delay = delayed(self, key, now, at_least_seconds=at_least_seconds)
        self.add(key, now)
        return delay

    patch.setattr(WorkQueue, "add_rate_limited", at_once)


@rule("the pause that a server asks for", "I21", history=told_to_wait)
def _(patch: Patch) -> None:
    patch.setattr(WorkQueue, "pause", lambda self, key, seconds, now: None)


@rule("the end of running reconciles before a release", "I23", does=note_it_later, history=a_leave)
def _(patch: Patch) -> None:
    patch.setattr(Tenure, "end", lambda self: None)
    _let_reconciles_run(patch)


def _let_reconciles_run(patch: Patch) -> None:
    async def at_once(self: Engine, grace_seconds: float) -> None:
        self._closed = True
        self.queue.shut_down()

    patch.setattr(Engine, "drain", at_once)
    patch.setattr(Engine, "cancel_running", lambda self: None)


@rule(
    "the limit of deletions",
    "I6",
    does=pages,
    history=many_deletions,
    settings=ShardSettings(gate=GateSettings(live_reads_per_second=1000.0)),
)
def _(patch: Patch) -> None:
    patch.setattr(Breaker, "admit", lambda self, now: None)
    patch.setattr(Breaker, "refusal", lambda self, now: None)


@rule("patches of what differs only", "I11", history=a_change)
def _(patch: Patch) -> None:
    def everything(current: Object, wanted: Object) -> Object:
        return wanted

    patch.setattr(shards.ownership.fenced, "status_changes", everything)


@rule("keys that wake up", "I9", history=a_change)
def _(patch: Patch) -> None:
    added = Engine.add

    def the_first_time(self: Engine, key: Any, *, low_priority: bool = False) -> None:
        if self.first_reconcile_at is None:
            added(self, key, low_priority=low_priority)

    patch.setattr(Engine, "add", the_first_time)


@pytest.fixture(autouse=True)
def _short_pages(monkeypatch: Patch) -> None:
    monkeypatch.setattr(shards.watching.listing, "PAGE_LIMIT", 4)


def fleet_of(rule: Rule, broken: frozenset[str]) -> tuple[SmallFleet, Author]:
    author = Author(rule.does)
    return SmallFleet(author.controller, shards=1, settings=rule.settings, breaks=broken), author


@pytest.mark.parametrize("name", RULES)
async def test_without_the_rule_the_judge_says_what_is_broken(name: str, monkeypatch: Patch) -> None:
    rule = RULES[name]
    fleet, author = fleet_of(rule, rule.broken)
    rule.remove(monkeypatch)
    await fleet.start("a")
    try:
        await fleet.all_open()
        await rule.history(fleet, author)
    finally:
        await fleet.stop()
    broken = {each.id: [found.what for found in each.findings] for each in fleet.verdict().broken_invariants}
    assert set(broken) == rule.broken, broken


@pytest.mark.parametrize("name", RULES)
async def test_with_the_rule_the_same_holds(name: str) -> None:
    rule = RULES[name]
    fleet, author = fleet_of(rule, frozenset())
    async with running(fleet, "a"):
        await rule.history(fleet, author)
        held = {each.id for each in fleet.verdict().invariants if each.outcome == "held"}
        assert (rule.held or rule.broken) <= held
