"""The values of Secrets are hidden however they are quoted, and nothing else is."""

from __future__ import annotations

import json
from base64 import b64encode

import pytest

from shards.objects import Object, Resource
from shards.veil import HIDDEN, Veil, is_secret

PEM = "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkq\nhkiG9w0BAQEFAASC\n-----END PRIVATE KEY-----\n"


def secret(**values: str) -> Object:
    data = {name: b64encode(value.encode()).decode() for name, value in values.items()}
    return {"metadata": {"name": "s", "namespace": "ns"}, "data": data}


@pytest.mark.parametrize(
    "text",
    [
        "cannot use hunter2",
        f"cannot use {b64encode(b'hunter2').decode()}",
        "invalid literal for int() with base 10: 'hunter2'",
        '{"password":"hunter2"}',
        "hunter2hunter2",
    ],
)
def test_a_value_is_hidden_encoded_and_decoded(text: str) -> None:
    told = Veil([secret(password="hunter2")])(text)
    assert HIDDEN in told
    assert "hunter2" not in told
    assert b64encode(b"hunter2").decode() not in told


def test_what_is_about_to_be_written_counts_too() -> None:
    assert Veil([{"stringData": {"a": "hunter2"}}])("hunter2 is too short") == f"{HIDDEN} is too short"


def test_a_value_of_several_lines_is_hidden_as_one_by_line_and_with_its_line_breaks_escaped() -> None:
    veil = Veil([secret(key=PEM)])
    for text in (PEM, repr(PEM), json.dumps({"key": PEM}), "line 2 is wrong: MIIEvQIBADANBgkq"):
        assert "MIIEvQIBADANBgkq" not in veil(text)


def test_values_within_a_value_that_is_json_are_hidden() -> None:
    login = json.dumps({"auths": {"registry": {"auth": "dXNlcjpwYXNz", "all": ["pass-word"]}}})
    told = Veil([secret(**{".dockerconfigjson": login})])("no such user: dXNlcjpwYXNz, pass-word")
    assert told == f"no such user: {HIDDEN}, {HIDDEN}"


def test_what_kubectl_keeps_of_an_earlier_version_is_hidden() -> None:
    earlier = json.dumps({"apiVersion": "v1", "kind": "Secret", "stringData": {"a": "old-value"}})
    held = secret(a="new-value")
    held["metadata"]["annotations"] = {"kubectl.kubernetes.io/last-applied-configuration": earlier}
    assert Veil([held])("old-value, new-value, ns/s") == f"{HIDDEN}, {HIDDEN}, ns/s"


@pytest.mark.parametrize(
    "data", [None, {}, {"a": "no base64 at all"}, {"a": b64encode(b"\xff\xfe").decode()}, {"a": ""}]
)
def test_what_is_no_text_hides_nothing_and_does_no_harm(data: object) -> None:
    assert Veil([{"metadata": None, "data": data}])("as it was") == "as it was"


def test_a_value_too_short_to_be_told_apart_is_left() -> None:
    assert Veil([secret(a="1")])("1 of 10") == "1 of 10"


def test_only_secrets_of_the_core_group_are_secrets() -> None:
    assert is_secret(Resource("", "v1", "secrets"))
    assert not is_secret(Resource("acme.io", "v1", "secrets"))
    assert not is_secret(Resource("", "v1", "configmaps"))
