"""The 7 unobserved scenarios of the catalogue: what comes and goes between two looks is never seen."""

from __future__ import annotations

from collections.abc import Callable

from shards import Controller
from shards.objects import Object
from tests.integration.sieve.operators import histories
from tests.integration.sieve.parts import DATASTORES, PODS, STATEFUL_SETS, datastore
from tests.integration.sieve.plans import (
    At,
    Change,
    Hide,
    Make,
    Scenario,
    Step,
    Wait,
    changed,
    created,
    deleted,
    gone,
    hidden,
)
from tests.integration.sieve.workloads import running, scaled

SEEN_SECONDS = 10.0
"""For a value to be acted on."""


def missed(number: int, bug: str, make: Callable[[], Controller], field: str, *values: object) -> Scenario:
    """A field takes one value after the other, and the last but one is never seen."""
    first, *others = values
    spec: Object = {"replicas": 2, field: first}
    workload: list[Step] = [Make(datastore(**spec)), running("one-0")]
    for each in others:
        workload += [Wait(SEEN_SECONDS), Change(DATASTORES, "one", {"spec": {field: each}})]
    begin, end = (changed(DATASTORES, "one", f"spec.{field}", each, at=At.REQUEST) for each in values[-2:])
    rules = hidden(begin, end, Hide(DATASTORES, "one"))
    return Scenario(number, bug, "U", make, (*workload, Wait(SEEN_SECONDS)), rules, fails_with=True)


UNOBSERVED = (
    Scenario(
        4,
        "cassandra-operator 398",
        "U",
        histories.removes_volumes_of_members_it_sees_going,
        scaled(gone(PODS, "one-1"), Wait(SEEN_SECONDS)),
        hidden(
            changed(STATEFUL_SETS, "one", "spec.replicas", 1),
            deleted(PODS, "one-1"),
            Hide(PODS, "one-1", ("MODIFIED",)),
        ),
        fails_with=True,
    ),
    missed(11, "casskop 342", histories.shrinks_by_one_or_not_at_all, "replicas", 2, 1, 0),
    missed(21, "K8SPSMDB-585", histories.puts_an_arbiter_in_the_place_of_a_member, "arbiter", True, False, True),
    missed(29, "cluster-operator 758", histories.never_shrinks, "replicas", 1, 3, 2),
    missed(36, "K8SPXC-918", histories.puts_an_arbiter_in_the_place_of_a_member, "replicas", 3, 5, 3),
    missed(41, "yugabyte-operator 39", histories.never_shrinks_its_masters, "replicas", 3, 4, 3),
    Scenario(
        46,
        "zookeeper-operator 453",
        "U",
        histories.follows_what_is_wanted,
        (
            Make(datastore(replicas=1)),
            Wait(SEEN_SECONDS),
            Change(DATASTORES, "one", {"spec": {"replicas": 2}}),
            running("one-1"),
        ),
        hidden(
            created(DATASTORES, "one", at=At.REQUEST),
            changed(DATASTORES, "one", "spec.replicas", 2, at=At.REQUEST),
            Hide(DATASTORES, "one"),
        ),
        fails_without=False,
    ),
)
