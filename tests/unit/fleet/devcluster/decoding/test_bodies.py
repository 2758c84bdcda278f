from __future__ import annotations

import json
from typing import Any

import pytest

from fleet.devcluster.decoding.bodies import YAML, read
from fleet.devcluster.kinds.resources import BUILT_IN, LEASES
from fleet.devcluster.wire.statuses import StatusError

CONFIG_MAPS = next(each for each in BUILT_IN if each.kind == "ConfigMap")
DEPLOYMENTS = next(each for each in BUILT_IN if each.kind == "Deployment")


def refusal(kind: Any, body: Any, **how: Any) -> str:
    raw = body.encode() if isinstance(body, str) else json.dumps(body).encode()
    with pytest.raises(StatusError) as caught:
        read(kind, raw, **how)
    return caught.value.message


def test_a_missing_kind_is_that_of_the_resource() -> None:
    assert read(CONFIG_MAPS, b'{"metadata":{"name":"a"}}') == {"metadata": {"name": "a"}}


def test_unknown_fields_go_at_any_depth_and_are_told() -> None:
    warnings: list[str] = []
    body = {"spec": {"template": {"spec": {"containers": [{"name": "x", "foo": 1}]}}}, "bar": 2}
    kept = read(DEPLOYMENTS, json.dumps(body).encode(), warnings=warnings)
    assert kept == {"spec": {"template": {"spec": {"containers": [{"name": "x"}]}}}}
    assert warnings == ['unknown field "spec.template.spec.containers[0].foo"', 'unknown field "bar"']


def test_repeated_fields_are_merged_and_told() -> None:
    warnings: list[str] = []
    text = '{"metadata":{"name":"a","name":"b"},"data":{"x":"1","x":"2"},"data":{"y":"1"}}'
    assert read(CONFIG_MAPS, text.encode(), warnings=warnings) == {
        "metadata": {"name": "b"},
        "data": {"x": "2", "y": "1"},
    }
    assert warnings == ['duplicate field "metadata.name"', 'duplicate field "data.x"', 'duplicate field "data"']


def test_strict_validation_refuses_what_a_warning_tells() -> None:
    message = refusal(CONFIG_MAPS, {"dat": 1}, validation="Strict")
    assert message.endswith('cannot be handled as a ConfigMap: strict decoding error: unknown field "dat"')


def test_ignored_fields_are_dropped_without_a_word() -> None:
    warnings: list[str] = []
    assert read(CONFIG_MAPS, b'{"dat":1}', validation="Ignore", warnings=warnings) == {}
    assert warnings == []


@pytest.mark.parametrize(
    ("spec", "fault"),
    [
        ({"holderIdentity": 1}, "cannot unmarshal number into Go struct field LeaseSpec.spec.holderIdentity of type"),
        ({"leaseDurationSeconds": 1.5}, "cannot unmarshal number 1.5 into Go struct field"),
        ({"renewTime": "x"}, 'parsing time "x" as "2006-01-02T15:04:05.000000Z07:00": cannot parse "x" as "2006"'),
        ("x", "cannot unmarshal string into Go struct field Lease.spec of type v1.LeaseSpec"),
    ],
)
def test_a_wrong_type_names_the_field_of_the_go_struct(spec: Any, fault: str) -> None:
    assert fault in refusal(LEASES, {"spec": spec})


@pytest.mark.parametrize(
    ("body", "fault"),
    [
        ({"kind": "Secret", "apiVersion": "v1"}, "converting (v1.Secret) to (core.ConfigMap): unknown conversion"),
        ({"kind": "Foo", "apiVersion": "v1"}, 'no kind "Foo" is registered for version "v1"'),
        ({"kind": "ConfigMap", "apiVersion": "a/b/c"}, "unexpected GroupVersion string: a/b/c"),
        ("[1]", "couldn't get version/kind; json parse error: json: cannot unmarshal array"),
    ],
)
def test_a_body_of_another_kind_is_refused(body: Any, fault: str) -> None:
    assert fault in refusal(CONFIG_MAPS, body)


def test_a_yaml_body_is_read_as_its_json() -> None:
    warnings: list[str] = []
    raw = b"metadata: {name: a}\ndata: {y: '1'}\ndata: {b: '2'}\n"
    assert read(CONFIG_MAPS, raw, content_type=YAML, warnings=warnings) == {
        "metadata": {"name": "a"},
        "data": {"b": "2"},
    }
    assert warnings == ['line 3: key "data" already set in map']


def test_other_forms_of_a_body_are_unknown() -> None:
    with pytest.raises(StatusError) as caught:
        read(CONFIG_MAPS, b"x", content_type="application/cbor")
    assert caught.value.code == 415


@pytest.mark.parametrize(
    ("kind", "given", "kept"),
    [
        ("ConfigMap", {"data": {"x": None}}, {"data": {"x": ""}}),
        ("ConfigMap", {"metadata": {"ownerReferences": [None]}}, {"metadata": {"ownerReferences": [{}]}}),
        ("Secret", {"data": {"x": None}}, {"data": {"x": ""}}),
        ("Role", {"rules": [None, {"verbs": [None]}]}, {"rules": [{}, {"verbs": [""]}]}),
        ("ResourceQuota", {"spec": {"hard": {"cpu": None}}}, {"spec": {"hard": {"cpu": "0"}}}),
    ],
)
def test_null_in_a_list_or_a_map_is_a_zero_value(kind: str, given: Any, kept: Any) -> None:
    found = next(each for each in BUILT_IN if each.kind == kind)
    assert read(found, json.dumps(given).encode()) == kept
