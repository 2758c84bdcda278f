"""Requests that no well-behaved client sends: parts of real ones, put together at random and then damaged."""

from __future__ import annotations

from typing import Any

import msgspec
from hypothesis import strategies as st

from fleet.devcluster.requests import Query

_SEGMENTS = (
    *("", "api", "apis", "v1", "v2", "apps", "batch", "rbac.authorization.k8s.io", "authorization.k8s.io", "policy"),
    *("authentication.k8s.io", "odd.example", "autoscaling", "namespaces", "default", "kube-system", "nonesuch"),
    *("configmaps", "secrets", "pods", "services", "deployments", "jobs", "roles", "things", "nodes", "events"),
    *("customresourcedefinitions", "apiextensions.k8s.io", "selfsubjectaccessreviews", "tokenreviews"),
    *("serviceaccounts", "token", "status", "scale", "eviction", "binding", "log", "proxy", "exec", "finalize"),
    *("version", "healthz", "readyz", "openapi", "v3", "metrics", "watch", ".", "..", "%", "a b", "ä", "\x00"),
)
_COLLECTIONS = (
    "/api/v1/namespaces/default/configmaps",
    "/api/v1/namespaces/default/pods",
    "/api/v1/namespaces/default/services",
    "/api/v1/namespaces/default/serviceaccounts",
    "/api/v1/namespaces",
    "/apis/apps/v1/namespaces/default/deployments",
    "/apis/batch/v1/namespaces/default/cronjobs",
    "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
    "/apis/rbac.authorization.k8s.io/v1/clusterroles",
    "/apis/autoscaling/v1/namespaces/default/horizontalpodautoscalers",
    "/apis/networking.k8s.io/v1/namespaces/default/ingresses",
    "/apis/odd.example/v1/namespaces/default/things",
    "/apis/authorization.k8s.io/v1/subjectaccessreviews",
    "/apis/authentication.k8s.io/v1/tokenreviews",
    "/api/v1/namespaces/default/serviceaccounts/here/token",
    "/api/v1/namespaces/default/pods/here/eviction",
    "/api/v1/namespaces/default/pods/here/binding",
)
METHODS = ("GET", "PUT", "POST", "PATCH", "DELETE", "HEAD", "OPTIONS", "TRACE", "CONNECT", "BREW")
_PARAMETERS = (
    *("limit", "timeoutSeconds", "watch", "resourceVersion", "resourceVersionMatch", "continue", "labelSelector"),
    *("fieldSelector", "shardSelector", "sendInitialEvents", "allowWatchBookmarks", "dryRun", "fieldManager", "force"),
    *("fieldValidation", "pretty", "gracePeriodSeconds", "propagationPolicy", "orphanDependents", "verbose", "x"),
)
_VALUES = (
    *("", "0", "1", "-1", "+5", " 5", "1e3", "1_0", "٣", "9" * 20, "9" * 5000, "true", "false", "All", "a", "a=b"),
    *("a in (", "a>" + "9" * 5000, "metadata.name=a", "=", ",", "!", "\\", "Exact", "NotOlderThan", "Strict", "\x00"),
    *("eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6MSwic3RhcnQiOiJhIn0", "A" * 5000, "shardRange(object.metadata.uid, '0', '1')"),
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
_KINDS = (
    *(("v1", "ConfigMap"), ("v1", "Pod"), ("v1", "Service"), ("v1", "ServiceAccount"), ("v1", "Namespace")),
    *(("apps/v1", "Deployment"), ("batch/v1", "CronJob"), ("apiextensions.k8s.io/v1", "CustomResourceDefinition")),
    *(("rbac.authorization.k8s.io/v1", "ClusterRole"), ("autoscaling/v1", "HorizontalPodAutoscaler")),
    *(("networking.k8s.io/v1", "Ingress"), ("odd.example/v1", "Thing"), ("policy/v1", "Eviction"), ("v1", "Binding")),
    *(("authorization.k8s.io/v1", "SubjectAccessReview"), ("authentication.k8s.io/v1", "TokenReview")),
    ("authentication.k8s.io/v1", "TokenRequest"),
)
_FIELDS = (
    *("spec", "status", "data", "binaryData", "metadata", "name", "labels", "annotations", "ownerReferences", "uid"),
    *("finalizers", "managedFields", "template", "containers", "image", "ports", "port", "selector", "matchLabels"),
    *("replicas", "rules", "verbs", "resources", "versions", "schema", "openAPIV3Schema", "type", "properties", "names"),
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


@st.composite
def _objects(draw: st.DrawFn) -> dict[str, Any]:
    version, kind = draw(st.sampled_from(_KINDS))
    body: dict[str, Any] = {"apiVersion": version, "kind": kind, "metadata": {"name": draw(st.sampled_from(("a", "b")))}}
    if draw(st.booleans()):
        body["metadata"] |= draw(st.dictionaries(st.sampled_from(_FIELDS), _VALUE_TREES, max_size=3))
    body |= draw(st.dictionaries(st.sampled_from(_FIELDS), _VALUE_TREES, max_size=3))
    if draw(st.booleans()) and draw(st.booleans()):
        body.pop(draw(st.sampled_from(sorted(body))))
    return body


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
    raw = bytearray(msgspec.json.encode(draw(_objects())))
    at = draw(st.integers(0, len(raw)))
    raw[at : at + draw(st.integers(0, 3))] = draw(st.sampled_from((b"", b"\xff", b'"', b"}", b"\x00", b"*a", b"&a ", b"- ")))
    return bytes(raw)


BODIES = (
    st.none()
    | st.sampled_from((b"", b"null", b"[]", b"1", b'"x"', b"{", b"k8s\x00", b"\xef\xbb\xbf{}", b"a: &a [*a]", b"!!set {a}"))
    | st.sampled_from([nested(levels, *pair) for levels in (199, 990, 10_001) for pair in ((b"[", b"]"), (b'{"a":', b"}"))])
    | st.binary(max_size=40)
    | st.binary(max_size=40).map(lambda raw: b"k8s\x00" + raw)
    | _objects().map(msgspec.json.encode)
    | _OPERATIONS.map(msgspec.json.encode)
    | _damaged()
)
PATHS = (
    st.tuples(st.sampled_from(_COLLECTIONS), st.sampled_from(("", "/a", "/b", "/here", "/a/status", "/a/scale"))).map("".join)
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
