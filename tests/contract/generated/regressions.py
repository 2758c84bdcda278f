"""Generated histories that once gave different answers, cut down to what matters. Each is played on every run."""

from __future__ import annotations

from tests.contract.generated.operations import (
    DEPLOYMENT,
    LEASE,
    SECRET,
    WIDGET,
    Create,
    Get,
    List,
    Operation,
    Options,
    Patch,
    Scale,
    Update,
)
from tests.contract.transcripts import Document

_PORT = {"containerPort": 81, "name": "other"}
_CONTAINERS = [{"name": each, "image": "image:2", "ports": [_PORT]} for each in ("main", "side")]
_TEMPLATE = {"metadata": {"labels": {"app": "x"}}, "spec": {"containers": _CONTAINERS}}
_SPEC = {"selector": {"matchLabels": {"app": "x"}}, "template": _TEMPLATE}


def _apply(body: Document) -> Patch:
    return Patch(subject=WIDGET, name="a", type="apply", body=body, options=Options(manager="first", force=True))


REGRESSIONS: dict[str, list[Operation]] = {
    "two containers with one port are remarked on": [
        Patch(subject=DEPLOYMENT, name="c", type="apply", body={"spec": _SPEC}, options=Options(manager="third")),
    ],
    "a refused create is remarked on as well": [
        Create(subject=DEPLOYMENT, name="c", fields={"spec": _SPEC}, metadata={}),
        Create(subject=DEPLOYMENT, name="c", fields={"spec": _SPEC}, metadata={}),
    ],
    "a limit does not make a list of one name a read of the past": [
        Create(subject=LEASE, name="b", fields={}),
        Create(subject=LEASE, name="a", fields={}),
        List(subject=LEASE, field_selector="metadata.name=a", limit=2, back=1),
        List(subject=LEASE, field_selector="metadata.name=a", limit=2, back=1, match="Exact"),
    ],
    "an update that would create keeps the version it was sent in a dry run": [
        Update(subject=LEASE, name="a", fields={}, version="older", options=Options(dry_run=True)),
    ],
    "what an apply stored with empty metadata is written anew by the next write": [
        _apply({"spec": {}, "metadata": {"labels": {}, "finalizers": []}}),
        Patch(subject=WIDGET, name="a", type="merge", body={}, subresource="status"),
        Patch(subject=WIDGET, name="a", type="merge", body={}, subresource="status"),
    ],
    "an apply that empties the labels is an apply": [
        _apply({"spec": {}, "metadata": {"labels": {"app": "x"}}}),
        _apply({"spec": {}, "metadata": {"labels": {}}}),
        Patch(subject=WIDGET, name="a", type="merge", body={}),
        _apply({"spec": {}, "metadata": {}}),
    ],
    "an apply whose result is no secret fails inside": [
        Create(subject=SECRET, name="c", fields={}),
        Patch(subject=SECRET, name="c", type="apply", body={"data": {"a": "no base64"}}, options=Options(manager="a")),
        Patch(subject=SECRET, name="c", type="strategic", body={"data": {"a": "no base64"}}),
    ],
    "a scale that stays splits the owner of the number": [
        Create(subject=DEPLOYMENT, name="c", fields={"spec": _SPEC}),
        Scale(name="c", replicas=1, type="merge", options=Options(manager="first")),
        Get(subject=DEPLOYMENT, name="c"),
        Scale(name="c", replicas=0, options=Options(manager="first")),
        Get(subject=DEPLOYMENT, name="c"),
    ],
    "a null in an apply reaches the validation": [
        _apply({"spec": {"options": None}}),
        _apply({"spec": {}, "metadata": {"labels": {"app": None}}}),
        Patch(subject=WIDGET, name="a", type="merge", body={}),
    ],
}
"""By a name that says what differed."""
