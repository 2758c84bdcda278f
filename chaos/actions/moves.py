"""A rebalance or a reshard that begins, and what can happen in the middle of one."""

from __future__ import annotations

from typing import Any

from chaos.targets.own_pods import own_pods
from chaos.targets.running import RUNNING
from chaos.targets.target import Target, TargetFailed
from fleet.configuration.config_text import edited
from fleet.records.document import created_document
from fleet.records.lease_records import map_from_configmap, shard_record_from_lease
from fleet.records.object_names import CONFIG_MAPS, LEASES, Kind
from fleet.records.record import Document, DocumentName, ShardMap
from shards.errors import NotFound

_CONFIG_KEY = "fleet.yaml"
_LOOK_SECONDS = 0.02
_BEGIN_SECONDS = 30.0


def wait_for_moves(target: Target = RUNNING) -> dict[str, Any]:
    """Until ranges are on their way from one owner to another. Raises TargetFailed where none was."""
    give_up_at = target.now() + _BEGIN_SECONDS
    while target.now() < give_up_at:
        if under_way := _moving(target):
            return {"under_way": len(under_way)}
        target.sleep(_LOOK_SECONDS)
    raise TargetFailed(f"no range was on its way within {_BEGIN_SECONDS:g} s")


def kill_coordinator_mid_move(target: Target = RUNNING) -> dict[str, Any]:
    """Waits until ranges are on their way from one owner to another, and kills the agent in office then. Raises
    TargetFailed where none was."""
    under_way = wait_for_moves(target)
    pod = target.pods.coordinator()
    end = target.pods.kill(pod, "agent")
    return {"pod": pod, "pid": end.pid, **under_way}


def reshard(count: int, target: Target = RUNNING) -> dict[str, Any]:
    """Asks for another number of ranges, as `fleet reshard` does, and does not wait for it."""
    namespace, name = target.names.namespace, target.names.document(DocumentName.CONFIG)
    try:
        found = target.api.get(CONFIG_MAPS, namespace, name)["data"][_CONFIG_KEY]
    except NotFound:
        text = edited(own_pods(target).config.read_text(encoding="utf-8"), "shards", {"count": count})
        target.api.create(
            CONFIG_MAPS, namespace, created_document(target.names, Document(DocumentName.CONFIG, text, ""))
        )
    else:
        change = {"data": {_CONFIG_KEY: edited(found, "shards", {"count": count})}}
        target.api.patch(CONFIG_MAPS, namespace, name, change)
    return {"count": count}


def _moving(target: Target) -> list[str]:
    """Ranges whose Lease names another holder than the map's target, and those that are being cut."""
    found = _map(target)
    leases = target.api.list(LEASES, target.names.namespace, labels=target.names.selector(Kind.SHARD))
    holders = {}
    for lease in leases:
        record = shard_record_from_lease(lease)
        if record is not None and record.holder is not None:
            holders[record.range] = record.holder.member
    moving = [
        str(keys)
        for keys, member in zip(found.ranges, found.targets, strict=True)
        if holders.get(keys, member) != member
    ]
    return [*moving, *(str(keys) for keys in found.retiring)]


def _map(target: Target) -> ShardMap:
    stored = map_from_configmap(target.api.get(CONFIG_MAPS, target.names.namespace, target.names.map))
    if stored is None:
        raise TargetFailed("the fleet's map cannot be read")
    return stored.map
