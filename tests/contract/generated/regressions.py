"""Generated histories that once gave different answers, cut down to what matters. Each is played on every run."""

from __future__ import annotations

from tests.contract.generated.operations import DEPLOYMENT, Create, Operation, Options, Patch

_PORT = {"containerPort": 81, "name": "other"}
_CONTAINERS = [{"name": each, "image": "image:2", "ports": [_PORT]} for each in ("main", "side")]
_TEMPLATE = {"metadata": {"labels": {"app": "x"}}, "spec": {"containers": _CONTAINERS}}
_SPEC = {"selector": {"matchLabels": {"app": "x"}}, "template": _TEMPLATE}

REGRESSIONS: dict[str, list[Operation]] = {
    "two containers with one port are remarked on": [
        Patch(subject=DEPLOYMENT, name="c", type="apply", body={"spec": _SPEC}, options=Options(manager="third")),
    ],
    "a refused create is remarked on as well": [
        Create(subject=DEPLOYMENT, name="c", fields={"spec": _SPEC}, metadata={}),
        Create(subject=DEPLOYMENT, name="c", fields={"spec": _SPEC}, metadata={}),
    ],
}
"""By a name that says what differed."""
