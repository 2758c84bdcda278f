"""What others do to the objects that a fleet looks after, beside those who use the operator: chosen objects are those
that come first by their names."""

from __future__ import annotations

from typing import Any

from chaos.targets.running import RUNNING
from chaos.targets.target import Target, TargetFailed
from fleet.devcluster.recording.journal import Entry
from fleet.records.object_names import CONFIG_MAPS
from shards.errors import AlreadyExists, Conflict, NotFound
from shards.objects import Object, Resource

LABEL = "chaos.shardfleet.dev/elsewhere"
"""Label by which an object is none of the fleet's: for a label selector of its config."""

_CANARY = "canary"
_LOOK_SECONDS = 0.2
_CONFLICT = 409
_TRIES = 20


def write_against(seconds: float, per_second: float, least: int = 1, target: Target = RUNNING) -> dict[str, Any]:
    """Another writer changes one site at that rate, for so long, each time so that there is something to be done.

    Raises TargetFailed where fewer than `least` writes of the fleet met a conflict: then nothing was shown; and where
    the sites are somebody's.
    """
    own_resource(target)
    (name,) = _chosen(target, 1)
    since, writes = target.now(), 0
    while (now := target.now()) < since + seconds:
        _patch(target, name, {"spec": {"text": f"another writer's {writes}"}})
        writes += 1
        target.sleep(max(0.0, since + writes / per_second - now))
    conflicts = sum(each.status == _CONFLICT for each in _writes(target, name, since))
    if conflicts < least:
        raise TargetFailed(f"{conflicts} writes to {name} met a conflict, which is less than {least}")
    return {"object": name, "writes": writes, "conflicts": conflicts}


def wait_for_garbage_collector(timeout_seconds: float = 60.0, target: Target = RUNNING) -> dict[str, Any]:
    """Until what belonged to an object goes when that has gone: a real one hears of a new kind within half a minute.
    Raises TargetFailed where it does not by then."""
    resource, namespace, began = own_resource(target), target.names.namespace, target.now()
    like = target.api.get(resource, namespace, _chosen(target, 1)[0])
    owner = target.api.create(resource, namespace, _like(like, {"name": _CANARY, "namespace": namespace}))
    reference = {each: owner[each] for each in ("apiVersion", "kind")}
    reference |= {each: owner["metadata"][each] for each in ("name", "uid")}
    child = {"metadata": {"name": f"{_CANARY}-child", "ownerReferences": [reference]}}
    target.api.create(CONFIG_MAPS, namespace, child)
    target.api.delete(resource, namespace, _CANARY)
    while target.now() < began + timeout_seconds:
        try:
            target.api.get(CONFIG_MAPS, namespace, f"{_CANARY}-child")
        except NotFound:
            return {"seconds": round(target.now() - began, 3)}
        target.sleep(_LOOK_SECONDS)
    raise TargetFailed(f"nobody has collected the garbage within {timeout_seconds:g} seconds")


def own_resource(target: Target) -> Resource:
    """What the fleet looks after, where that was made for the experiment: deleted, and filled with what nobody wrote.
    Raises TargetFailed where it is somebody's, who would miss it."""
    if target.name == "kube":
        raise TargetFailed("the objects of this target are somebody's: none is deleted, made or rewritten there")
    return target.people.resource


def recreate_objects(count: int, target: Target = RUNNING) -> dict[str, Any]:
    """So many objects are deleted, and each is made again at once under its old name, as another object. Raises
    TargetFailed where one does not go, and where they are somebody's."""
    resource, namespace = own_resource(target), target.names.namespace
    for name in (names := _chosen(target, count)):
        old = target.api.get(resource, namespace, name)
        target.api.delete(resource, namespace, name)
        new = made_again(target, old)
        if new["metadata"]["uid"] == old["metadata"]["uid"]:
            raise TargetFailed(f"{name} is the same object as before")
    return {"objects": len(names)}


def touch_objects(count: int, target: Target = RUNNING) -> dict[str, Any]:
    """So many objects are changed once, so that there is something to be done about each. Raises TargetFailed."""
    for name in (names := _chosen(target, count)):
        _patch(target, name, {"spec": {"text": f"touched at {target.now():.3f}"}})
    return {"objects": len(names)}


def label_objects(count: int, away: bool, target: Target = RUNNING) -> dict[str, Any]:
    """So many objects get the label by which they are none of the fleet's any more, or lose it again, and are changed
    in the same write. away: whether they get it. Raises TargetFailed where there are fewer that could."""
    resource, namespace = target.people.resource, target.names.namespace
    found = [each for each in target.api.list(resource, namespace) if (LABEL in _labels(each)) is not away]
    names = sorted(each["metadata"]["name"] for each in found)[:count]
    if len(names) < count:
        raise TargetFailed(f"there are {len(names)} such objects, which is less than {count}")
    for name in names:
        _patch(target, name, {"metadata": {"labels": {LABEL: "true" if away else None}}})
    return {"objects": len(names)}


def delete_pages(target: Target = RUNNING) -> dict[str, Any]:
    """A child of each object that is labelled away is deleted, which would be put right if it were the fleet's. Raises
    TargetFailed where none has a child."""
    resource, namespace = target.people.resource, target.names.namespace
    away = {each["metadata"]["uid"] for each in target.api.list(resource, namespace) if LABEL in _labels(each)}
    pages = {
        owner["uid"]: page["metadata"]["name"]
        for page in target.api.list(CONFIG_MAPS, namespace)
        for owner in page["metadata"].get("ownerReferences", ())
        if owner["uid"] in away
    }
    if not pages:
        raise TargetFailed("no object that is labelled away has a page")
    for name in pages.values():
        target.api.delete(CONFIG_MAPS, namespace, name)
    return {"pages": len(pages)}


def _chosen(target: Target, count: int) -> list[str]:
    """Raises TargetFailed where there are fewer."""
    found = target.api.list(target.people.resource, target.names.namespace)
    names = sorted(each["metadata"]["name"] for each in found)
    if len(names) < count:
        raise TargetFailed(f"there are {len(names)} objects, which is less than {count}")
    return names[:count]


def _labels(obj: Object) -> dict[str, str]:
    return obj["metadata"].get("labels") or {}


def _patch(target: Target, name: str, change: Object) -> None:
    target.api.patch(target.people.resource, target.names.namespace, name, change)


def _like(obj: Object, metadata: Object) -> Object:
    return {"apiVersion": obj["apiVersion"], "kind": obj["kind"], "metadata": metadata, "spec": obj["spec"]}


def made_again(target: Target, old: Object) -> Object:
    """Under its name and with its labels, once the old one has gone. Raises TargetFailed where that stays."""
    metadata = {each: old["metadata"][each] for each in ("name", "namespace", "labels") if each in old["metadata"]}
    body = _like(old, metadata)
    for _ in range(_TRIES):
        try:
            return target.api.create(target.people.resource, target.names.namespace, body)
        except (AlreadyExists, Conflict):  # somebody's finalizer holds it
            target.sleep(0.1)
    raise TargetFailed(f"{metadata['name']} is there still, though it was deleted")


def _writes(target: Target, name: str, since: float) -> list[Entry]:
    """By the fleet, to that object."""
    resource = str(target.people.resource)
    return [
        each
        for each in target.evidence.entries()
        if each.time >= since and each.write and each.name == name and each.resource == resource
        and each.user_agent.startswith("fleet/")
    ]  # fmt: skip
