from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from fleet.dev.serve import ServeOptions, front_ends, read_objects
from fleet.devcluster.recorder import Recorder
from shards.errors import ConfigError

A_LIST = """
apiVersion: v1
kind: List
items:
- {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}
- {apiVersion: v1, kind: ConfigMap, metadata: {name: b}}
---
{apiVersion: v1, kind: Secret, metadata: {name: c}}
"""


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"port": 8001, "front_ends": 2}, "--port: several front ends have a port each"),
        ({"key": Path("tls.key")}, "--key: give --certificate and --key together"),
        ({"admin_token": ""}, "--admin-token: it is empty; leave the option out"),
        ({"admin_token": "two words"}, "--admin-token: it must be of visible ASCII characters"),
        ({"admin_token": "line\n"}, "--admin-token: it must be of visible ASCII characters"),
        ({"admin_token": "schlüssel"}, "--admin-token: it must be of visible ASCII characters"),
    ],
)
def test_options_that_cannot_be_meant_are_refused(options: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        ServeOptions(**options)


def test_a_list_stands_for_its_items(tmp_path: Path) -> None:
    file = tmp_path / "objects.yaml"
    file.write_text(A_LIST)
    assert [body["metadata"]["name"] for body in read_objects(file)] == ["a", "b", "c"]


@pytest.mark.parametrize("metadata", ["", "text", "[]"])
def test_an_object_whose_metadata_is_none_is_refused_by_its_kind(tmp_path: Path, metadata: str) -> None:
    file = tmp_path / "objects.yaml"
    file.write_text(f"apiVersion: v1\nkind: ConfigMap\nmetadata: {metadata}\n")
    with pytest.raises(ConfigError, match="holds a ConfigMap whose metadata is no object"):
        read_objects(file)


def test_an_item_of_a_list_needs_what_every_object_needs(tmp_path: Path) -> None:
    file = tmp_path / "objects.yaml"
    file.write_text("apiVersion: v1\nkind: List\nitems: [text]\n")
    with pytest.raises(ConfigError, match="holds something without apiVersion and kind"):
        read_objects(file)


def test_front_ends_are_named_like_contexts_and_know_each_other() -> None:
    servers = front_ends(ServeOptions(front_ends=3), Recorder())
    assert [each.name for each in servers] == ["dev", "dev-2", "dev-3"]
    assert [sorted(each.faults.routes) for each in servers] == [["dev-2", "dev-3"], ["dev", "dev-3"], ["dev", "dev-2"]]
    assert len({id(each.backend) for each in servers}) == 1
