"""The 19 stale scenarios of the catalogue: a view that stands still at one change acts after another."""

from __future__ import annotations

from functools import partial
from typing import Any

from tests.integration.sieve.operators import endings, resizing, rings, toggles
from tests.integration.sieve.parts import (
    BUDGETS,
    DATASTORES,
    FINALIZER,
    PODS,
    SECRETS,
    SERVICES,
    STATEFUL_SETS,
    VOLUMES,
    datastore,
)
from tests.integration.sieve.plans import (
    At,
    Change,
    Make,
    On,
    Remove,
    Scenario,
    Step,
    Until,
    changed,
    created,
    doomed,
    gone,
    stale,
)

Workload = tuple[Step, ...]


def running(pod: str) -> Until:
    return Until(PODS, pod, "status.phase", "Running")


def recreated(*pods: str, others: Workload = (), **spec: Any) -> Workload:
    """A datastore is deleted, and another one of its name is created. others: what to wait for in between."""
    make = Make(datastore(replicas=1, finalizers=[FINALIZER], **spec))
    there = [running(pod) for pod in pods]
    ends = (Remove(DATASTORES, "one"), gone(DATASTORES, "one"), *(gone(PODS, pod) for pod in pods), *others)
    return make, *there, *ends, make, *there


def back_and_forth(field: str, first: Any, second: Any, off: Workload, on: Workload) -> Workload:
    """A field of the spec gets another value, and the first one again. off, on: what to wait for each time."""
    there, back = ({"spec": {field: value}} for value in (second, first))
    begin = Make(datastore(**{"replicas": 1, field: first}))
    return begin, *on, Change(DATASTORES, "one", there), *off, Change(DATASTORES, "one", back), *on


def shrunk_and_grown() -> Workload:
    return back_and_forth("replicas", 2, 1, (gone(VOLUMES, "data-one-1"),), (running("one-1"),))


def part_off_and_on(field: str, *pods: str, port: bool = False) -> Workload:
    """A part of a database that consists of these pods, with a Service where it has a port."""
    services = [f"one-{field}"] if port else []
    off = (*(gone(PODS, pod) for pod in pods), *(gone(SERVICES, each) for each in services))
    on = (*(running(pod) for pod in pods), *(Until(SERVICES, each) for each in services))
    return back_and_forth(field, True, False, off, on)


def becomes(field: str, value: Any, at: At = At.SERVER) -> On:
    return changed(DATASTORES, "one", f"spec.{field}", value, at=at)


def _named(
    number: int, bug: str, make: Any, workload: Workload, freeze: On, switch: On, *, live_read_suffices: bool = True
) -> Scenario:
    rules = stale(freeze, switch)
    return Scenario(number, bug, "S", make, workload, rules, live_read_suffices=live_read_suffices)


ENDS = doomed(DATASTORES, "one")
NEW_VOLUME = created(VOLUMES, "data-one-0")
VOLUME_GONE = gone(VOLUMES, "data-one-0")

