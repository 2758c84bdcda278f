"""Which objects an informer asks for, and which it lets in."""

from __future__ import annotations

from urllib.parse import quote

import msgspec
import pytest

from shards.keyrange import WHOLE, KeyRange, PartitionKey, fnv1a64, key_hash, ranges_from
from shards.objects import Meta, OwnerReference, Resource
from shards.settings import ScopeSettings
from shards.watching.source import FilterMode, Role, Source

WEBSITES = Resource("demo.shardfleet.dev", "v1", "websites")
CONFIGMAPS = Resource("", "v1", "configmaps")
LOW, HIGH = ranges_from((0, 1 << 63))
NARROW = KeyRange(0x10 << 56, (0x12 << 56) - 1)
SCOPE = ScopeSettings(namespaces=("blue",), label_selector="tier=web", field_selector="metadata.name=a")


def source(
    role: Role = "primary",
    mode: FilterMode = FilterMode.LOCAL,
    *,
    range: KeyRange = LOW,
    key: PartitionKey = PartitionKey.UID,
    scope: ScopeSettings | None = None,
    primary: Resource | None = None,
    namespaced: bool = True,
) -> Source:
    return Source(
        resource=WEBSITES if role == "primary" else CONFIGMAPS,
        range=range,
        partition_key=key,
        scope=scope or ScopeSettings(),
        mode=mode,
        role=role,
        primary=primary,
        primary_namespaced=namespaced,
    )


def uid_in(wanted: KeyRange) -> str:
    return next(f"u{number}" for number in range(1000) if fnv1a64(f"u{number}") in wanted)


def owned_by(uid: str, *, api_version: str = "demo.shardfleet.dev/v1", controller: bool = True) -> Meta:
    owner = OwnerReference(kind="Website", name="w", uid=uid, api_version=api_version, controller=controller)
    return Meta(name="c", namespace="ns", uid="child", resource_version="1", owner_references=(owner,))


@pytest.mark.parametrize(
    ("made", "whole", "namespace"),
    [
        (source(), True, ""),
        (source(scope=ScopeSettings(namespaces=("blue",))), False, "blue"),
        (source(scope=ScopeSettings(namespaces=("blue", "green"))), False, ""),
        (source(scope=ScopeSettings(namespaces=("blue",), label_selector="tier=web")), False, ""),
        (source("owned", scope=ScopeSettings(namespaces=("blue",))), False, ""),
        (source(key=PartitionKey.NAME, scope=ScopeSettings(namespaces=("blue",))), False, ""),
    ],
)
def test_a_view_says_what_filters_it_beside_its_range(made: Source, whole: bool, namespace: str) -> None:
    assert (made.whole, made.whole_namespace) == (whole, namespace)


class TestQuery:
    def test_a_local_filter_asks_for_everything_in_scope(self) -> None:
        assert source().query() == []
        assert source(scope=SCOPE).query() == [("labelSelector", "tier=web"), ("fieldSelector", "metadata.name=a")]

    def test_selectors_of_the_scope_are_not_for_children(self) -> None:
        assert source("owned", scope=SCOPE).query() == []
        assert source("watched", scope=SCOPE).query() == source("primary", scope=SCOPE).query()

    def test_one_namespace_is_asked_for_several_are_filtered_here(self) -> None:
        assert source(scope=ScopeSettings(namespaces=("blue",))).namespace == "blue"
        several = source("watched", scope=ScopeSettings(namespaces=("blue", "green")))
        assert several.namespace == ""
        found = [several.admits(Meta(name="a", namespace=each, uid="u")) for each in ("blue", "green", "red")]
        assert found == [True, True, False]

    @pytest.mark.parametrize("role", ["primary", "owned"])
    def test_an_object_of_another_namespace_is_in_no_range(self, role: Role) -> None:
        several = source(role, scope=ScopeSettings(namespaces=("blue", "green")))
        owner = OwnerReference(kind="Website", name="a", uid="u", api_version="demo.shardfleet.dev/v1", controller=True)
        inside = Meta(name="a", namespace="blue", uid="u", owner_references=(owner,))
        assert several.hash_of(inside) is not None
        assert several.hash_of(msgspec.structs.replace(inside, namespace="red")) is None

    def test_the_shard_selector_is_the_canonical_text(self) -> None:
        assert source(mode=FilterMode.SHARD_SELECTOR).query() == [
            ("shardSelector", "shardRange(object.metadata.uid, '0x0000000000000000', '0x8000000000000000')")
        ]
        last = source(mode=FilterMode.SHARD_SELECTOR, range=HIGH, key=PartitionKey.NAMESPACE)
        assert last.query() == [
            ("shardSelector", "shardRange(object.metadata.namespace, '0x8000000000000000', '0x10000000000000000')")
        ]

    def test_slot_labels_name_every_slot_that_the_range_touches(self) -> None:
        assert source("owned", FilterMode.SLOT_LABELS, range=NARROW).query() == [
            ("labelSelector", "shardfleet.dev/slot in (10,11)")
        ]

    def test_slot_labels_over_the_whole_space_ask_for_the_label_only(self) -> None:
        assert source("owned", FilterMode.SLOT_LABELS, range=WHOLE).query() == [
            ("labelSelector", "shardfleet.dev/slot")
        ]

    @pytest.mark.parametrize(
        ("role", "mode", "key"),
        [
            ("primary", FilterMode.SLOT_LABELS, PartitionKey.UID),
            ("owned", FilterMode.SLOT_LABELS, PartitionKey.NAMESPACE),
            ("owned", FilterMode.SHARD_SELECTOR, PartitionKey.UID),
            ("primary", FilterMode.SHARD_SELECTOR, PartitionKey.NAME),
            ("watched", FilterMode.SHARD_SELECTOR, PartitionKey.NAMESPACE),
        ],
    )
    def test_a_filter_that_would_hide_objects_of_the_range_is_refused(
        self, role: Role, mode: FilterMode, key: PartitionKey
    ) -> None:
        with pytest.raises(ValueError, match="filter"):
            source(role, mode, key=key)


