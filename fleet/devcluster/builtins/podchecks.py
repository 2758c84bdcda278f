"""What is wrong with a pod, and what an update of one may change (ValidatePodUpdate). Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from fleet.devcluster.builtins.findings import forbidden
from fleet.devcluster.builtins.rulebook import rule
from fleet.devcluster.builtins.templatechecks import container_causes, restart_causes
from fleet.devcluster.causes import Cause
from shards.objects import Object

_CHANGEABLE: Final = ("activeDeadlineSeconds", "tolerations", "schedulingGates")
_FIXED_MESSAGE: Final = (
    "pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,"
    "`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),"
    "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)\n"
)


@rule.checks("", "pods")
def pod_causes(body: Object, old: Object | None) -> Iterator[Cause]:
    spec = body["spec"]
    yield from container_causes(spec, "spec")
    yield from restart_causes(spec, "spec")
    if old is None:
        return
    before, now = old["spec"].get("tolerations") or [], spec.get("tolerations") or []
    if any(each not in now for each in before):
        yield forbidden("spec.tolerations", "existing toleration can not be modified except its tolerationSeconds")
    if _fixed(spec, old["spec"]) != _fixed(old["spec"], old["spec"]):
        yield forbidden("spec", _FIXED_MESSAGE)


def _fixed(spec: Object, old: Object) -> Object:
    """The part of a pod's spec that stays as it is; a node is set once, by a binding."""
    kept = {name: value for name, value in spec.items() if name not in _CHANGEABLE}
    for field in ("containers", "initContainers"):
        if field in kept:
            kept[field] = [{**each, "image": ""} for each in kept[field] or ()]
    if old.get("terminationGracePeriodSeconds", 0) < 0 and kept.get("terminationGracePeriodSeconds") == 1:
        kept["terminationGracePeriodSeconds"] = old["terminationGracePeriodSeconds"]
    return kept
