from __future__ import annotations

from typing import Any

import pytest

from shards.objects import Object
from tests.unit.fleet.devcluster.cluster import Cluster

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
TEXT = {"type": "object", "properties": {"spec": {"type": "object", "properties": {"text": {"type": "string"}}}}}
SIZED = {
    "type": "object",
    "properties": {"spec": {"type": "object", "properties": {"size": {"type": "integer", "default": 1}}}},
}


def version(name: str, schema: Object, **more: Any) -> Object:
    return {"name": name, "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}, **more}


def definition(plural: str, kind: str, *versions: Object, **names: Any) -> Object:
    spec = {"group": "a.example", "scope": "Namespaced", "names": {"plural": plural, "kind": kind, **names}}
    return {"metadata": {"name": f"{plural}.a.example"}, "spec": {**spec, "versions": list(versions)}}


def path(plural: str, name: str = "", version: str = "v1") -> str:
    return f"/apis/a.example/{version}/namespaces/default/{plural}" + (f"/{name}" if name else "")


def thing(version: str = "v1", name: str = "one", **fields: Any) -> Object:
    return {"kind": "Thing", "apiVersion": f"a.example/{version}", "metadata": {"name": name}, **fields}


def condition(answer: Object, name: str) -> str:
    return next((each["status"] for each in answer["status"]["conditions"] if each["type"] == name), "")


@pytest.fixture
def cluster() -> Cluster:
    return Cluster.make()


@pytest.fixture
async def things(cluster: Cluster) -> Cluster:
    """A kind in two versions: v1 is stored, v2 knows another field."""
    both = version("v1", TEXT), version("v2", SIZED, storage=False, deprecated=True)
    status, _ = await cluster.ask("POST", DEFINITIONS, definition("things", "Thing", *both))
    assert status == 201
    return cluster


async def test_a_new_definition_answers_before_it_is_established(cluster: Cluster) -> None:
    made = definition("things", "Thing", version("v1", TEXT))
    _, first = await cluster.ask("POST", DEFINITIONS, made)
    assert first["status"] == {
        "conditions": None,
        "acceptedNames": {"plural": "", "kind": ""},
        "storedVersions": ["v1"],
    }
    _, now = await cluster.ask("GET", f"{DEFINITIONS}/things.a.example")
    assert condition(now, "Established") == "True"


async def test_a_version_shows_what_its_schema_knows(things: Cluster) -> None:
    await things.ask("POST", path("things"), thing(spec={"text": "x", "size": 2}))
    _, first = await things.ask("GET", path("things", "one"))
    _, second = await things.ask("GET", path("things", "one", "v2"))
    assert (first["apiVersion"], first["spec"]) == ("a.example/v1", {"text": "x"})
    assert (second["apiVersion"], second["spec"]) == ("a.example/v2", {})
    _, listed = await things.ask("GET", path("things", version="v2"))
    assert [each["apiVersion"] for each in listed["items"]] == ["a.example/v2"]


async def test_a_deprecated_version_warns(things: Cluster) -> None:
    answer = await things.server.handle("GET", path("things", version="v2"))
    assert answer.warnings == ["a.example/v2 Thing is deprecated"]


async def test_a_version_that_is_stored_cannot_be_taken_away(things: Cluster) -> None:
    _, now = await things.ask("GET", f"{DEFINITIONS}/things.a.example")
    now["spec"]["versions"] = [version("v2", SIZED)]
    status, refused = await things.ask("PUT", f"{DEFINITIONS}/things.a.example", now)
    assert (status, refused["details"]["causes"][0]["field"]) == (422, "status.storedVersions[0]")


async def test_a_changed_schema_gives_its_defaults_to_what_is_stored(things: Cluster) -> None:
    await things.ask("POST", path("things"), thing(spec={"text": "x"}))
    _, now = await things.ask("GET", f"{DEFINITIONS}/things.a.example")
    now["spec"]["versions"][0]["schema"]["openAPIV3Schema"] = SIZED
    await things.ask("PUT", f"{DEFINITIONS}/things.a.example", now)
    _, one = await things.ask("GET", path("things", "one"))
    assert one["spec"] == {"size": 1}


async def test_a_definition_waits_for_its_objects(things: Cluster) -> None:
    held = thing(spec={})
    held["metadata"]["finalizers"] = ["a/b"]
    await things.ask("POST", path("things"), held)
    _, going = await things.ask("DELETE", f"{DEFINITIONS}/things.a.example")
    assert condition(going, "Terminating") == "True"
    status, refused = await things.ask("POST", path("things"), thing(name="two"))
    assert (status, refused["message"].rpartition(": ")[2]) == (
        403,
        "create not allowed while custom resource definition is terminating",
    )
    _, one = await things.ask("GET", path("things", "one"))
    del one["metadata"]["finalizers"]
    await things.ask("PUT", path("things", "one"), one)
    status, _ = await things.ask("GET", f"{DEFINITIONS}/things.a.example")
    assert status == 404


async def test_names_that_are_taken_are_given_when_they_become_free(things: Cluster) -> None:
    other = definition("stuffs", "Thing", version("v1", TEXT), singular="stuff")
    await things.ask("POST", DEFINITIONS, other)
    _, waiting = await things.ask("GET", f"{DEFINITIONS}/stuffs.a.example")
    assert (condition(waiting, "NamesAccepted"), condition(waiting, "Established")) == ("False", "False")
    await things.ask("DELETE", f"{DEFINITIONS}/things.a.example")
    _, now = await things.ask("GET", f"{DEFINITIONS}/stuffs.a.example")
    assert (condition(now, "NamesAccepted"), condition(now, "Established")) == ("True", "True")


async def test_an_object_that_etcd_would_refuse_is_refused(things: Cluster) -> None:
    status, refused = await things.ask("POST", path("things"), thing(spec={"text": "x" * 2_000_000}))
    assert (status, refused["message"]) == (500, "etcdserver: request is too large")
