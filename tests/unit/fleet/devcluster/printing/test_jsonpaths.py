from __future__ import annotations

from typing import Any

import pytest

from fleet.devcluster.printing.jsonpaths import compiled_path, first_result

OBJECT = {
    "metadata": {"annotations": {"example.com/note": "hello"}},
    "spec": {"size": 3, "tags": ["a", "b"], "ports": [{"name": "web", "port": 80}, {"name": "tls", "port": 443}]},
    "status": {"conditions": [{"type": "Other", "status": "False"}, {"type": "Ready", "status": "True"}]},
}


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (".spec.size", 3),
        (".spec.tags", ["a", "b"]),
        (".spec.tags[1]", "b"),
        (".spec.tags[-1]", "b"),
        (".spec.tags[*]", "a"),
        (".spec.ports[1].port", 443),
        (".spec.ports[*].name", "web"),
        (".spec['size']", 3),
        (r".metadata.annotations.example\.com/note", "hello"),
        (".metadata.annotations['example.com/note']", "hello"),
        ('.status.conditions[?(@.type=="Ready")].status', "True"),
        (".status.conditions[?(@.type == 'Ready')].status", "True"),
        ('.status.conditions[?(@.type!="Ready")].status', "False"),
        (".spec.ports[?(@.port==443)].name", "tls"),
    ],
)
def test_a_path_finds_its_first_value(path: str, value: Any) -> None:
    steps = compiled_path(path)
    assert steps is not None
    assert first_result(steps, OBJECT) == (value,)


@pytest.mark.parametrize("path", [".spec.none", ".spec.tags[9]", ".spec.size.deeper", ".metadata[0]"])
def test_a_path_that_leads_nowhere_finds_nothing(path: str) -> None:
    steps = compiled_path(path)
    assert steps is not None
    assert first_result(steps, OBJECT) == ()


@pytest.mark.parametrize("path", ["spec", "..name", ".spec.tags[0:2]", ".a[?(@.b>1)]"])
def test_a_path_beyond_the_subset_is_not_understood(path: str) -> None:
    assert compiled_path(path) is None
