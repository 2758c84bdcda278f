"""Bodies that are wrong: no JSON, another kind, a wrong type, too large; and the forms that a body may have."""

from __future__ import annotations

from typing import Any

from tests.contract.histories.defined import Defined, group_of, spec_schema, version
from tests.contract.histories.objects import CONFIG_MAPS, LEASES
from tests.contract.transcripts import MERGE, YAML, Document, Stage

_DRY = {"dryRun": "All"}
_TEXTS = (
    "",
    "nope",
    "tru",
    "[1]",
    '"x"',
    "5",
    "-",
    "1.",
    "null",
    '{"kind"',
    '{"kind":}',
    '{"kind":"ConfigMap",}',
    '{"kind":"ConfigMap","apiVersion":"v1"',
    '{"kind":"ConfigMap"} x',
    '{"a":"\\x"}',
    "{'a':1}",
    '{"a":[1 2]}',
    '{"a":"b',
    '{"a":"\\',
    '{"a":1e',
    '{"a" 1}',
    '{"a":1 "b":2}',
    "\x00",
    "é",
)


async def bodies_that_are_no_json(stage: Stage) -> None:
    path = stage.path(CONFIG_MAPS)
    for text in _TEXTS:
        await stage.ask("POST", path, text, query=_DRY)


async def bodies_of_another_kind(stage: Stage) -> None:
    path = stage.path(CONFIG_MAPS)
    for kind, api_version in (
        ("Secret", "v1"),
        ("Foo", "v1"),
        ("ConfigMap", "v2"),
        ("Deployment", "apps/v1"),
        ("ConfigMap", "a/b/c"),
        ("ConfigMap", ""),
        ("", "v1"),
        ("", ""),
        (5, "v1"),
    ):
        body = {"kind": kind, "apiVersion": api_version, "metadata": {"name": "a"}}
        await stage.ask("POST", path, body, query=_DRY)