STALE = (
    _named(
        1,
        "K8SSAND-559",
        rings.removes_volumes_that_have_its_name,
        recreated("one-0", others=(VOLUME_GONE,)),
        ENDS,
        NEW_VOLUME,
    ),
    _named(
        6,
        "cassandra-operator 402",
        rings.removes_volumes_of_its_members,
        recreated("one-0", others=(VOLUME_GONE,)),
        ENDS,
        NEW_VOLUME,
    ),
    _named(
        7,
        "cassandra-operator 407",
        rings.removes_volumes_of_members_that_leave,
        shrunk_and_grown(),
        doomed(PODS, "one-1"),
        created(VOLUMES, "data-one-1"),
    ),
    _named(
        9,
        "casskop 316",
        rings.removes_volumes_that_have_its_name,
        recreated("one-0", others=(VOLUME_GONE,), deletePVC=True),
        ENDS,
        NEW_VOLUME,
    ),
    _named(
        10,
        "casskop 321",
        rings.makes_its_budget_anew,
        (
            Make(datastore(replicas=1, maxPodUnavailable=4)),
            Until(BUDGETS, "one"),
            running("one-0"),
            Change(DATASTORES, "one", {"spec": {"maxPodUnavailable": 1}}),
            Until(BUDGETS, "one", "spec.maxUnavailable", 1),
        ),
        becomes("maxPodUnavailable", 1, At.REQUEST),
        created(BUDGETS, "one"),
        live_read_suffices=False,
    ),
    _named(
        13,
        "cloud-on-k8s 5249",
        endings.removes_secrets_that_have_its_name,
        recreated("one-0", others=(gone(SECRETS, "one-certs"),)),
        ENDS,
        created(SECRETS, "one-certs"),
    ),
    _named(
        14,
        "cloud-on-k8s 5274",
        toggles.has_no_budget_for_a_single_node,
        (
            Make(datastore(count=1)),
            running("one-0"),
            Change(DATASTORES, "one", {"spec": {"count": 2}}),
            running("one-1"),
            Until(BUDGETS, "one"),
        ),
        becomes("count", 2, At.REQUEST),
        created(BUDGETS, "one"),
    ),
    _named(
        15,
        "K8SPSMDB-430",
        endings.removes_members_and_then_volumes,
        recreated("one-0", others=(VOLUME_GONE,)),
        ENDS,
        NEW_VOLUME,
    ),
    _named(
        16,
        "K8SPSMDB-433",
        partial(toggles.runs_sets_of_its_own_for, "sharding", "cfg", "mongos"),
        part_off_and_on("sharding", "one-cfg-0", "one-mongos-0"),
        becomes("sharding", False),
        created(STATEFUL_SETS, "one-cfg"),
    ),
    _named(
        18,
        "K8SPSMDB-438",
        partial(toggles.runs_sets_of_its_own_for, "arbiter", "arbiter"),
        part_off_and_on("arbiter", "one-arbiter-0"),
        becomes("arbiter", False),
        created(STATEFUL_SETS, "one-arbiter"),
    ),
    _named(
        27,
        "cluster-operator 648",
        endings.ends_its_members_at_once,
        recreated("one-0"),
        ENDS,
        created(PODS, "one-0"),
    ),
    _named(
        28,
        "cluster-operator 653",
        resizing.makes_its_set_anew_for_another_size,
        (
            Make(datastore(replicas=1, storage="10Gi")),
            running("one-0"),
            Change(DATASTORES, "one", {"spec": {"storage": "15Gi"}}),
            Until(STATEFUL_SETS, "one", resizing.SIZE, "15Gi"),
        ),
        becomes("storage", "15Gi", At.REQUEST),
        created(STATEFUL_SETS, "one"),
        live_read_suffices=False,
    ),
    _named(
        31,
        "K8SPXC-716",
        endings.removes_volumes_of_each_component,
        recreated(
            "one-pxc-0",
            "one-proxysql-0",
            others=(gone(VOLUMES, "data-one-pxc-0"), gone(VOLUMES, "data-one-proxysql-0")),
        ),
        ENDS,
        created(VOLUMES, "data-one-pxc-0"),
    ),
    _named(
        32,
        "K8SPXC-725",
        partial(toggles.runs_sets_of_its_own_for, "haproxy", "haproxy", port=3306),
        part_off_and_on("haproxy", "one-haproxy-0", port=True),
        becomes("haproxy", False),
        created(STATEFUL_SETS, "one-haproxy"),
    ),
    _named(
        33,
        "K8SPXC-763",
        partial(toggles.runs_sets_of_its_own_for, "proxysql", "proxysql", port=6032),
        part_off_and_on("proxysql", "one-proxysql-0", port=True),
        becomes("proxysql", False),
        created(STATEFUL_SETS, "one-proxysql"),
    ),
    _named(
        39,
        "yugabyte-operator 35",
        toggles.removes_certificates_while_tls_is_off,
        back_and_forth("tls", True, False, (gone(SECRETS, "one-tserver-cert"),), (Until(SECRETS, "one-tserver-cert"),)),
        becomes("tls", False),
        created(SECRETS, "one-tserver-cert"),
    ),
    _named(
        40,
        "yugabyte-operator 36",
        toggles.removes_its_interface_at_port_0,
        back_and_forth("uiPort", 9000, 0, (gone(SERVICES, "one-ui"),), (Until(SERVICES, "one-ui"),)),
        becomes("uiPort", 0),
        created(SERVICES, "one-ui"),
    ),
    _named(
        43,
        "zookeeper-operator 312",
        rings.removes_volumes_that_have_its_name,
        recreated("one-0", others=(VOLUME_GONE,)),
        ENDS,
        NEW_VOLUME,
    ),
    _named(
        44,
        "zookeeper-operator 314",
        rings.removes_volumes_beyond_what_is_ready,
        shrunk_and_grown(),
        changed(STATEFUL_SETS, "one", "status.readyReplicas", 1),
        created(VOLUMES, "data-one-1"),
    ),
)
