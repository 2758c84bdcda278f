"""What objects of each kind may say: valid, and now and then not."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from tests.contract.generated import operations as op
from tests.contract.generated.scenes import Subject
from tests.contract.transcripts import Document

Documents = st.SearchStrategy[Document]


def _some(fields: dict[str, st.SearchStrategy[Any]]) -> Documents:
    """A document with any of the fields."""
    return st.fixed_dictionaries({}, optional=fields)


WORDS = st.sampled_from(["1", "2", "3", ""])
_labels = _some({"app": st.sampled_from(["x", "y"]), "tier": st.sampled_from(["x", "y", ""])})
_annotations = _some({"note": WORDS, "example.com/note": WORDS})
_finalizers = st.lists(st.sampled_from(["example.com/a", "example.com/b"]), unique=True, max_size=2)
METADATA = _some({"labels": _labels, "annotations": _annotations}) | _some(
    {"labels": _labels, "annotations": _annotations, "finalizers": _finalizers}
)

_config_map_fields = _some(
    {
        "data": _some({"a": WORDS, "b": WORDS, "c": WORDS}),
        "binaryData": st.just({"bin": "AAEC"}),
        "immutable": st.just(False),
    }
)
_lease_fields = st.fixed_dictionaries(
    {},
    optional={
        "spec": _some(
            {
                "holderIdentity": st.sampled_from(["a", "b", ""]),
                "leaseDurationSeconds": st.integers(0, 3),
                "leaseTransitions": st.integers(-1, 2),
                "renewTime": st.sampled_from(["2026-01-02T03:04:05.678901Z", "2026-01-02T03:04:06.000000Z"]),
            }
        )
    },
)

_PORTS: tuple[Document, ...] = (
    {"containerPort": 80, "name": "web"},
    {"containerPort": 81},
    {"containerPort": 81, "name": "other"},
)
_ports = st.lists(st.sampled_from(_PORTS), max_size=2, unique_by=lambda port: str(port["containerPort"]))
_env = st.lists(
    st.fixed_dictionaries({"name": st.sampled_from(["A", "B", "C"]), "value": WORDS}),
    max_size=3,
    unique_by=lambda variable: variable["name"],
)
_containers = st.lists(
    st.fixed_dictionaries(
        {"name": st.sampled_from(["main", "side"]), "image": st.sampled_from(["image:1", "image:2"])},
        optional={"env": _env, "ports": _ports, "args": st.lists(WORDS, max_size=2)},
    ),
    min_size=1,
    max_size=2,
    unique_by=lambda container: container["name"],
)
_template = st.fixed_dictionaries(
    {"metadata": st.just({"labels": {"app": "x"}}), "spec": st.fixed_dictionaries({"containers": _containers})}
)
_deployment_fields = st.fixed_dictionaries(
    {
        "spec": st.fixed_dictionaries(
            {"selector": st.just({"matchLabels": {"app": "x"}}), "template": _template},
            optional={"replicas": st.integers(0, 3), "paused": st.booleans(), "minReadySeconds": st.integers(0, 2)},
        )
    }
)
_deployment_status = st.fixed_dictionaries(
    {"status": _some({"replicas": st.integers(0, 3), "observedGeneration": st.integers(0, 3)})}
)

_secret_fields = _some(
    {
        "data": _some({"a": st.sampled_from(["YQ==", "", "no base64"]), "b": st.just("Yg==")}),
        "stringData": _some({"a": WORDS, "c": WORDS}),
        "type": st.sampled_from(["Opaque", "example.com/other"]),
        "immutable": st.just(False),
    }
)
_conditions = st.lists(
    st.fixed_dictionaries(
        {"type": st.sampled_from(["Ready", "Synced"]), "status": st.sampled_from(["True", "False"])},
        optional={"reason": st.sampled_from(["Some", "Other"])},
    ),
    max_size=2,
    unique_by=lambda condition: condition["type"],
)
_widget_fields = st.fixed_dictionaries(
    {
        "spec": _some(
            {
                "size": st.integers(0, 4),
                "colour": st.sampled_from(["red", "green", "none such"]),
                "tags": st.lists(st.sampled_from(["t", "u", "v"]), max_size=3),
                "parts": st.lists(
                    st.fixed_dictionaries({"name": st.sampled_from(["p", "q"])}, optional={"size": st.integers(1, 2)}),
                    max_size=2,
                    unique_by=lambda part: part["name"],
                ),
                "options": _some({"deep": _some({"on": st.booleans(), "level": st.integers(0, 3)})}),
                "free": _some({"anything": WORDS, "nested": st.just({"a": [1, 2.5, None, {}]})}),
                "unknown": WORDS,
            }
        )
    }
)
_widget_status = st.fixed_dictionaries(
    {"status": _some({"phase": st.sampled_from(["Ready", "Failed"]), "conditions": _conditions})}
)

FIELDS: dict[Subject, Documents] = {
    op.CONFIG_MAP: _config_map_fields,
    op.LEASE: _lease_fields,
    op.DEPLOYMENT: _deployment_fields,
    op.WIDGET: _widget_fields,
    op.SECRET: _secret_fields,
}
STATUS: dict[Subject, Documents] = {op.DEPLOYMENT: _deployment_status, op.WIDGET: _widget_status}
