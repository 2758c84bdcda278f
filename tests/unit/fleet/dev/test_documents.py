from __future__ import annotations

from pathlib import Path

import pytest

from fleet.dev.documents import Document, check_kinds, read_documents, read_objects
from shards.errors import ConfigError

GOOD = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"
CRD = """
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: sites.mine.example}
spec:
  group: mine.example
  names: {kind: Site, plural: sites}
  versions: [{name: v1}, {name: v2}]
"""
SITE = "apiVersion: mine.example/v2\nkind: Site\nmetadata: {name: s}\n"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "objects.yaml"


def objects(file: Path, text: str) -> list[Document]:
    file.write_text(text)
    return read_objects("--load", file)


def test_objects_come_in_order_and_know_their_places(file: Path) -> None:
    found = objects(file, f"---\n---\n{GOOD}---\n{SITE}")
    assert [(each.place, each.type) for each in found] == [
        (f"document 2 of {file}", ("v1", "ConfigMap")),
        (f"document 3 of {file}", ("mine.example/v2", "Site")),
    ]
    assert read_documents("--load", file) == [each.body for each in found]


def test_a_list_is_its_items(file: Path) -> None:
    found = objects(file, "apiVersion: v1\nkind: List\nitems: [{apiVersion: v1, kind: A, metadata: {name: b}}]")
    assert [(each.place, each.type) for each in found] == [(f"item 1 of document 1 of {file}", ("v1", "A"))]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a: [", "document 2 of FILE is not valid YAML: while parsing"),
        ("- a", "document 2 of FILE is no object with apiVersion and kind, but a list"),
        ("text", "document 2 of FILE is no object with apiVersion and kind, but 'text'"),
        ("kind: A", "document 2 of FILE: apiVersion is missing"),
        ("apiVersion: v1", "document 2 of FILE: kind is missing"),
        ("{apiVersion: 1.0, kind: A}", "document 2 of FILE: apiVersion: must be a text, not 1.0; put it in quotes"),
        ("{apiVersion: v1, kind: A}", "document 2 of FILE: metadata: must be an object, not nothing"),
        ("{apiVersion: v1, kind: A, metadata: {}}", "document 2 of FILE: metadata.name is missing"),
        ("{apiVersion: v1, kind: A, metadata: {name: 1}}", "document 2 of FILE: metadata.name: must be a text, not 1"),
        ("{apiVersion: v1, kind: List}", "document 2 of FILE: items: must be a list, not nothing"),
        ("{apiVersion: v1, kind: List, items: [1]}", "item 1 of document 2 of FILE is no object"),
    ],
)
def test_what_is_no_object_is_refused_with_its_place_and_its_field(file: Path, text: str, said: str) -> None:
    with pytest.raises(ConfigError) as refused:
        objects(file, f"{GOOD}---\n{text}")
    assert str(refused.value).startswith(f"--load: {said.replace('FILE', str(file))}")


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot read"):
        read_objects("--load", tmp_path / "none.yaml")
    (tmp_path / "latin.yaml").write_bytes(b"a: \xff")
    with pytest.raises(ConfigError, match=r"latin\.yaml is not valid YAML"):
        read_objects("--load", tmp_path / "latin.yaml")


def is_core(version: str, kind: str) -> bool:
    return version in ("v1", "apiextensions.k8s.io/v1")


def test_kinds_are_served_or_defined_before(file: Path) -> None:
    check_kinds("--load", objects(file, f"{GOOD}---{CRD}---\n{SITE}"), is_core)


def test_a_kind_that_nothing_serves_is_named_with_its_place(file: Path) -> None:
    said = rf"document 2 of {file}: kind: nothing serves 'Site' of 'mine.example/v2'; load its CustomResourceDef"
    with pytest.raises(ConfigError, match=said):
        check_kinds("--load", objects(file, f"{GOOD}---\n{SITE}"), is_core)


def test_a_definition_that_comes_too_late_is_named(file: Path) -> None:
    with pytest.raises(ConfigError, match=rf"must come before it, not in document 2 of {file}"):
        check_kinds("--load", objects(file, f"{SITE}---{CRD}"), is_core)
