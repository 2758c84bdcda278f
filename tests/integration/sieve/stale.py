"""The 19 stale scenarios of the catalogue: a view that stands still at one change acts after another."""

from __future__ import annotations

from tests.integration.sieve.operators import rings
from tests.integration.sieve.parts import DATASTORES, FINALIZER, PODS, STATEFUL_SETS, VOLUMES, datastore
from tests.integration.sieve.plans import (
    Change,
    Make,
    Remove,
    Scenario,
    Until,
    changed,
    created,
    doomed,
    gone,
    stale,
)

RUNNING = "status.phase", "Running"

RECREATED = (
    Make(datastore(replicas=1, finalizers=[FINALIZER])),
    Until(PODS, "one-0", *RUNNING),
    Remove(DATASTORES, "one"),
    gone(DATASTORES, "one"),
    gone(PODS, "one-0"),
    gone(VOLUMES, "data-one-0"),
    Make(datastore(replicas=1, finalizers=[FINALIZER])),
    Until(PODS, "one-0", *RUNNING),
)
"""A datastore is deleted, and another one of its name is created."""

SHRUNK_AND_GROWN = (
    Make(datastore(replicas=2)),
    Until(PODS, "one-1", *RUNNING),
    Change(DATASTORES, "one", {"spec": {"replicas": 1}}),
    gone(VOLUMES, "data-one-1"),
    Change(DATASTORES, "one", {"spec": {"replicas": 2}}),
    Until(PODS, "one-1", *RUNNING),
)

STALE = (
    Scenario(
        1,
        "K8SSAND-559",
        "S",
        rings.removes_volumes_with_the_datastore,
        RECREATED,
        stale(doomed(DATASTORES, "one"), created(VOLUMES, "data-one-0")),
    ),
    Scenario(
        44,
        "zookeeper-operator 314",
        "S",
        rings.removes_volumes_beyond_what_is_ready,
        SHRUNK_AND_GROWN,
        stale(changed(STATEFUL_SETS, "one", "status.readyReplicas", 1), created(VOLUMES, "data-one-1")),
    ),
)
