"""From changes to keys."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from shards.listeners.handlers import Route
from shards.objects import Key, Meta, ObjectName, OwnerReference
from shards.stores.store import Change, Entry, StoreReader, StoreWriter


def primaries(*found: Meta) -> StoreReader:
    writer = StoreWriter()
    writer.replace([Entry(each, b"{}") for each in found], "10")
    return writer.reader


def site(name: str, uid: str, namespace: str = "ns") -> Meta:
    return Meta(name=name, namespace=namespace, uid=uid, resource_version="5")


def child(*owners: str, controller: bool = True) -> Meta:
    references = tuple(OwnerReference(kind="Website", name="w", uid=uid, controller=controller) for uid in owners)
    return Meta(name="c", namespace="ns", uid="child", resource_version="6", owner_references=references)


def test_a_primary_is_its_own_key_once() -> None:
    change = Change(site("a", "u1"), site("a", "u1"))
    assert list(Route.primary().keys(change)) == [Key("ns", "a", "u1")]


def test_a_primary_that_was_recreated_under_its_name_gives_both_keys() -> None:
    change = Change(site("a", "u1"), site("a", "u2"))
    assert list(Route.primary().keys(change)) == [Key("ns", "a", "u1"), Key("ns", "a", "u2")]


def test_a_deleted_primary_gives_its_key() -> None:
    assert list(Route.primary().keys(Change(site("a", "u1"), None))) == [Key("ns", "a", "u1")]


def test_a_child_gives_the_key_of_its_controller() -> None:
    route = Route.owned(primaries(site("a", "u1")))
    assert list(route.keys(Change(None, child("u1")))) == [Key("ns", "a", "u1")]


def test_a_child_that_changes_its_controller_gives_both() -> None:
    route = Route.owned(primaries(site("a", "u1"), site("b", "u2")))
    assert list(route.keys(Change(child("u1"), child("u2")))) == [Key("ns", "a", "u1"), Key("ns", "b", "u2")]


def test_a_child_that_lost_its_controller_gives_the_former_one() -> None:
    route = Route.owned(primaries(site("a", "u1")))
    assert list(route.keys(Change(child("u1"), child()))) == [Key("ns", "a", "u1")]


def test_an_owner_that_does_not_control_gives_nothing() -> None:
    route = Route.owned(primaries(site("a", "u1")))
    assert list(route.keys(Change(None, child("u1", controller=False)))) == []


def test_a_controller_of_another_kind_or_shard_gives_nothing() -> None:
    route = Route.owned(primaries(site("w", "u1")))
    assert list(route.keys(Change(None, child("u9")))) == []


def test_the_key_of_a_cluster_scoped_owner_has_no_namespace() -> None:
    route = Route.owned(primaries(site("a", "u1", namespace="")))
    assert list(route.keys(Change(None, child("u1")))) == [Key("", "a", "u1")]


def test_a_mapped_object_gives_the_primaries_that_exist_here_each_once() -> None:
    def everywhere(meta: Meta) -> Iterable[ObjectName]:
        return [ObjectName("ns", "a"), ObjectName("ns", "elsewhere"), ObjectName("ns", "a")]

    route = Route.mapped(everywhere, primaries(site("a", "u1")))
    assert list(route.keys(Change(child(), child()))) == [Key("ns", "a", "u1")]


def test_an_exception_of_the_authors_function_passes_through() -> None:
    def broken(meta: Meta) -> Iterable[ObjectName]:
        raise KeyError("label")

    with pytest.raises(KeyError, match="label"):
        list(Route.mapped(broken, primaries()).keys(Change(None, child())))
