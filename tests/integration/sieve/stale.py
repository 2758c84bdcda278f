"""The 19 stale scenarios of the catalogue: a view that stands still at one change acts after another."""

from __future__ import annotations

from functools import partial
from typing import Any

from tests.integration.sieve.operators import endings, resizing, rings, toggles
from tests.integration.sieve.parts import (
    BUDGETS,
    DATASTORES,
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
    Scenario,
    Until,
    changed,
    created,
    doomed,
    gone,
    stale,
)
from tests.integration.sieve.workloads import Workload, back_and_forth, recreated, running, scaled


def becomes(field: str, value: Any, at: At = At.SERVER) -> On:
    return changed(DATASTORES, "one", f"spec.{field}", value, at=at)


def _named(
    number: int, bug: str, make: Any, workload: Workload, freeze: On, switch: On, *, live_read_suffices: bool = True
) -> Scenario:
    rules = stale(freeze, switch)
    return Scenario(number, bug, "S", make, workload, rules, live_read_suffices=live_read_suffices)


ENDS = doomed(DATASTORES, "one")


def takes_the_volume(number: int, bug: str, make: Any, **spec: Any) -> Scenario:
    """The volume of a datastore is to go with it, and that of its successor is to stay."""
    workload = recreated("one-0", others=(gone(VOLUMES, "data-one-0"),), **spec)
    return _named(number, bug, make, workload, ENDS, created(VOLUMES, "data-one-0"))


def part_off_and_on(number: int, bug: str, switch: str, *components: str, port: int = 0) -> Scenario:
    """A part of a database, of a set for each component, and a Service of it where there is a port. switch: field of
    the spec."""
    make = partial(toggles.runs_sets_of_its_own_for, switch, *components, port=port)
    pods, services = [f"one-{each}-0" for each in components], [f"one-{each}" for each in components if port]
    off = (*(gone(PODS, each) for each in pods), *(gone(SERVICES, each) for each in services))
    on = (*(running(each) for each in pods), *(Until(SERVICES, each) for each in services))
    workload = back_and_forth(switch, True, False, off, on)
    return _named(number, bug, make, workload, becomes(switch, False), created(STATEFUL_SETS, f"one-{components[0]}"))


STALE = (
    takes_the_volume(1, "K8SSAND-559", rings.removes_volumes_that_have_its_name),
    takes_the_volume(6, "cassandra-operator 402", rings.removes_volumes_of_its_members),
    _named(
        7,
        "cassandra-operator 407",
        rings.removes_volumes_of_members_that_leave,
        scaled(gone(VOLUMES, "data-one-1")),
        doomed(PODS, "one-1"),
        created(VOLUMES, "data-one-1"),
    ),
    takes_the_volume(9, "casskop 316", rings.removes_volumes_that_have_its_name, deletePVC=True),
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
    takes_the_volume(15, "K8SPSMDB-430", endings.removes_members_and_then_volumes),
    part_off_and_on(16, "K8SPSMDB-433", "sharding", "cfg", "mongos"),
    part_off_and_on(18, "K8SPSMDB-438", "arbiter", "arbiter"),
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
    part_off_and_on(32, "K8SPXC-725", "haproxy", "haproxy", port=3306),
    part_off_and_on(33, "K8SPXC-763", "proxysql", "proxysql", port=6032),
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
    takes_the_volume(43, "zookeeper-operator 312", rings.removes_volumes_that_have_its_name),
    _named(
        44,
        "zookeeper-operator 314",
        rings.removes_volumes_beyond_what_is_ready,
        scaled(gone(VOLUMES, "data-one-1")),
        changed(STATEFUL_SETS, "one", "status.readyReplicas", 1),
        created(VOLUMES, "data-one-1"),
    ),
)
