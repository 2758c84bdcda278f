"""Removals of what shards do: design 4 and 5, seen where real informers, gates and reconciles run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import shards.ownership.fenced
from chaos.simulation.plan import Depth
from chaos.simulation.removals.removal import Removal, Swap, always
from fleet.rules.membership import MemberWatch
from shards.gates import handover_gate
from shards.gates.handover_gate import HandoverGate
from shards.gates.own_writes import OwnWrites
from shards.gates.watermark import ResourceMark
from shards.objects import Meta, Object, ObjectName, Resource
from shards.ownership.acts import Acts
from shards.ownership.fenced_requests import FencedRequests
from shards.ownership.tenure import Tenure
from shards.queue.workqueue import WorkQueue
from shards.reconciling.engine import Engine
from shards.stores.store import StoreReader, StoreWriter
from shards.watching.listing import Listing
from shards.watching.watch_requests import ListPage

STACK: tuple[Depth, ...] = ("stack",)

Rule = Callable[..., Any]


def shown_by(rule: str, name: str, sentence: str, expects: str, *swaps: Swap) -> Removal:
    """One that the stack shows. expects: ids, with spaces between."""
    return Removal(name, rule, sentence, STACK, tuple(expects.split()), swaps)


# -- requests --------------------------------------------------------------------------------------------------------


def _unconditional(write: Rule) -> Rule:
    async def written(
        self: FencedRequests, reason: str, resource: Resource, name: ObjectName, body: Object, **rest: Any
    ) -> Object:
        if rest["method"] == "DELETE":
            body = {each: value for each, value in body.items() if each != "preconditions"}
        elif rest["method"] == "PATCH":
            kept = {each: value for each, value in body["metadata"].items() if each not in ("uid", "resourceVersion")}
            body = {**body, "metadata": kept}
        answer: Object = await write(self, reason, resource, name, body, **rest)
        return answer

    return written


def _any_incarnation(write: Rule) -> Rule:
    """What was decided for one object lands on whichever has its name now, at whatever version it is."""

    async def written(
        self: FencedRequests, reason: str, resource: Resource, name: ObjectName, body: Object, **rest: Any
    ) -> Object:
        if rest["method"] == "PATCH":
            found = await self.fence.live.get(resource, name, purpose="author")
            if found is not None:
                metadata = {**body["metadata"], "uid": found["metadata"]["uid"]}
                metadata["resourceVersion"] = found["metadata"]["resourceVersion"]
                body = {**body, "metadata": metadata}
        answer: Object = await write(self, reason, resource, name, body, **rest)
        return answer

    return written


def _from_the_view(read: Rule) -> Rule:
    async def seen(
        self: FencedRequests, resource: Resource, name: ObjectName, purpose: str, **rest: Any
    ) -> Object | None:
        if purpose != "delete":
            found: Object | None = await read(self, resource, name, purpose, **rest)
            return found
        return self.view.get(resource, name)

    return seen


# -- gates -----------------------------------------------------------------------------------------------------------


def _let_reconciles_run(drain: Rule) -> Rule:
    async def at_once(self: Engine, grace_seconds: float) -> None:
        self._closed = True
        self.queue.shut_down()

    return at_once


def _without_the_mark(lag: Rule) -> Rule:
    def complete(view: StoreReader, mark: ResourceMark) -> str:
        """Whatever the old owner left: any list will do."""
        return "" if view.resource_version else str(lag(view, mark))

    return complete


def _without_the_list(closed: Rule) -> Rule:
    def by_marks(self: HandoverGate, views: Mapping[str, StoreReader]) -> dict[str, str]:
        """Views without a mark open as they are."""
        found: dict[str, str] = closed(self, views)
        return {view: why for view, why in found.items() if view in self._marks or not views[view].resource_version}

    return by_marks


def _lost_is_failed(in_doubt: Rule) -> Rule:
    return lambda self, barrier: self.failed(barrier)


def _any_cache(next_page: Rule) -> Rule:
    def asked(self: Listing) -> ListPage:
        page: ListPage = next_page(self)
        if not page.first:
            return page
        self.floor = ""  # nor is it asked how old the answer is
        query = tuple(each for each in page.query if not each[0].startswith("resourceVersion"))
        return ListPage((*query, ("resourceVersion", "0")), first=True)

    return asked


# -- views and queues ------------------------------------------------------------------------------------------------


def _deaf(delete: Rule) -> Rule:
    def bookmarked(self: StoreWriter, meta: Meta) -> None:
        self.bookmark(meta.resource_version)

    return bookmarked


def _once(add: Rule) -> Rule:
    def the_first_time(self: Engine, key: Any, *, low_priority: bool = False) -> None:
        if self.first_reconcile_at is None:
            add(self, key, low_priority=low_priority)

    return the_first_time


def _at_once(delayed: Rule) -> Rule:
    def added(self: WorkQueue[Any], key: Any, now: float, *, at_least_seconds: float = 0.0) -> float:
        delay: float = delayed(self, key, now, at_least_seconds=at_least_seconds)
        self.add(key, now)
        return delay

    return added


_RUNS_ON: tuple[Swap, ...] = (
    (Engine, "drain", _let_reconciles_run),
    (Engine, "cancel_running", always(None)),
)

REMOVALS = (
    shown_by(
        "4.1",
        "gate-off",
        "A reconcile waits until its view shows what was written for its key.",
        "I3 I11",
        (OwnWrites, "blocked", always(None)),
    ),
    shown_by(
        "4.1",
        "lost-is-failed",
        "A write whose answer was lost is in doubt until a live read tells.",
        "I3 I11",
        (OwnWrites, "in_doubt", _lost_is_failed),
    ),
    shown_by(
        "4.2",
        "watermark-off",
        "A new owner's views reach the watermark before it acts.",
        "I3 I11",
        (handover_gate, "_lag", _without_the_mark),
    ),
    shown_by(
        "4.2",
        "no-list-at-the-claim",
        "Without a watermark, a list that began after the claim opens the gate.",
        "I3 I11",
        (HandoverGate, "needs_list", always(False)),
        (HandoverGate, "closed", _without_the_list),
    ),
    shown_by(
        "4.4",
        "no-live-read",
        "A delete follows a live read of its object.",
        "I5",
        (FencedRequests, "read", _from_the_view),
    ),
    shown_by(
        "4.4",
        "no-comparison",
        "A delete is decided anew where the live object is not the one that it was decided on.",
        "I4",
        (Acts, "compare", always(None)),
    ),
    shown_by(
        "5.6",
        "no-preconditions",
        "Every write names what it replaces.",
        "I4",
        (FencedRequests, "write", _unconditional),
    ),
    shown_by(
        "5.6",
        "any-incarnation",
        "A write names the UID and the version that it was decided on.",
        "I4 I13 I3",
        (FencedRequests, "write", _any_incarnation),
    ),
    shown_by(
        "R2",
        "deadline-off",
        "A reconcile sends nothing after its owner's deadline.",
        "I1 I23 I3",
        (Tenure, "deadline", always(float("inf"))),
        *_RUNS_ON,
    ),
    shown_by(
        "R4",
        "reconciles-outlive-the-drain",
        "A drain ends what runs.",
        "I23 I1 I3",
        (Tenure, "end", always(None)),
        *_RUNS_ON,
    ),
    shown_by(
        "R5", "nobody-is-fenced", "Who is silent is fenced.", "I7 I24 I10", (MemberWatch, "fenceable", always(()))
    ),
    shown_by(
        "5.1",
        "lists-of-any-cache",
        "No list that a view takes over is older than the view.",
        "I15 I3",
        (Listing, "next_page", _any_cache),
    ),
    shown_by(
        "5.2", "deaf-to-deletions", "A view takes in deletions.", "I14 I3 I10 I16", (StoreWriter, "delete", _deaf)
    ),
    shown_by(
        "5.3",
        "no-delay",
        "A key that fails waits before it is tried again.",
        "I20",
        (WorkQueue, "add_rate_limited", _at_once),
    ),
    shown_by("5.3", "keys-wake-once", "Each change of a key wakes it.", "I9 I10", (Engine, "add", _once)),
    shown_by(
        "5.6",
        "status-unasked",
        "A status that is there already is not written.",
        "I11 I10",
        (shards.ownership.fenced, "status_changes", lambda changes: lambda current, wanted: wanted),
    ),
    shown_by(
        "5",
        "not-all-at-the-start",
        "A new owner reconciles every primary once.",
        "I9 I10",
        (Engine, "begin_with_all", always(None)),
    ),
)
