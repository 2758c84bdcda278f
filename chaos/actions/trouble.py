"""Objects whose reconciles are trouble: see `chaos.operator.sites`, whose objects they are. Actions raise TargetFailed
where objects are somebody's."""

from __future__ import annotations

from typing import Any

from chaos.actions.objects import own_resource
from chaos.targets.quarantine import quarantined_keys
from chaos.targets.running import RUNNING
from chaos.targets.target import Target, TargetFailed
from shards.errors import NotFound

_PREFIX = "trouble-"
_LOOK_SECONDS = 0.2


def make_trouble(trouble: str, count: int = 1, seconds: float = 0.0, target: Target = RUNNING) -> dict[str, Any]:
    """Objects that are slow, blocking, poison or failing. seconds: how long each reconcile of one takes."""
    resource, namespace = own_resource(target), target.names.namespace
    for index in range(count):
        body = {
            "apiVersion": resource.api_version,
            "kind": "Site",
            "metadata": {"name": f"{_PREFIX}{trouble}-{index}", "namespace": namespace},
            "spec": {"pages": 1, "text": trouble, "trouble": trouble, "seconds": seconds},
        }
        target.api.create(resource, namespace, body)
    return {"made": count, "trouble": trouble}


def add_large_objects(count: int, kib: int, target: Target = RUNNING) -> dict[str, Any]:
    """Objects of that size, with one child each that is no smaller."""
    resource, namespace = own_resource(target), target.names.namespace
    for index in range(count):
        body = {
            "apiVersion": resource.api_version,
            "kind": "Site",
            "metadata": {"name": f"{_PREFIX}large-{index}", "namespace": namespace},
            "spec": {"pages": 1, "text": "x" * kib * 1024},
        }
        target.api.create(resource, namespace, body)
    return {"added": count, "mib": count * kib // 1024}


def wait_for_quarantine(timeout_seconds: float, count: int = 1, target: Target = RUNNING) -> dict[str, Any]:
    """Until so many keys are set aside, by the fleet's record of them. Raises TargetFailed."""
    began = target.now()
    while target.now() < began + timeout_seconds:
        if quarantined_keys(target) >= count:
            return {"quarantined": count, "seconds": round(target.now() - began, 3)}
        target.sleep(_LOOK_SECONDS)
    raise TargetFailed(f"fewer than {count} keys are in quarantine after {timeout_seconds:g} s")


def mend_trouble(target: Target = RUNNING) -> dict[str, Any]:
    """Somebody has understood what was wrong with them, and has changed their specs."""
    resource, namespace = own_resource(target), target.names.namespace
    mended = 0
    for found in target.api.list(resource, namespace):
        if found["metadata"]["name"].startswith(_PREFIX):
            target.api.patch(
                resource, namespace, found["metadata"]["name"], {"spec": {"trouble": None, "text": "mended"}}
            )
            mended += 1
    return {"mended": mended}


def remove_trouble(target: Target = RUNNING) -> dict[str, Any]:
    """Those objects go."""
    resource, namespace = own_resource(target), target.names.namespace
    removed = 0
    for found in target.api.list(resource, namespace):
        if found["metadata"]["name"].startswith(_PREFIX):
            try:
                target.api.delete(resource, namespace, found["metadata"]["name"])
                removed += 1
            except NotFound:
                continue
    return {"removed": removed}


def heat_key(per_second: float, seconds: float, target: Target = RUNNING) -> dict[str, Any]:
    """Changes one object over and over, as a controller does that fights with somebody. Returns how often it could."""
    resource, namespace = own_resource(target), target.names.namespace
    names = sorted(each["metadata"]["name"] for each in target.api.list(resource, namespace))
    name, began, changes = names[0], target.now(), 0
    while (due := began + changes / per_second) < began + seconds:
        target.sleep(max(due - target.now(), 0.0))
        target.api.patch(resource, namespace, name, {"spec": {"text": f"hot {changes}"}})
        changes += 1
    return {"object": name, "changes": changes, "seconds": round(target.now() - began, 3)}
