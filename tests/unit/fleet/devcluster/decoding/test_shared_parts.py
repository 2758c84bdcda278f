"""A patch that touches one field has that field read again, and what is unknown in it dropped."""

from __future__ import annotations

from fleet.devcluster.decoding.bodies import typed
from fleet.devcluster.kinds.resources import Registry
from shards.objects import Object, Resource

CONFIG_MAPS = Resource("", "v1", "configmaps")


def read(body: Object, old: Object, warnings: list[str]) -> Object:
    kind = Registry().get(CONFIG_MAPS)
    assert kind is not None
    return typed(kind, body, warnings=warnings, old=old)


def test_new_fields_are_read_and_unknown_ones_dropped_beside_shared_ones() -> None:
    old = {"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"name": "a"}, "data": {"x": "1"}}
    warnings: list[str] = []
    body = {**old, "data": {"x": "2"}, "other": 1}
    assert read(body, old, warnings) == {**old, "data": {"x": "2"}}
    assert warnings == ['unknown field "other"']


def test_what_is_shared_is_not_read_again() -> None:
    old = {"kind": "ConfigMap", "apiVersion": "v1", "data": {"x": None}}
    assert read({**old, "immutable": True}, old, []) == {**old, "immutable": True}
    assert read({**old, "data": {"x": None}}, old, [])["data"] == {"x": ""}