class TestAdmits:
    @pytest.mark.parametrize("key", list(PartitionKey))
    def test_a_primary_belongs_to_exactly_one_of_the_ranges(self, key: PartitionKey) -> None:
        each = Meta(name="a", namespace="ns", uid="u1", resource_version="1")
        found = [source(range=half, key=key).admits(each) for half in (LOW, HIGH)]
        expected = [key_hash(key, "ns", "a", "u1") in half for half in (LOW, HIGH)]
        assert sorted(found) == [False, True]
        assert found == expected

    def test_a_child_belongs_where_its_controller_belongs(self) -> None:
        owned = source("owned")
        assert owned.admits(owned_by(uid_in(LOW)))
        assert not owned.admits(owned_by(uid_in(HIGH)))

    def test_a_child_without_a_controller_belongs_nowhere(self) -> None:
        assert not source("owned", range=WHOLE).admits(owned_by("u1", controller=False))
        assert not source("owned", range=WHOLE).admits(Meta(name="c", uid="child", resource_version="1"))

    def test_a_child_of_another_api_group_is_kept_out_where_the_primary_is_known(self) -> None:
        owned = source("owned", range=WHOLE, primary=WEBSITES)
        assert owned.admits(owned_by("u1", api_version="demo.shardfleet.dev/v2"))
        assert not owned.admits(owned_by("u1", api_version="apps/v1"))
        assert not owned.admits(owned_by("u1", api_version="v1"))

    def test_under_key_namespace_children_and_owners_of_one_namespace_meet(self) -> None:
        keyed = source("owned", key=PartitionKey.NAMESPACE)
        primary = source(key=PartitionKey.NAMESPACE)
        for namespace in ("red", "green", "blue", "ns-1"):
            owner = Meta(name="w", namespace=namespace, uid="u1", resource_version="1")
            child = msgspec.structs.replace(owned_by("u1"), namespace=namespace)
            assert keyed.admits(child) == primary.admits(owner)

    def test_under_key_name_a_cluster_scoped_owner_is_hashed_without_a_namespace(self) -> None:
        owner = Meta(name="w", uid="u1", resource_version="1")
        for half in (LOW, HIGH):
            keyed = source("owned", range=half, key=PartitionKey.NAME, namespaced=False)
            assert keyed.admits(owned_by("u1")) == source(range=half, key=PartitionKey.NAME).admits(owner)

    def test_a_watched_resource_has_no_range(self) -> None:
        assert source("watched", range=KeyRange(0, 0)).admits(Meta(name="s", uid="u1", resource_version="1"))


class TestDigest:
    def test_server_side_and_local_filtering_are_the_same_view(self) -> None:
        assert source(mode=FilterMode.SHARD_SELECTOR).digest == source().digest

    def test_slot_labels_hide_children_and_are_another_view(self) -> None:
        assert source("owned", FilterMode.SLOT_LABELS).digest != source("owned").digest

    def test_everything_that_changes_the_view_changes_the_digest(self) -> None:
        views = [
            source(),
            source(range=HIGH),
            source("owned"),
            source("owned", primary=WEBSITES),
            source("watched"),
            source(key=PartitionKey.NAME),
            source(key=PartitionKey.NAMESPACE),
            source(scope=ScopeSettings(namespaces=("blue",))),
            source(scope=ScopeSettings(label_selector="a=b")),
            source(scope=ScopeSettings(field_selector="a=b")),
        ]
        assert len({view.digest for view in views}) == len(views)

    def test_a_watched_resource_is_the_same_view_for_every_range(self) -> None:
        assert source("watched", range=LOW).digest == source("watched", range=HIGH).digest

    def test_it_does_not_change_between_processes(self) -> None:
        assert source().digest == "2fb9d74f4cacef46"


@pytest.mark.parametrize("first", [0, 1 << 56])
def test_the_longest_slot_selector_is_far_below_what_a_url_may_hold(first: int) -> None:
    """Servers and proxies take 8 KiB of a request line. All slots but one are the most that are named."""
    widest = KeyRange(first, first + 255 * (1 << 56) - 1)
    [(_, selector)] = source("owned", FilterMode.SLOT_LABELS, range=widest).query()
    assert selector.count(",") == 254
    assert len(quote(selector)) < 1500
