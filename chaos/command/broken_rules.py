"""What `--break` takes out: rules of the simulation, and those that only a fleet of processes can be without, about
supervisors, watches, credentials and clocks."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import shards.clock
from chaos.command import broken_views
from chaos.simulation.removals import REMOVALS
from chaos.simulation.removals.removal import Removal, Swap, always
from fleet.office import coordinator
from fleet.processes import supervisor
from fleet.processes.restarts import RestartPolicy
from fleet.rules import agenda
from fleet.workers import member, worker
from fleet.workers.watchdog import Watchdog
from shards.errors import ApiError
from shards.informers.informer import Informer
from shards.queue.suspects import Suspects
from shards.queue.workqueue import WorkQueue
from shards.stores.store import StoreWriter
from shards.transport import http_transport
from shards.transport.credentials import Access, Credentials
from shards.watching.watch import WatchMachine

Rule = Callable[..., Any]

_LONG_SECONDS = 3600.0
"""Longer than any experiment."""


def _rule(name: str, rule: str, sentence: str, *swaps: Swap) -> Removal:
    return Removal(name, rule, sentence, (), (), swaps)


# -- processes -------------------------------------------------------------------------------------------------------


def _by_how_names_begin(floors: Rule) -> Rule:
    """Who is fenced takes those along whose pods have names that begin like that of its own."""

    def raised(shard_map: Any, members: Mapping[str, Any], named: Any, *, gone: Mapping[str, int]) -> dict[str, int]:
        found: dict[str, int] = floors(shard_map, members, named, gone=gone)
        for fenced in [name for name, record in members.items() if record.holder is None]:
            pod = fenced.rpartition("-")[0]
            for name in found:
                if name in members and name.startswith(pod) and name.rpartition("-")[0] != pod:
                    found[name] = members[name].epoch + 1
        return found

    return raised


def _as_the_map_says(assign: Rule) -> Rule:
    """Ranges that are meant for somebody stay so, whoever that is."""

    def assigned(look: Any, *asked: Any) -> Any:
        found = assign(look, *asked)
        targets = look.map.targets
        kept = len(targets) == len(found.targets) and all(targets)
        return replace(found, targets=targets, moves=()) if kept else found

    return assigned


def _time_of_day(module: Any) -> Any:
    """The clock goes on from the true one, and wherever somebody sets the time of day."""
    ahead = time.clock_gettime(time.CLOCK_BOOTTIME) - time.time()
    return SimpleNamespace(CLOCK_BOOTTIME=time.CLOCK_BOOTTIME, clock_gettime=lambda clock: time.time() + ahead)


# -- requests --------------------------------------------------------------------------------------------------------


def _any_pause(error_from: Rule) -> Rule:
    def told(status: int, body: bytes, retry_after: str | None = None) -> ApiError:
        error: ApiError = error_from(status, body, retry_after)
        error.retry_after_seconds = None
        return error

    return told


def _as_at_the_start(current: Rule) -> Rule:
    return lambda self: self._access


def _not_replaced(replaced: Rule) -> Rule:
    async def refused(self: Credentials, refused: Access, within_seconds: float) -> bool:
        return False

    return refused


# -- queues ----------------------------------------------------------------------------------------------------------


def _given_up(delayed: Rule) -> Rule:
    """A key that has failed waits for the next change of it."""

    def forgotten(self: WorkQueue[Any], key: Any, now: float, *, at_least_seconds: float = 0.0) -> float:
        self._failures.pop(key, None)
        return _LONG_SECONDS

    return forgotten


RULES: Mapping[str, Removal] = {
    **REMOVALS,
    **{
        each.name: each
        for each in (
            _rule(
                "dead-stay-dead",
                "R1",
                "A worker that died is started again at once.",
                (RestartPolicy, "delay_seconds", always(_LONG_SECONDS)),
            ),
            _rule(
                "frozen-live-on",
                "R2",
                "A worker that stands still past its deadline is ended.",
                (Watchdog, "_act", always(None)),
                (supervisor, "kill_frozen", always(None)),
            ),
            _rule(
                "nothing-is-set-aside",
                "7",
                "A key that has ended three workers is not run any more.",
                (Suspects, "is_quarantined", always(False)),
            ),
            _rule(
                "names-by-their-beginning",
                "2",
                "Members are told apart by their whole names.",
                (agenda, "floors", _by_how_names_begin),
            ),
            _rule(
                "lease-without-end",
                "R2",
                "A member acts for 0.85 of its lease at most.",
                (member, "acting_until", lambda until: lambda sent_at, lease_seconds: sent_at + _LONG_SECONDS),
            ),
            _rule(
                "map-is-believed",
                "R13",
                "What is meant for nobody is given to somebody, and kept until that one stands by.",
                (agenda, "assign", _as_the_map_says),
                *REMOVALS["release-without-standby"].swaps,
            ),
            _rule(
                "restore-goes-unnoticed",
                "R14, decision 23",
                "After a restore, or a renewal that it never sent, a member drops everything.",
                *REMOVALS["restored-goes-on"].swaps,
                *REMOVALS["expelled-goes-on"].swaps,
            ),
            _rule(
                "time-of-day",
                "3.1",
                "Leases are measured by a clock that nobody sets.",
                (shards.clock, "time", _time_of_day),
            ),
            _rule(
                "pauses-unheeded",
                "5.5",
                "A server that asks for a pause gets it.",
                (http_transport, "error_from", _any_pause),
            ),
            _rule(
                "token-of-the-start",
                "5.5",
                "A credential that is refused is read again.",
                (Credentials, "current", _as_at_the_start),
                (Credentials, "replaced", _not_replaced),
            ),
            _rule(
                "resume-at-the-newest",
                "5.1",
                "A watch goes on from the version that its view is at.",
                (WatchMachine, "failed", broken_views.asks_where_it_stands),
                (WatchMachine, "checked", broken_views.goes_on_from_there),
            ),
            _rule(
                "expired-is-skipped",
                "5.1",
                "Where the version of a view is no more, a list follows.",
                (WatchMachine, "failed", broken_views.asks_where_it_stands),
                (WatchMachine, "checked", broken_views.goes_on_from_there_if_expired),
            ),
            _rule(
                "caches-are-believed",
                "5.1",
                "A view asks nobody who may know less than it does.",
                (WatchMachine, "_request", broken_views.of_any_cache),
                *REMOVALS["lists-of-any-cache"].swaps,
            ),
            _rule(
                "what-left-is-kept",
                "5.2",
                "An object that has left what the fleet selects is gone for it.",
                (StoreWriter, "delete", broken_views.what_left_is_kept),
            ),
            _rule(
                "half-a-list",
                "5.1",
                "Nothing is concluded from a list that is not whole.",
                (Informer, "_list", broken_views.half_a_list),
            ),
            _rule(
                "no-live-lists",
                "R13",
                "A view of records that hears nothing is confirmed by a live list, and nobody renews without it.",
                (worker, "keep_confirmed", broken_views.never_confirmed),
                (coordinator, "keep_confirmed", broken_views.never_confirmed),
                *REMOVALS["renew-while-blind"].swaps,
            ),
            _rule(
                "failed-is-forgotten",
                "5.3",
                "A key that fails is tried again.",
                (WorkQueue, "add_rate_limited", _given_up),
            ),
        )
    },
}
"""By name."""
