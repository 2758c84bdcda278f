from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import yaml

from fleet.configuration.controllers import import_file
from fleet.dev.demo import Demo, find_demo, observed, touched
from shards.errors import ConfigError
from shards.objects import Resource

WIDGETS = Resource.parse("example.com/v1/widgets")
CRD = "kind: CustomResourceDefinition\nmetadata: {name: widgets.example.com}\n"
HOOKS = "def demo_object(i):\n    return {'metadata': {'name': f'w-{i}'}}\n"


@pytest.fixture(autouse=True)
def clean_imports() -> Iterator[None]:
    modules, path = set(sys.modules), list(sys.path)
    yield
    for name in set(sys.modules) - modules:
        del sys.modules[name]
    sys.path[:] = path


def module(directory: Path, text: str = "") -> ModuleType:
    (directory / "widgets_x.py").write_text(text)
    return import_file(directory / "widgets_x.py")


def crd(directory: Path, text: str = CRD, name: str = "widgets_x-crd.yaml") -> Path:
    (directory / name).write_text(text)
    return directory / name


def test_crds_are_found_next_to_the_module(tmp_path: Path) -> None:
    crd(tmp_path, f"{CRD}---\n{CRD.replace('widgets', 'gears')}")
    demo = find_demo(module(tmp_path), WIDGETS)
    assert [each["metadata"]["name"] for each in demo.crds] == ["widgets.example.com", "gears.example.com"]


def test_named_files_replace_the_one_next_to_the_module(tmp_path: Path) -> None:
    crd(tmp_path)
    other = crd(tmp_path, CRD.replace("widgets", "gears"), "other.yaml")
    assert [each["metadata"]["name"] for each in find_demo(module(tmp_path), WIDGETS, [other]).crds] == [
        "gears.example.com"
    ]


def test_a_custom_primary_without_a_crd_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        find_demo(module(tmp_path), WIDGETS)
    assert str(caught.value) == (
        "--crd: example.com/v1/widgets needs a CustomResourceDefinition;"
        f" put it into {tmp_path}/widgets_x-crd.yaml, or name its file"
    )


@pytest.mark.parametrize("primary", ["v1/configmaps", "apps/v1/deployments", "networking.k8s.io/v1/ingresses"])
def test_a_builtin_primary_needs_none(primary: str, tmp_path: Path) -> None:
    assert find_demo(module(tmp_path), Resource.parse(primary)).crds == ()


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "is empty; it must hold a CustomResourceDefinition"),
        ("kind: Pod", "holds something that is no CustomResourceDefinition"),
        ("[1", "is not valid YAML"),
    ],
)
def test_a_file_that_holds_no_crd_is_refused(text: str, sentence: str, tmp_path: Path) -> None:
    crd(tmp_path, text)
    with pytest.raises(ConfigError, match=sentence):
        find_demo(module(tmp_path), WIDGETS)


def test_a_crd_file_that_does_not_exist_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"cannot read .*none.yaml: No such file"):
        find_demo(module(tmp_path), WIDGETS, [tmp_path / "none.yaml"])


def test_hooks_come_from_the_module_itself(tmp_path: Path) -> None:
    crd(tmp_path)
    demo = find_demo(module(tmp_path, HOOKS), WIDGETS)
    assert [each["metadata"]["name"] for each in demo.objects(2)] == ["w-0", "w-1"]
    assert len(demo.objects(None)) == 20


def test_hooks_come_from_the_demo_file_where_there_is_one(tmp_path: Path) -> None:
    crd(tmp_path)
    (tmp_path / "widgets_x_demo.py").write_text(HOOKS + "def settled(obj):\n    return obj['done']\n")
    demo = find_demo(module(tmp_path), WIDGETS)
    assert len(demo.objects(3)) == 3
    assert demo.settled({"done": True})


def test_without_a_hook_there_are_no_objects_and_none_can_be_asked_for() -> None:
    demo = Demo((), None, observed, touched)
    assert demo.objects(None) == demo.objects(0) == []
    with pytest.raises(ConfigError, match=r"--objects: the controller's module has no demo_object\(i\)"):
        demo.objects(1)


def fails(_: int) -> dict[str, Any]:
    raise ZeroDivisionError("by zero")


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (fails, r"demo_object\(0\) raised ZeroDivisionError: by zero"),
        (
            lambda i: {"kind": "Widget"},
            r"demo_object\(0\) must return an object, a dict with metadata.name; it returned",
        ),
        (lambda i: None, r"it returned None"),
    ],
)
def test_a_hook_that_makes_no_object_is_refused(make: Any, sentence: str) -> None:
    with pytest.raises(ConfigError, match=sentence):
        Demo((), make, observed, touched).objects(1)


@pytest.mark.parametrize(
    ("obj", "settled"),
    [
        ({"metadata": {"generation": 2}}, False),
        ({"metadata": {"generation": 2}, "status": {}}, False),
        ({"metadata": {"generation": 2}, "status": {"ready": 1}}, True),
        ({"metadata": {"generation": 2}, "status": {"observedGeneration": 1}}, False),
        ({"metadata": {"generation": 2}, "status": {"observedGeneration": 2}}, True),
    ],
)
def test_by_default_an_object_is_settled_when_its_status_is_of_this_generation(
    obj: dict[str, Any], settled: bool
) -> None:
    assert observed(obj) is settled


def test_the_example_has_a_crd_and_demo_objects_that_fit_it() -> None:
    example = Path(__file__).parents[4] / "docs/examples/websites.py"
    demo = find_demo(import_file(example), Resource.parse("demo.shardfleet.dev/v1/websites"))
    [definition] = demo.crds
    assert definition["spec"]["names"]["plural"] == "websites"
    first = demo.objects(1)[0]
    assert first["kind"] == definition["spec"]["names"]["kind"]
    schema = definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]
    assert set(schema["required"]) <= set(first["spec"]) <= set(schema["properties"])
    assert yaml.safe_dump(first)
    done = {**first, "metadata": {"generation": 1}, "status": {"ready": 1, "observedGeneration": 1}}
    assert demo.settled(done)
    assert not demo.settled({**done, "status": {"ready": 0, "observedGeneration": 1}})
    assert not demo.settled({**done, "status": {}})
