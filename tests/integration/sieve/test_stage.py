"""The stage: its faults strike when their triggers are seen, its oracles find what differs."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from shards import Context, Controller, Request
from shards.objects import Object
from tests.integration.sieve.operators.frame import operator
from tests.integration.sieve.outcome import Outcome
from tests.integration.sieve.parts import CONFIG_MAPS, DATASTORES, PODS, STATEFUL_SETS, datastore, stateful_set
from tests.integration.sieve.plans import (
    At,
    Change,
    Delay,
    Hide,
    Make,
    Pause,
    Resume,
    Rule,
    Scenario,
    Until,
    Wait,
    changed,
    crash,
    created,
    hidden,
)
from tests.integration.sieve.runtimes import WITH
from tests.integration.sieve.stage import play
from tests.integration.sieve.workloads import running


class Seen:
    """What reconciles see of one field, and when they run."""

    def __init__(self) -> None:
        self.values: list[int] = []

    def controller(self) -> Controller:
        controller = Controller("datastores", primary=DATASTORES)
        controller.owns(CONFIG_MAPS)

        @controller.reconcile
        async def reconcile(ctx: Context, request: Request) -> None:
            store = ctx.store.get()
            if store is not None:
                self.values.append(store["spec"]["size"])
                body = {"metadata": {"name": "size"}, "data": {"size": str(store["spec"]["size"])}}
                await ctx.client.ensure(CONFIG_MAPS, body)

        return controller


def sizes(*sizes: int) -> tuple[Make | Change | Until | Wait, ...]:
    """One size after another, each once the one before is seen, or three seconds later."""
    first, *others = sizes
    steps: list[Make | Change | Until | Wait] = [Make(datastore(size=first)), Wait(3.0)]
    for each in others:
        steps += [Change(DATASTORES, "one", {"spec": {"size": each}}), Wait(3.0)]
    return tuple(steps)


def scenario_of(seen: Seen, *rules: Rule) -> Scenario:
    return Scenario(0, "none", "U", seen.controller, sizes(3, 5, 4), rules)


def test_what_is_hidden_is_never_seen() -> None:
    seen = Seen()
    begin = changed(DATASTORES, "one", "spec.size", 5, at=At.REQUEST)
    end = changed(DATASTORES, "one", "spec.size", 4, at=At.REQUEST)
    outcome = play(scenario_of(seen, *hidden(begin, end, Hide(DATASTORES, "one"))), WITH)
    assert outcome.unfired == []
    assert list(dict.fromkeys(seen.values)) == [3, 4]


def test_without_faults_everything_is_seen() -> None:
    seen = Seen()
    play(scenario_of(seen), WITH, way=None)
    assert list(dict.fromkeys(seen.values)) == [3, 5, 4]


def test_a_paused_process_sends_nothing_until_it_goes_on() -> None:
    seen = Seen()
    pause = Rule(created(CONFIG_MAPS, "size"), (Pause(),))
    resume = Rule(changed(DATASTORES, "one", "spec.size", 4), (Resume(1.0),))
    outcome = play(scenario_of(seen, pause, resume), WITH)
    writes = [line for line in outcome.log if f"updated {CONFIG_MAPS}" in line]
    assert [float(line.split()[0]) >= 7.0 for line in writes] == [True]


def test_late_watches_are_late() -> None:
    seen = Seen()
    outcome = play(scenario_of(seen, Rule(created(DATASTORES, "one"), (Delay(2.0),))), WITH)
    writes = [float(line.split()[0]) for line in outcome.log if f"d {CONFIG_MAPS}" in line]
    assert writes == pytest.approx([2.0, 5.0, 8.0], abs=0.1)


def test_a_crash_after_a_write_lets_nothing_follow_in_that_reconcile() -> None:
    seen = Seen()
    outcome = play(scenario_of(seen, *crash(created(CONFIG_MAPS, "size", at=At.WRITE), restart_seconds=1.5)), WITH)
    assert outcome.unfired == []
    assert seen.values.count(3) == 2, "once before the crash, once after"


@pytest.mark.parametrize("at", [At.VIEW, At.SERVER])
def test_a_change_is_noticed_where_it_is_seen(at: At) -> None:
    seen = Seen()
    outcome = play(
        scenario_of(seen, Rule(changed(DATASTORES, "one", "spec.size", 5, at=at), (Pause(), Resume()))), WITH
    )
    assert outcome.unfired == []


def test_a_trigger_that_is_never_seen_is_told() -> None:
    seen = Seen()
    outcome = play(scenario_of(seen, *crash(created(CONFIG_MAPS, "another"))), WITH)
    assert len(outcome.unfired) == 1


def test_the_oracles_find_what_differs() -> None:
    reference = Outcome({("v1/pods", "a"): {"spec": {"size": 1}}}, Counter({("v1/pods", "a"): 1}))
    assert reference.differences(reference) == []
    other = replace(
        reference,
        state={("v1/pods", "a"): {"spec": {"size": 2}}, ("v1/pods", "b"): {}},
        created=Counter({("v1/pods", "a"): 2}),
        deleted=Counter({("v1/pods", "a"): 1}),
        errors=["raised: KeyError('a')"],
    )
    assert other.differences(reference) == [
        "raised: KeyError('a')",
        "end state: v1/pods a spec.size: 2 instead of 1",
        "end state: v1/pods b is there",
        "created: v1/pods a 2 times instead of 1",
        "deleted: v1/pods a 1 times instead of 0",
    ]


def test_pods_and_volumes_of_stateful_sets_come_and_go() -> None:
    @operator(watches=())
    async def make(ctx: Context, store: Object, name: str) -> None:
        await ctx.client.ensure(STATEFUL_SETS, stateful_set(name, name, store["spec"]["replicas"]))

    workload = (
        Make(datastore(replicas=2)),
        running("one-1"),
        Until(STATEFUL_SETS, "one", "status.readyReplicas", 2),
        Change(DATASTORES, "one", {"spec": {"replicas": 1}}),
        Until(STATEFUL_SETS, "one", "status.readyReplicas", 1),
    )
    outcome = play(Scenario(0, "none", "U", make, workload), WITH, way=None)
    assert outcome.errors == []
    assert outcome.deleted == Counter({(PODS, "one-1"): 1})
    assert ("v1/persistentvolumeclaims", "data-one-1") in outcome.state, "volumes outlive a scale-down"
