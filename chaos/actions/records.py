"""What hands can do to the records by which a fleet agrees: Leases, and the map. See docs/ownership-rules.md.

`record` is one of: shard, the Lease of a range of the busiest worker; member, the Lease of that worker; coordinator;
map. Each answer names the object, for the journal.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from chaos.actions.processes import chosen
from chaos.actions.strikes import strike
from chaos.targets.ownership import owned_spans
from chaos.targets.running import RUNNING
from chaos.targets.target import Target, TargetFailed
from fleet.records.object_names import CONFIG_MAPS, LEASES
from shards.keyrange import KeyRange
from shards.objects import Resource

STRANGER = "stranger@1"
_MAP_KEY = "map.json"


def delete_record(record: str, target: Target = RUNNING) -> dict[str, Any]:
    """As somebody does who cleans up what looks old."""
    resource, name = _named(target, record)
    target.api.delete(resource, target.names.namespace, name)
    return {"deleted": name, "strikes": [strike(f"{name} deleted", target)]}


def steal_record(record: str, target: Target = RUNNING) -> dict[str, Any]:
    """Writes another holder into a Lease, and nothing else: what a program does that takes it for its own."""
    resource, name = _named(target, record, leases_only=True)
    before = target.api.get(resource, target.names.namespace, name)["spec"].get("holderIdentity", "")
    _patch(target, resource, name, {"spec": {"holderIdentity": STRANGER}})
    return {"stolen": name, "from": before, "strikes": [strike(f"{name} stolen", target)]}


def edit_record(record: str, change: dict[str, Any], target: Target = RUNNING) -> dict[str, Any]:
    """A merge patch, as of `kubectl edit`."""
    resource, name = _named(target, record)
    _patch(target, resource, name, change)
    return {"edited": name, "strikes": [strike(f"{name} edited", target)]}


def empty_record(record: str, target: Target = RUNNING) -> dict[str, Any]:
    """Takes the holder out of a Lease, and leaves everything else: what somebody does who wants it to be free."""
    return edit_record(record, {"spec": {"holderIdentity": None}}, target)


def lower_epoch(record: str, target: Target = RUNNING) -> dict[str, Any]:
    """Sets the epoch of a Lease back by one, as one does who restores an old copy of it. Raises TargetFailed for one
    that has none."""
    resource, name = _named(target, record, leases_only=True)
    before = target.api.get(resource, target.names.namespace, name)["spec"].get("leaseTransitions") or 0
    if before < 1:
        raise TargetFailed(f"the epoch of {name} is {before}: it cannot be lower")
    _patch(target, resource, name, {"spec": {"leaseTransitions": before - 1}})
    return {"edited": name, "epoch_before": before, "strikes": [strike(f"epoch of {name} lowered", target)]}


def edit_map(change: dict[str, Any], target: Target = RUNNING) -> dict[str, Any]:
    """Sets fields of the map to what a hand thinks right. Raises TargetFailed for a field that it does not have."""
    name = target.names.map
    body = json.loads(target.api.get(CONFIG_MAPS, target.names.namespace, name)["data"][_MAP_KEY])
    if unknown := change.keys() - body.keys():
        raise TargetFailed(f"the map has no field {', '.join(sorted(unknown))}; it has {', '.join(sorted(body))}")
    _patch(target, CONFIG_MAPS, name, {"data": {_MAP_KEY: json.dumps(body | change)}})
    return {"edited": name, "fields": sorted(change), "strikes": [strike("map edited", target)]}


def spoil_map(target: Target = RUNNING) -> dict[str, Any]:
    """Leaves half of its text, which nobody can read."""
    name = target.names.map
    text = target.api.get(CONFIG_MAPS, target.names.namespace, name)["data"][_MAP_KEY]
    _patch(target, CONFIG_MAPS, name, {"data": {_MAP_KEY: text[: len(text) // 2]}})
    return {"edited": name, "strikes": [strike("map spoiled", target)]}


def _named(target: Target, record: str, *, leases_only: bool = False) -> tuple[Resource, str]:
    """Raises TargetFailed, also where the worker owns nothing: nobody would notice."""
    if record == "coordinator":
        return LEASES, target.names.coordinator
    if record == "map" and not leases_only:
        return CONFIG_MAPS, target.names.map
    if record not in ("shard", "member"):
        others = "" if leases_only else ", map"
        raise TargetFailed(f"there is no record {record!r} to do this to; write shard, member, coordinator{others}")
    member, _, _ = chosen(target, "")
    owned = sorted(
        span.range
        for span in owned_spans(target.evidence.verdict(), target.pods.ends)
        if span.holder.startswith(f"{member}@")
    )
    if not owned:
        raise TargetFailed("no worker owns a range: nobody would notice")
    if record == "member":
        return LEASES, target.names.member(member)
    return LEASES, target.names.shard(KeyRange.parse(owned[0]))


def _patch(target: Target, resource: Resource, name: str, change: Mapping[str, Any]) -> None:
    target.api.patch(resource, target.names.namespace, name, dict(change))
