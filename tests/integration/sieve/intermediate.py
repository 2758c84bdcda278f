"""The 11 intermediate scenarios of the catalogue: a crash between two writes of one reconcile."""

from __future__ import annotations

from tests.integration.sieve.operators import steps
from tests.integration.sieve.parts import (
    CONFIG_MAPS,
    DATASTORES,
    FINALIZER,
    PODS,
    SECRETS,
    STATEFUL_SETS,
    VOLUMES,
    datastore,
)
from tests.integration.sieve.plans import (
    At,
    Change,
    Make,
    Remove,
    Scenario,
    Until,
    Wait,
    changed,
    crash,
    created,
    deleted,
    gone,
)
from tests.integration.sieve.workloads import ONE, running, scaled


def half_made_pair(number: int, bug: str, resource: str) -> Scenario:
    """A crash after the first of two objects of this resource is made."""
    make = steps.makes_a_pair_where_the_first_is_missing(resource)
    return Scenario(number, bug, "I", make, ONE, crash(created(resource, "one-ssl", at=At.WRITE)), fails_with=True)


INTERMEDIATE = (
    Scenario(
        2,
        "K8SSAND-1023",
        "I",
        steps.signs_what_it_has_just_made,
        ONE,
        crash(created(SECRETS, "one-ca", at=At.WRITE)),
        fails_with=True,
    ),
    Scenario(
        3,
        "K8SSAND-1362",
        "I",
        steps.starts_members_one_by_one,
        (Make(datastore(replicas=2)), Until(PODS, "one-1", "metadata.labels.state", "started")),
        crash(changed(PODS, "one-1", "metadata.labels.state", "starting", at=At.WRITE)),
        fails_with=True,
    ),
    Scenario(
        12,
        "casskop 370",
        "I",
        steps.removes_a_member_by_phases,
        scaled(gone(VOLUMES, "data-one-1")),
        crash(changed(STATEFUL_SETS, "one", "spec.replicas", 1, at=At.WRITE), restart_seconds=5.0),
        fails_with=True,
    ),
    half_made_pair(19, "K8SPSMDB-578", SECRETS),
    half_made_pair(20, "K8SPSMDB-579", CONFIG_MAPS),
    Scenario(
        24,
        "nifikop 49",
        "I",
        steps.restarts_members_when_it_writes_their_config,
        (
            Make(datastore(replicas=1, config="b2xk")),
            running("one-0"),
            Change(DATASTORES, "one", {"spec": {"config": "bmV3"}}),
            Wait(10.0),
        ),
        crash(changed(SECRETS, "one-config", "data.value", "bmV3", at=At.WRITE)),
        fails_with=True,
    ),
    Scenario(
        25,
        "nifikop 79",
        "I",
        steps.makes_what_its_status_lacks,
        (*ONE, Remove(DATASTORES, "one"), gone(DATASTORES, "one"), gone(PODS, "one-0"), *ONE),
        crash(changed(DATASTORES, "one", "status.member", nth=2, at=At.WRITE)),
        fails_with=True,
    ),
    Scenario(
        30,
        "cluster-operator 782",
        "I",
        steps.records_a_size_before_it_asks_for_it,
        (
            Make(datastore(replicas=1, volume="10Gi")),
            running("one-0"),
            Change(DATASTORES, "one", {"spec": {"volume": "15Gi"}}),
            Until(VOLUMES, "data-one-0", "spec.resources.requests.storage", "15Gi"),
        ),
        crash(changed(DATASTORES, "one", "status.volume", "15Gi", at=At.WRITE)),
        fails_with=True,
    ),
    half_made_pair(34, "K8SPXC-896", SECRETS),
    half_made_pair(35, "K8SPXC-897", CONFIG_MAPS),
    Scenario(
        37,
        "K8SPXC-979",
        "I",
        steps.tears_down_while_there_are_members,
        (
            Make(datastore(replicas=1, finalizers=[FINALIZER])),
            running("one-0"),
            Remove(DATASTORES, "one"),
            gone(DATASTORES, "one"),
        ),
        crash(deleted(STATEFUL_SETS, "one", at=At.WRITE)),
        fails_with=True,
    ),
)