def _config_map(**fields: Any) -> Document:
    return {"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"name": "a"}, **fields}


async def values_of_a_wrong_type(stage: Stage) -> None:
    path = stage.path(CONFIG_MAPS)
    for fields in (
        {"metadata": "a"},
        {"metadata": {"name": 5}},
        {"metadata": {"name": "a", "labels": {"a": 1}}},
        {"metadata": {"name": "a", "labels": ["a"]}},
        {"metadata": {"name": "a", "finalizers": "x"}},
        {"metadata": {"name": "a", "generation": "x"}},
        {"metadata": {"name": "a", "generation": 1.5}},
        {"metadata": {"name": "a", "ownerReferences": [{"controller": "x"}]}},
        {"metadata": {"name": "a", "creationTimestamp": "abc"}},
        {"metadata": {"name": "a", "creationTimestamp": "2026-01-01"}},
        {"metadata": {"name": "a", "creationTimestamp": 5}},
        {"data": {"x": 5}},
        {"data": {"x": None}},
        {"data": [1]},
        {"data": "x"},
        {"binaryData": {"x": "!!"}},
        {"binaryData": {"x": "YQ="}},
        {"binaryData": {"x": "YWJ"}},
        {"binaryData": {"x": "YWJjZ"}},
        {"binaryData": {"x": "Y=Jj"}},
        {"binaryData": {"x": "YQ==YQ=="}},
        {"immutable": "yes"},
        {"metadata": None},
    ):
        await stage.ask("POST", path, _config_map(**fields), query=_DRY)


async def numbers_and_times_of_a_wrong_type(stage: Stage) -> None:
    path = stage.path(LEASES)
    spec: object
    for spec in (
        {"leaseDurationSeconds": "1"},
        {"leaseDurationSeconds": 1.5},
        {"leaseDurationSeconds": 99999999999},
        {"leaseDurationSeconds": True},
        {"holderIdentity": 1},
        {"renewTime": 5},
        {"renewTime": "2020-01-01T00:00:00Z"},
        {"renewTime": "2020-01-01T00:00:00.000000"},
        {"leaseDurationSeconds": "1", "holderIdentity": 1},
        "x",
        [],
    ):
        body = {"kind": "Lease", "apiVersion": "coordination.k8s.io/v1", "metadata": {"name": "a"}, "spec": spec}
        await stage.ask("POST", path, body, query=_DRY)


async def forms_of_a_body(stage: Stage) -> None:
    path = stage.path(CONFIG_MAPS)
    text = "kind: ConfigMap\napiVersion: v1\nmetadata: {name: a}\ndata: {a: '1', b: \"yes\"}\n"
    await stage.ask("POST", path, text, query=_DRY, content_type=YAML)
    await stage.ask("POST", path, "kind: ConfigMap\n  apiVersion: [v1", query=_DRY, content_type=YAML)
    await stage.ask("POST", path, text.replace("'1'", "1"), query=_DRY, content_type=YAML)
    await stage.ask("POST", path, text + "data: {c: d}\nfoo: 1\n", query=_DRY, content_type=YAML)
    strict = {**_DRY, "fieldValidation": "Strict"}
    await stage.ask("POST", path, text + "data: {c: d}\nfoo: 1\n", query=strict, content_type=YAML)
    await stage.ask("POST", path, _config_map(), query=_DRY, content_type="application/json; charset=utf-8")
    for content_type in ("application/cbor", "text/plain", "foo"):
        await stage.ask("POST", path, "x", query=_DRY, content_type=content_type)


async def annotations_that_are_too_large(stage: Stage) -> None:
    path = stage.path(CONFIG_MAPS)
    large = {"metadata": {"name": "a", "annotations": {"x": "y" * (300 * 1024)}}}
    await stage.ask("POST", path, _config_map(**large), query=_DRY)


async def bodies_of_a_custom_resource(stage: Stage) -> None:
    kind = Defined(stage, "letters", "Letter")
    await kind.create(version(spec_schema({"text": {"type": "string"}})))
    path, api_version = kind.path(), f"{group_of(stage)}/v1"
    for text in ("", "nope", "[1]", "null", "{}"):
        await stage.ask("POST", path, text, query=_DRY)
    for given, given_version in (
        ("", api_version),
        ("Letter", ""),
        ("Foo", api_version),
        ("Letter", f"{group_of(stage)}/v2"),
        ("ConfigMap", "v1"),
        ("Letter", "a/b/c"),
        (5, api_version),
    ):
        body: Document = {"kind": given, "apiVersion": given_version, "metadata": {"name": "a"}}
        await stage.ask("POST", path, body, query=_DRY)
    for metadata in (
        "x",
        {"name": 5},
        {"name": "a", "labels": {"a": 1}},
        {"name": "a", "ownerReferences": [{"controller": "x"}]},
        {"name": "a", "creationTimestamp": "abc"},
        {},
    ):
        body = {"kind": "Letter", "apiVersion": api_version, "metadata": metadata}
        await stage.ask("POST", path, body, query=_DRY)
    text = f"kind: Letter\napiVersion: {api_version}\nmetadata: {{name: a}}\nspec: {{text: x, text: y, size: 1}}\n"
    await stage.ask("POST", path, text, query=_DRY, content_type=YAML)
    for content_type in ("application/cbor", "text/plain"):
        await stage.ask("POST", path, "x", query=_DRY, content_type=content_type)
    await kind.remove()


async def metadata_that_is_wrong(stage: Stage) -> None:
    path = stage.path(CONFIG_MAPS)
    owner = {"apiVersion": "v1", "kind": "Pod", "name": "a", "uid": "x"}
    for metadata in (
        {"name": "A_b"},
        {"name": "a" * 260},
        {"name": "a/b"},
        {"name": "a", "generateName": "B"},
        {"name": "a", "labels": {"a b": "x"}},
        {"name": "a", "labels": {"a": "c d"}},
        {"name": "a", "labels": {"x/y/z": "1"}},
        {"name": "a", "labels": {"/q": "1"}},
        {"name": "a", "labels": {"Q/q": "1"}},
        {"name": "a", "labels": {"a" * 70: "a" * 70}},
        {"name": "a", "annotations": {"a b": "x"}},
        {"name": "a", "annotations": {"X/Y": "x"}},
        {"name": "a", "ownerReferences": [{}]},
        {"name": "a", "ownerReferences": [owner | {"kind": "Event"}]},
        {"name": "a", "ownerReferences": [owner | {"apiVersion": "a/b/c"}]},
        {"name": "a", "ownerReferences": [owner | {"controller": True}, owner | {"name": "b", "controller": True}]},
        {"name": "a", "finalizers": ["x", "a/b", "a b"]},
        {"name": "a", "finalizers": ["orphan", "foregroundDeletion"]},
        {"name": "a", "generation": -1},
        {"name": "a", "namespace": "other"},
    ):
        await stage.ask("POST", path, _config_map(metadata=metadata), query=_DRY)
    namespace = {"kind": "Namespace", "apiVersion": "v1", "metadata": {"name": "a.b"}}
    await stage.ask("POST", "/api/v1/namespaces", namespace, query=_DRY)


async def nulls_in_lists_and_maps(stage: Stage) -> None:
    """Null is the zero value of its type there: an empty object, an empty text, 0."""
    path = stage.path(CONFIG_MAPS)
    parts: tuple[Document, ...] = (
        {"ownerReferences": [None]},
        {"finalizers": [None]},
        {"labels": {"a": None}},
        {"managedFields": [None]},
        {"managedFields": [None, None]},
    )
    for index, metadata in enumerate(parts):
        await stage.ask("POST", path, _config_map(metadata={"name": f"a-{index}", **metadata}))
    await stage.ask("PATCH", f"{path}/a-2", {"metadata": {"managedFields": [None]}}, content_type=MERGE)
    container = {"name": "c", "image": "i"}
    specs: tuple[Document, ...] = (
        {"containers": [None]},
        {"containers": [{**container, "args": [None]}]},
        {"containers": [{**container, "resources": {"limits": {"cpu": None}}}]},
        {"containers": [container], "securityContext": {"supplementalGroups": [None, 1]}},
        {"containers": [container], "imagePullSecrets": [None]},
    )
    for index, spec in enumerate(specs):
        template = {"metadata": {"labels": {"a": "b"}}, "spec": spec}
        body = {
            "kind": "Deployment",
            "apiVersion": "apps/v1",
            "metadata": {"name": f"d-{index}"},
            "spec": {"selector": {"matchLabels": {"a": "b"}}, "template": template},
        }
        await stage.ask("POST", stage.path("apps/v1/deployments"), body, query=_DRY)
    service = {"kind": "Service", "apiVersion": "v1", "metadata": {"name": "s"}, "spec": {"ports": [None]}}
    await stage.ask("POST", stage.path("v1/services"), service, query=_DRY)
    secret = {"kind": "Secret", "apiVersion": "v1", "metadata": {"name": "s"}, "data": {"a": None}}
    await stage.ask("POST", stage.path("v1/secrets"), secret)
    role = {"kind": "Role", "apiVersion": "rbac.authorization.k8s.io/v1", "metadata": {"name": "r"}, "rules": [None]}
    await stage.ask("POST", stage.path("rbac.authorization.k8s.io/v1/roles"), role, query=_DRY)


HISTORIES = (
    bodies_that_are_no_json,
    bodies_of_another_kind,
    values_of_a_wrong_type,
    numbers_and_times_of_a_wrong_type,
    forms_of_a_body,
    annotations_that_are_too_large,
    bodies_of_a_custom_resource,
    metadata_that_is_wrong,
    nulls_in_lists_and_maps,
)
