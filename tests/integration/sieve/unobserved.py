"""The 7 unobserved scenarios of the catalogue: what comes and goes between two looks is never seen."""

from __future__ import annotations

from shards.objects import Object
from tests.integration.sieve.intermediate import RUNNING, scaled
from tests.integration.sieve.operators import histories
from tests.integration.sieve.parts import DATASTORES, PODS, STATEFUL_SETS, datastore
from tests.integration.sieve.plans import (
    At,
    Change,
    Hide,
    Make,
    Rule,
    Scenario,
    Until,
    Wait,
    changed,
    created,
    deleted,
    gone,
    hidden,
)

SEEN_SECONDS = 10.0
"""For a value to be acted on."""


def wanted(field: str, first: object, *values: object) -> tuple[Make | Change | Until | Wait, ...]:
    """A field takes one value after the other."""
    spec: Object = {"replicas": 2, field: first}
    steps: list[Make | Change | Until | Wait] = [Make(datastore(**spec)), Until(PODS, "one-0", *RUNNING)]
    for each in values:
        steps += [Wait(SEEN_SECONDS), Change(DATASTORES, "one", {"spec": {field: each}})]
    return (*steps, Wait(SEEN_SECONDS))


def never_seen(field: str, value: object, then: object) -> tuple[Rule, ...]:
    """Of a field, the one value until the other."""
    path = f"spec.{field}"
    return hidden(
        changed(DATASTORES, "one", path, value, at=At.REQUEST),
        changed(DATASTORES, "one", path, then, at=At.REQUEST),
        Hide(DATASTORES, "one"),
    )


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
    Scenario(
        11,
        "casskop 342",
        "U",
        histories.shrinks_by_one_or_not_at_all,
        wanted("replicas", 2, 1, 0),
        never_seen("replicas", 1, 0),
        fails_with=True,
    ),
    Scenario(
        21,
        "K8SPSMDB-585",
        "U",
        histories.puts_an_arbiter_in_the_place_of_a_member,
        wanted("arbiter", True, False, True),
        never_seen("arbiter", False, True),
        fails_with=True,
    ),
    Scenario(
        29,
        "cluster-operator 758",
        "U",
        histories.never_shrinks,
        wanted("replicas", 1, 3, 2),
        never_seen("replicas", 3, 2),
        fails_with=True,
    ),
    Scenario(
        36,
        "K8SPXC-918",
        "U",
        histories.puts_an_arbiter_in_the_place_of_a_member,
        wanted("replicas", 3, 5, 3),
        never_seen("replicas", 5, 3),
        fails_with=True,
    ),
    Scenario(
        41,
        "yugabyte-operator 39",
        "U",
        histories.never_shrinks_its_masters,
        wanted("replicas", 3, 4, 3),
        never_seen("replicas", 4, 3),
        fails_with=True,
    ),
    Scenario(
        46,
        "zookeeper-operator 453",
        "U",
        histories.follows_what_is_wanted,
        (
            Make(datastore(replicas=1)),
            Wait(SEEN_SECONDS),
            Change(DATASTORES, "one", {"spec": {"replicas": 2}}),
            Until(PODS, "one-1", *RUNNING),
        ),
        hidden(
            created(DATASTORES, "one", at=At.REQUEST),
            changed(DATASTORES, "one", "spec.replicas", 2, at=At.REQUEST),
            Hide(DATASTORES, "one"),
        ),
        fails_without=False,
    ),
)
