"""Which objects a shard's informer shall hold: what the server is asked for, and what is checked again here.

The range is always checked locally too, because a server may ignore `shardSelector` silently, and from one connection
to the next (KEP-5866 is a gate per API server).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from hashlib import sha256
from typing import Literal

import msgspec

from shards.keyrange import HASH_VERSION, KeyRange, PartitionKey, key_hash
from shards.objects import SLOT_LABEL, Meta, OwnerReference, Resource
from shards.settings import ScopeSettings

Role = Literal["primary", "owned", "watched"]


class FilterMode(StrEnum):
    """Who keeps foreign objects away.

    SHARD_SELECTOR: the server, by hash. SLOT_LABELS: the server, by the slot label of children. LOCAL: this process.
    """

    SHARD_SELECTOR = "shard-selector"
    SLOT_LABELS = "slot-labels"
    LOCAL = "local"


@dataclass(frozen=True)
class Source:
    """One filtered collection.

    role: primary objects route by themselves, owned ones by their controller, watched ones have no range at all.
    scope: what is asked for besides. Selectors of owned ones are left out: children do not carry their owners' labels.
    With several namespaces all are asked for, and the others kept away here; `NamespacedInformer` has one of each.
    primary: for owned ones, the resource of the controllers that count; None = any. Compared by API group.
    primary_namespaced: whether an owner lives in the namespace of its children (partition key name only).

    Raises ValueError for a mode that the role and the partition key do not allow.
    """

    resource: Resource
    range: KeyRange
    partition_key: PartitionKey
    scope: ScopeSettings
    mode: FilterMode
    role: Role
    primary: Resource | None = None
    primary_namespaced: bool = True

    def __post_init__(self) -> None:
        if self.mode is FilterMode.SLOT_LABELS and (self.role, self.partition_key) != ("owned", PartitionKey.UID):
            raise ValueError("slot labels filter owned objects under partition key uid only")
        if self.mode is FilterMode.SHARD_SELECTOR:
            by_uid = self.role == "primary" and self.partition_key is PartitionKey.UID
            by_namespace = self.role != "watched" and self.partition_key is PartitionKey.NAMESPACE
            if not (by_uid or by_namespace):
                raise ValueError(
                    f"the server cannot filter {self.role} objects under partition key {self.partition_key}"
                )

    def query(self) -> list[tuple[str, str]]:
        """The filter part of list and watch queries; the same for every page of one list."""
        labels = [self.scope.label_selector] if self.role != "owned" else []
        if self.mode is FilterMode.SLOT_LABELS:
            slots = self.range.slots()
            labels.append(SLOT_LABEL if self.range.is_whole else f"{SLOT_LABEL} in ({','.join(slots)})")
        fields = self.scope.field_selector if self.role != "owned" else ""
        selector = self.range.selector(self.partition_key) if self.mode is FilterMode.SHARD_SELECTOR else ""
        wanted = (
            ("labelSelector", ",".join(filter(None, labels))),
            ("fieldSelector", fields),
            ("shardSelector", selector),
        )
        return [(name, value) for name, value in wanted if value]

    @property
    def namespace(self) -> str:
        """Where the server is asked; "" for everywhere."""
        return self.scope.namespaces[0] if len(self.scope.namespaces) == 1 else ""

    @property
    def whole(self) -> bool:
        """Whether the range, of the objects' own UIDs, is all that filters this view."""
        return self._by_uid and not self.scope.namespaces

    @property
    def whole_namespace(self) -> str:
        """The namespace that is all that filters this view beside its range, as of `whole`; "" where it is not."""
        return self.namespace if self._by_uid else ""

    @property
    def _by_uid(self) -> bool:
        """Whether it is one of primaries that no selector picks, by their UIDs."""
        by_range = self.role == "primary" and self.partition_key is PartitionKey.UID
        return by_range and not (self.scope.label_selector or self.scope.field_selector)

    @cached_property
    def admits_all(self) -> bool:
        """Whether every object of the collection belongs here."""
        return self._unsplit and self.role != "owned" and len(self.scope.namespaces) < 2

    def admits(self, meta: Meta) -> bool:
        """Whether the object belongs here: the local check, made in every mode."""
        if self.admits_all:
            return True
        if self._unsplit:  # the hash is the dearest part of an object's way in
            return self._in_scope(meta) and (self.role != "owned" or self._owner(meta) is not None)
        value = self.hash_of(meta)
        return value is not None and value in self.range

    def hash_of(self, meta: Meta) -> int | None:
        """The hash by which the object is routed; None for one that no range holds."""
        if not self._in_scope(meta):
            return None
        if self.role != "owned":
            return key_hash(self.partition_key, meta.namespace, meta.name, meta.uid)
        owner = self._owner(meta)
        if owner is None:
            return None
        # With key `namespace`, owners in the children's namespace and their children share a hash by construction.
        namespace = meta.namespace if self.primary_namespaced else ""
        return key_hash(self.partition_key, namespace, owner.name, owner.uid)

    def slips_through(self, meta: Meta) -> bool:
        """Whether a server that filters by `shardSelector` would have kept the object away: by its own key, whatever
        owner or scope say."""
        by = self.partition_key
        return key_hash(by, meta.namespace, meta.name, meta.uid) not in self.range

    def _owner(self, meta: Meta) -> OwnerReference | None:
        """The controller that counts."""
        owner = meta.controller
        if owner is None or (self.primary is not None and owner.api_version.rpartition("/")[0] != self.primary.group):
            return None
        return owner

    @cached_property
    def _unsplit(self) -> bool:
        return self.role == "watched" or self.range.is_whole

    def _in_scope(self, meta: Meta) -> bool:
        namespaces = self.scope.namespaces
        return len(namespaces) < 2 or meta.namespace in namespaces

    @cached_property
    def digest(self) -> str:
        """Names the view: resource, filter, routing. Views with one digest deliver the same events for the range.

        SHARD_SELECTOR and LOCAL share it, since the local check makes them equal; SLOT_LABELS hides children without
        a label, so it does not.
        """
        visible = "labelled" if self.mode is FilterMode.SLOT_LABELS else "all"
        parts = (
            HASH_VERSION,
            str(self.resource),
            self.role,
            "" if self.role == "watched" else str(self.range),
            self.partition_key.value,
            str(self.primary or ""),
            self.primary_namespaced,
            visible,
            sorted(self.scope.namespaces),
            self.scope.label_selector,
            self.scope.field_selector,
        )
        return sha256(msgspec.json.encode(parts)).hexdigest()[:16]
