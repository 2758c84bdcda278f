"""Requests that no well-behaved client sends: parts of real ones, put together at random and then damaged."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

import msgspec
from hypothesis import strategies as st

from fleet.devcluster.kinds.catalogue import schema_name, schemas
from fleet.devcluster.wire.requests import Query

OddRequest = tuple[str, str, Query, bytes | None, dict[str, str]]
"""Method, path, query, body, headers."""

_SEGMENTS = (
    *("", "api", "apis", "v1", "v2", "apps", "batch", "rbac.authorization.k8s.io", "authorization.k8s.io", "policy"),
    *("authentication.k8s.io", "odd.example", "autoscaling", "namespaces", "default", "kube-system", "nonesuch"),
    *("configmaps", "secrets", "pods", "services", "deployments", "jobs", "roles", "things", "nodes", "events"),
    *("customresourcedefinitions", "apiextensions.k8s.io", "selfsubjectaccessreviews", "tokenreviews"),
    *("serviceaccounts", "token", "status", "scale", "eviction", "binding", "log", "proxy", "exec", "finalize"),
    *("version", "healthz", "readyz", "openapi", "v3", "metrics", "watch", ".", "..", "%", "a b", "ä", "\x00"),
)
_DOORS = (
    ("/api/v1/namespaces/default/configmaps", "v1", "ConfigMap"),
    ("/api/v1/namespaces/default/pods", "v1", "Pod"),
    ("/api/v1/namespaces/default/services", "v1", "Service"),
    ("/api/v1/namespaces/default/serviceaccounts", "v1", "ServiceAccount"),
    ("/api/v1/namespaces/default/events", "v1", "Event"),
    ("/api/v1/namespaces/default/persistentvolumeclaims", "v1", "PersistentVolumeClaim"),
    ("/api/v1/namespaces", "v1", "Namespace"),
    ("/apis/apps/v1/namespaces/default/deployments", "apps/v1", "Deployment"),
    ("/apis/apps/v1/namespaces/default/statefulsets", "apps/v1", "StatefulSet"),
    ("/apis/batch/v1/namespaces/default/cronjobs", "batch/v1", "CronJob"),
    ("/apis/batch/v1/namespaces/default/jobs", "batch/v1", "Job"),
    ("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", "apiextensions.k8s.io/v1", "CustomResourceDefinition"),
    ("/apis/rbac.authorization.k8s.io/v1/clusterroles", "rbac.authorization.k8s.io/v1", "ClusterRole"),
    ("/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", "rbac.authorization.k8s.io/v1", "ClusterRoleBinding"),
    ("/apis/autoscaling/v1/namespaces/default/horizontalpodautoscalers", "autoscaling/v1", "HorizontalPodAutoscaler"),
    ("/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers", "autoscaling/v2", "HorizontalPodAutoscaler"),
    ("/apis/events.k8s.io/v1/namespaces/default/events", "events.k8s.io/v1", "Event"),
    ("/apis/networking.k8s.io/v1/namespaces/default/ingresses", "networking.k8s.io/v1", "Ingress"),
    ("/apis/policy/v1/namespaces/default/poddisruptionbudgets", "policy/v1", "PodDisruptionBudget"),
    ("/apis/coordination.k8s.io/v1/namespaces/default/leases", "coordination.k8s.io/v1", "Lease"),
    ("/apis/odd.example/v1/namespaces/default/things", "odd.example/v1", "Thing"),
    ("/apis/authorization.k8s.io/v1/subjectaccessreviews", "authorization.k8s.io/v1", "SubjectAccessReview"),
    ("/apis/authorization.k8s.io/v1/selfsubjectrulesreviews", "authorization.k8s.io/v1", "SelfSubjectRulesReview"),
    ("/apis/authentication.k8s.io/v1/tokenreviews", "authentication.k8s.io/v1", "TokenReview"),
    ("/api/v1/namespaces/default/serviceaccounts/here/token", "authentication.k8s.io/v1", "TokenRequest"),
    ("/api/v1/namespaces/default/pods/here/eviction", "policy/v1", "Eviction"),
    ("/api/v1/namespaces/default/pods/here/binding", "v1", "Binding"),
)
"""Collections, and the version and kind of what is posted there."""

METHODS = ("GET", "PUT", "POST", "PATCH", "DELETE", "HEAD", "OPTIONS", "TRACE", "CONNECT", "BREW")
_PARAMETERS = (
    *("limit", "timeoutSeconds", "watch", "resourceVersion", "resourceVersionMatch", "continue", "labelSelector"),
    *("fieldSelector", "shardSelector", "sendInitialEvents", "allowWatchBookmarks", "dryRun", "fieldManager", "force"),
    *("fieldValidation", "pretty", "gracePeriodSeconds", "propagationPolicy", "orphanDependents", "verbose", "x"),
)
_VALUES = (
    *("", "0", "1", "-1", "+5", " 5", "1e3", "1_0", "٣", "9" * 20, "9" * 5000, "true", "false", "All", "a", "a=b"),
    *("a in (", "a>" + "9" * 5000, "metadata.name=a", "=", ",", "!", "\\", "Exact", "NotOlderThan", "Strict", "\x00"),
    *(
        "eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6MSwic3RhcnQiOiJhIn0",
        "A" * 5000,
        "shardRange(object.metadata.uid, '0', '1')",
    ),
)
_TYPES = (
    *("application/json", "application/yaml", "application/vnd.kubernetes.protobuf", "text/plain", "", ";;;", "ä"),
    *("application/merge-patch+json", "application/json-patch+json", "application/apply-patch+yaml"),
    "application/strategic-merge-patch+json",
)
_ACCEPTS = (
    *("application/json", "application/yaml", "*/*", "", ",,", ";q=x", "text/html", "ä", "application/json;q=1e999"),
    "application/json;as=Table;g=meta.k8s.io;v=v1",
    "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1",
)
_FIELDS = (
    *("spec", "status", "data", "binaryData", "metadata", "name", "labels", "annotations", "ownerReferences", "uid"),
    *("finalizers", "managedFields", "template", "containers", "image", "ports", "port", "selector", "matchLabels"),
    *(
        "replicas",
        "rules",
        "verbs",
        "resources",
        "versions",
        "schema",
        "openAPIV3Schema",
        "type",
        "properties",
        "names",
    ),
    *("group", "scope", "kind", "plural", "schedule", "jobTemplate", "resourceAttributes", "user", "token", "target"),
    *("audiences", "boundObjectRef", "deleteOptions", "preconditions", "resourceVersion", "generateName", "volumes"),
    *("default", "backend", "http", "paths", "env", "extra", "groups", "aggregationRule", "minReplicas", "items"),
)


def nested(levels: int, opening: bytes, closing: bytes) -> bytes:
    """{"x": ...} with so many brackets in each other."""
    return b'{"kind":"ConfigMap","apiVersion":"v1","x":' + opening * levels + b"1" + closing * levels + b"}"


_LEAVES = (
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.sampled_from(("", "a", "A", "-1", "1Gi", "2020-01-01T00:00:00Z", "v1", "object", "string", "x" * 300, "\x00"))
)
_VALUE_TREES = st.recursive(
    _LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(_FIELDS), inner, max_size=4),
    max_leaves=12,
)


_PLAIN = (
    "",
    "a",
    "A",
    "-1",
    "1Gi",
    "5%",
    "2020-01-01T00:00:00Z",
    "2020-01-01T00:00:00.000000Z",
    "v1",
    "TCP",
    "x" * 300,
)


def odd_object(rng: random.Random, version: str, kind: str) -> dict[str, Any]:
    """Fields that the kind has, mostly with values of their types, some without sense and some of other types."""
    damage = rng.choice((0.0, 0.0, 0.01, 0.04))
    group, _, number = version.rpartition("/")
    name = schema_name(group, number, kind)
    body = _of(rng, schemas()[name], 6, damage) if name else {"spec": _junk(rng, 3)}
    head = {"apiVersion": version, "kind": kind, "metadata": _metadata(rng, damage)}
    found: dict[str, Any] = {**(body if isinstance(body, dict) else {}), **head}
    if rng.random() < damage:
        found[rng.choice(list(found))] = _junk(rng, 2)
    return found


def _metadata(rng: random.Random, damage: float) -> Any:
    metadata = _of(rng, schemas()["io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"], 4, damage)
    if not isinstance(metadata, dict) or rng.random() < 0.5:
        metadata = {}
    return {**metadata, "name": rng.choice(("a", "a", "b", "here")), "namespace": rng.choice(("", "default"))}


def _of(rng: random.Random, schema: Mapping[str, Any], depth: int, damage: float) -> Any:
    if rng.random() < damage or depth == 0:
        return _junk(rng, 2) if rng.random() < 0.5 else None
    for part in schema.get("allOf", ()):
        schema = part
    if "$ref" in schema:
        schema = schemas()[schema["$ref"].rpartition("/")[2]]
    kind = schema.get("type", "")
    if "properties" in schema:
        fields = schema["properties"]
        wanted = set(rng.sample(sorted(fields), min(len(fields), rng.choice((1, 2, 4)))))
        wanted |= {each for each in schema.get("required", ()) if rng.random() < 0.8}
        return {each: _of(rng, fields[each], depth - 1, damage) for each in sorted(wanted) if each in fields}
    if kind == "array":
        return [_of(rng, schema["items"], depth - 1, damage) for _ in range(rng.choice((0, 1, 1, 2)))]
    if kind == "object":
        inner = schema.get("additionalProperties")
        keys = rng.sample(_PLAIN, rng.choice((0, 1, 2)))
        return {each: _of(rng, inner if isinstance(inner, dict) else {}, depth - 1, damage) for each in keys}
    if kind == "integer":
        return rng.choice((0, 1, -1, 80, 2**31, 2**63, 1.5))
    return {"boolean": rng.random() < 0.5, "number": 1.5}.get(kind, rng.choice(schema.get("enum") or _PLAIN))


def _junk(rng: random.Random, depth: int) -> Any:
    kind = rng.randrange(8 if depth else 6)
    if kind == 6:
        return [_junk(rng, depth - 1) for _ in range(rng.randrange(3))]
    if kind == 7:
        return {rng.choice(_FIELDS): _junk(rng, depth - 1) for _ in range(rng.randrange(4))}
    return (None, True, 2**70, -1.5, rng.choice(_PLAIN), "\x00")[kind]


_WRITES = (
    ("POST", "", "application/json"),
    ("POST", "", "application/json"),
    ("POST", "", "application/yaml"),
    ("PUT", "/a", "application/json"),
    ("PATCH", "/a", "application/merge-patch+json"),
    ("PATCH", "/a", "application/strategic-merge-patch+json"),
    ("PATCH", "/a", "application/apply-patch+yaml"),
    ("PATCH", "/a/status", "application/merge-patch+json"),
    ("PATCH", "/a/status", "application/apply-patch+yaml"),
    ("PATCH", "/a/scale", "application/merge-patch+json"),
    ("PATCH", "/here", "application/strategic-merge-patch+json"),
    ("DELETE", "/a", "application/json"),
)
_WRITE_QUERIES = (
    (),
    (("fieldManager", "a"),),
    (("fieldValidation", "Strict"),),
    (("dryRun", "All"),),
    (("force", "1"),),
)


def odd_write(seed: int) -> OddRequest:
    """A write that is nearly right, to a resource of the server."""
    rng = random.Random(seed)
    path, version, kind = rng.choice(_DOORS)
    method, below, content_type = rng.choice(_WRITES)
    body = odd_object(rng, version, kind)
    if method == "PATCH" and rng.random() < 0.3:
        body = {key: value for key, value in body.items() if key not in ("apiVersion", "kind", "metadata")}
    accept = rng.choice(("", "", "", *_ACCEPTS))
    manager = (("fieldManager", "a"),) if "apply" in content_type else ()
    query = (*rng.choice(_WRITE_QUERIES), *manager)
    return method, path + below, query, msgspec.json.encode(body), {"content-type": content_type, "accept": accept}


_WRITTEN = st.integers(0, 2**40).map(odd_write)


_OPERATIONS = st.lists(
    st.fixed_dictionaries(
        {"op": st.sampled_from(("add", "remove", "replace", "move", "copy", "test", "x"))},
        optional={
            "path": st.sampled_from(("", "/", "/data", "/data/a", "/metadata/labels", "/metadata/name", "/a/0", "x")),
            "from": st.sampled_from(("", "/metadata", "/data", "/kind")),
            "value": _VALUE_TREES,
        },
    ),
    max_size=4,
)


@st.composite
def _damaged(draw: st.DrawFn) -> bytes:
    raw = bytearray(odd_write(draw(st.integers(0, 1000)))[3] or b"")
    at = draw(st.integers(0, len(raw)))
    raw[at : at + draw(st.integers(0, 3))] = draw(
        st.sampled_from((b"", b"\xff", b'"', b"}", b"\x00", b"*a", b"&a ", b"- "))
    )
    return bytes(raw)


BODIES = (
    st.none()
    | st.sampled_from(
        (b"", b"null", b"[]", b"1", b'"x"', b"{", b"k8s\x00", b"\xef\xbb\xbf{}", b"a: &a [*a]", b"!!set {a}")
    )
    | st.sampled_from(
        [nested(levels, *pair) for levels in (199, 990, 10_001) for pair in ((b"[", b"]"), (b'{"a":', b"}"))]
    )
    | st.binary(max_size=40)
    | st.binary(max_size=40).map(lambda raw: b"k8s\x00" + raw)
    | _WRITTEN.map(lambda write: write[3])
    | _OPERATIONS.map(msgspec.json.encode)
    | _damaged()
)
PATHS = (
    st.tuples(
        st.sampled_from([path for path, *_ in _DOORS]),
        st.sampled_from(("", "/a", "/b", "/here", "/a/status", "/a/scale")),
    ).map("".join)
    | st.lists(st.sampled_from(_SEGMENTS), max_size=8).map(lambda parts: "/" + "/".join(parts))
    | st.text(max_size=10).map(lambda text: "/" + text)
)
QUERIES: st.SearchStrategy[Query] = st.lists(
    st.tuples(st.sampled_from(_PARAMETERS), st.sampled_from(_VALUES) | st.text(max_size=5)), max_size=4
)
HEADERS = st.fixed_dictionaries(
    {},
    optional={
        "content-type": st.sampled_from(_TYPES),
        "accept": st.sampled_from(_ACCEPTS),
        "user-agent": st.sampled_from(("", "kubectl/v1", "x" * 5000, "ä", "fleet/1 (member=a)")),
        "authorization": st.sampled_from(("Bearer", "Bearer ä", "Bearer a.b.c", "Basic x", "")),
    },
)
ANY: st.SearchStrategy[OddRequest] = st.tuples(st.sampled_from(METHODS), PATHS, QUERIES, BODIES, HEADERS)
REQUESTS = st.lists(_WRITTEN | _WRITTEN | ANY, min_size=1, max_size=8)
