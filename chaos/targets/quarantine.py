"""The fleet's record of keys that end their workers."""

from __future__ import annotations

import msgspec

from chaos.targets.target import Target
from fleet.records.object_names import CONFIG_MAPS
from fleet.records.record import DocumentName
from shards.errors import NotFound
from shards.queue.suspects import DEATHS

_TEXT_KEY = "quarantine.json"


def quarantined_keys(target: Target) -> int:
    """How many no worker reconciles any more."""
    name = target.names.document(DocumentName.QUARANTINE)
    try:
        found = target.api.get(CONFIG_MAPS, target.names.namespace, name)
    except NotFound:
        return 0
    keys = msgspec.json.decode((found.get("data") or {}).get(_TEXT_KEY, "{}")).get("keys", [])
    return sum(1 for key in keys if key.get("deaths", 0) >= DEATHS)
