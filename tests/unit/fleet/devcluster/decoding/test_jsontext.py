from __future__ import annotations

import time
from typing import Any

import pytest

from fleet.devcluster.decoding.jsontext import DEPTH_LIMIT, JsonError, check_depth, read_json, too_deep
from fleet.devcluster.decoding.yamlbody import YamlError, read_yaml


def nested(levels: int) -> bytes:
    return b"[" * levels + b"]" * levels


def test_a_text_may_be_as_deep_as_the_limit() -> None:
    assert not too_deep(read_json(nested(DEPTH_LIMIT)))
    with pytest.raises(JsonError, match=r"^invalid character '\[' exceeded max depth$"):
        read_json(nested(DEPTH_LIMIT + 1))


def test_brackets_in_texts_and_side_by_side_do_not_count() -> None:
    for raw in (b'["' + b"[" * 1000 + b'"]', b'["\\"' + b"{" * 1000 + b'"]', b"[" + b"[]," * 1000 + b"[]]"):
        read_json(raw)


def test_what_is_no_json_is_told_in_gos_words() -> None:
    with pytest.raises(JsonError, match=r"^unexpected end of JSON input$"):
        read_json(b"")


@pytest.mark.parametrize("raw", [b'"' + b'\\"' * 500_000, b'{"a":"' + b"[" * 500_000 + b"\\"])
def test_a_text_that_is_never_closed_costs_one_look(raw: bytes) -> None:
    began = time.process_time()
    check_depth(raw + b"[" * DEPTH_LIMIT)
    assert time.process_time() - began < 1


def test_a_value_is_as_deep_as_its_containers() -> None:
    value: Any = 1
    for _ in range(DEPTH_LIMIT):
        value = {"a": value}
    assert not too_deep(value)
    assert too_deep([value])
    circle: list[Any] = []
    circle.append(circle)
    assert too_deep(circle)


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        (b"- " * 5000 + b"1", "yaml: exceeded max depth of 10000"),
        (nested(5000), "yaml: exceeded max depth of 10000"),
        (b'"\\ud800"', "yaml: found invalid Unicode character escape code"),
        (b"!!float x", "yaml: cannot decode: could not convert"),
        (
            b"a0: &a0 [x, x]\n" + b"".join(b"a%d: &a%d [*a%d, *a%d]\n" % (n, n, n - 1, n - 1) for n in range(1, 40)),
            "yaml: document contains excessive aliasing",
        ),
    ],
)
def test_yaml_that_would_break_the_server_is_refused(raw: bytes, said: str) -> None:
    with pytest.raises(YamlError) as refused:
        read_yaml(raw)
    assert str(refused.value).startswith(said)


def test_yaml_tags_become_what_json_can_hold() -> None:
    value, _ = read_yaml(
        b"{a: !!set {x}, b: !!binary aGk=, c: 2020-01-01, d: !!timestamp 2020-01-01, e: %s}" % (b"9" * 5000)
    )
    assert value == {"a": {"x": None}, "b": "aGk=", "c": "2020-01-01", "d": "2020-01-01", "e": "9" * 5000}
