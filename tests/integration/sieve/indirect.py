"""The 9 indirect scenarios of the catalogue: found by Sieve's runs, but due to no fault of the kinds that it makes, or
to one that only opens a window."""

from __future__ import annotations

from tests.integration.sieve.operators import detours, steps
from tests.integration.sieve.parts import (
    CONFIG_MAPS,
    DATASTORES,
    FINALIZER,
    PODS,
    SECRETS,
    SERVICES,
    STATEFUL_SETS,
    datastore,
)
from tests.integration.sieve.plans import (
    At,
    Change,
    Make,
    Pause,
    Remove,
    Resume,
    Rule,
    Scenario,
    Until,
    Wait,
    changed,
    crash,
    deleted,
    gone,
)
from tests.integration.sieve.workloads import ONE, running


def orphans(number: int, bug: str, resource: str) -> Scenario:
    """The process stands still when it has let the datastore go, until garbage is collected."""
    held = Make(datastore(replicas=1, finalizers=[FINALIZER]))
    made = Until(resource, "one-internal")
    return Scenario(
        number,
        bug,
        "X",
        detours.keeps_what_users_need(resource),
        (held, made, Remove(DATASTORES, "one"), gone(DATASTORES, "one"), gone(resource, "one-users"), Wait(10.0)),
        (
            Rule(deleted(DATASTORES, "one", at=At.WRITE), (Pause(),)),
            Rule(deleted(resource, "one-users"), (Resume(0.5),)),
        ),
    )


INDIRECT = (
    Scenario(
        5,
        "cassandra-operator 400",
        "X",
        detours.takes_the_last_of_the_list,
        (
            Make(datastore(replicas=11)),
            running("one-10"),
            Wait(5.0),
            Change(DATASTORES, "one", {"spec": {"replicas": 10}}),
            gone(PODS, "one-10"),
            Wait(5.0),
            Until(DATASTORES, "one", "status.leaving", None),
            Change(DATASTORES, "one", {"spec": {"replicas": 9}}),
            gone(PODS, "one-9"),
        ),
        fails_with=True,
    ),
    Scenario(
        8,
        "cassandra-operator 410",
        "X",
        detours.admits_members_that_have_not_left,
        (
            Make(datastore(replicas=2)),
            Until(PODS, "one-1", "metadata.labels.admitted", "yes"),
            Change(DATASTORES, "one", {"spec": {"replicas": 1}}),
            Until(STATEFUL_SETS, "one", "spec.replicas", 1),
            Change(DATASTORES, "one", {"spec": {"replicas": 2}}),
            Wait(5.0),
            Until(PODS, "one-1", "metadata.labels.admitted", "yes"),
        ),
        fails_with=True,
    ),
    Scenario(
        17,
        "K8SPSMDB-434",
        "X",
        detours.looks_into_what_is_not_there,
        (
            *ONE,
            Change(DATASTORES, "one", {"spec": {"sharding": True}}),
            running("one-cfg-0"),
        ),
        fails_with=True,
    ),
    orphans(22, "K8SPSMDB-590", SECRETS),
    Scenario(
        23,
        "K8SPSMDB-591",
        "X",
        detours.stops_at_an_error,
        (
            Make(datastore(replicas=1, sharding=True)),
            running("one-cfg-0"),
            Change(DATASTORES, "one", {"spec": {"sharding": False}}),
            Until(STATEFUL_SETS, "one-cfg", "metadata.deletionTimestamp"),
            Change(DATASTORES, "one", {"spec": {"sharding": True}}),
            Wait(10.0),
            Until(DATASTORES, "one", "status.state", "ready"),
            running("one-cfg-0"),
        ),
        fails_with=True,
    ),
    Scenario(
        26,
        "nifikop 86",
        "X",
        steps.goes_on_with_a_removal_that_is_recorded,
        (
            Make(datastore(replicas=2)),
            running("one-1"),
            Change(DATASTORES, "one", {"spec": {"replicas": 1}}),
            Wait(10.0),
            Change(DATASTORES, "one", {"spec": {"replicas": 2}}),
            Wait(30.0),
            Until(DATASTORES, "one", "status.removing", None),
            Change(DATASTORES, "one", {"spec": {"replicas": 3}}),
            running("one-2"),
        ),
        crash(changed(DATASTORES, "one", "status.removing", "one-1", at=At.WRITE), restart_seconds=20.0),
        fails_with=True,
    ),
    Scenario(
        38,
        "yugabyte-operator 33",
        "X",
        detours.opens_a_port,
        (
            Make(datastore(replicas=1, tserverUIPort=9000)),
            Until(SERVICES, "one-ui"),
            Change(DATASTORES, "one", {"spec": {"tserverUIPort": 0}}),
            gone(SERVICES, "one-ui"),
        ),
        fails_with=True,
    ),
    Scenario(
        42,
        "yugabyte-operator 43",
        "X",
        detours.restarts_members_until_it_is_recorded,
        (
            Make(datastore(replicas=3, tls=False)),
            running("one-2"),
            Change(DATASTORES, "one", {"spec": {"tls": True}}),
            Until(PODS, "one-0", "metadata.annotations.tls", "on"),
            Change(DATASTORES, "one", {"spec": {"tls": False}}),
            Wait(30.0),
            Until(PODS, "one-0", "metadata.annotations.tls", "off"),
        ),
        fails_with=True,
    ),
    orphans(45, "zookeeper-operator 410", CONFIG_MAPS),
)
