"""What users do in more than one scenario."""

from __future__ import annotations

from typing import Any

from tests.integration.sieve.parts import DATASTORES, FINALIZER, PODS, datastore
from tests.integration.sieve.plans import Change, Make, Remove, Step, Until, gone

Workload = tuple[Step, ...]


def running(pod: str) -> Until:
    return Until(PODS, pod, "status.phase", "Running")


ONE: Workload = (Make(datastore(replicas=1)), running("one-0"))
"""One member, which gets to run."""


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


def scaled(*between: Step) -> Workload:
    """Two members, one, two. between: what is waited for with one."""
    return back_and_forth("replicas", 2, 1, between, (running("one-1"),))
