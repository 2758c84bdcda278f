from __future__ import annotations

from typing import Any

import pytest

from chaos.actions.objects import (
    LABEL,
    delete_pages,
    label_objects,
    recreate_objects,
    touch_objects,
    wait_for_garbage_collector,
    write_against,
)
from chaos.targets.target import TargetFailed
from fleet.devcluster.recording.journal import Entry
from shards.errors import AlreadyExists, NotFound
from shards.objects import Object, Resource
from tests.unit.chaos.targets.paper import PaperTarget


class Stored:
    """An API that keeps objects, by name. held: how many creations a finalizer of the old object refuses.
    collected: whether what belonged to an object goes with it."""

    def __init__(self, *names: str) -> None:
        self.objects: dict[str, Object] = {}
        self.patches: list[tuple[str, Object]] = []
        self.held = 0
        self.collected = True
        self.made = 0
        for name in names:
            self._add({"apiVersion": "x/v1", "kind": "Site", "metadata": {"name": name}, "spec": {"pages": 1}})

    def get(self, resource: Resource, namespace: str, name: str) -> Object:
        if name not in self.objects:
            raise NotFound(404, "NotFound", name)
        return self.objects[name]

    def list(self, resource: Resource, namespace: str = "", *, labels: str = "") -> list[Object]:
        return list(self.objects.values())

    def create(self, resource: Resource, namespace: str, body: Object) -> Object:
        if self.held:
            self.held -= 1
            raise AlreadyExists(409, "AlreadyExists", "it is there still")
        return self._add(body)

    def patch(self, resource: Resource, namespace: str, name: str, patch: Object, *, subresource: str = "") -> Object:
        self.patches.append((name, patch))
        labels: dict[str, Any] = self.objects[name]["metadata"].setdefault("labels", {})
        labels.update(patch.get("metadata", {}).get("labels", {}))
        for label in [each for each, value in labels.items() if value is None]:
            del labels[label]
        return patch

    def replace(self, resource: Resource, namespace: str, name: str, body: Object) -> Object:
        return body

    def delete(self, resource: Resource, namespace: str, name: str) -> None:
        del self.objects[name]
        if self.collected:
            self.objects.pop(f"{name}-child", None)

    def _add(self, body: Object) -> Object:
        self.made += 1
        made = {**body, "metadata": {**body["metadata"], "uid": f"uid-{self.made}"}}
        made.setdefault("apiVersion", "v1")
        self.objects[body["metadata"]["name"]] = made
        return made


class StoredTarget(PaperTarget):
    def __init__(self, *names: str) -> None:
        super().__init__()
        self.stored = Stored(*names)
        self.api = self.stored  # type: ignore[assignment]


def refused(target: PaperTarget, name: str, *times: float, agent: str = "fleet/0 m=a-0 e=1") -> None:
    resource = str(target.people.resource)
    target.evidence.recorded += [
        Entry(seq, time, "patch", resource, name=name, status=409, user_agent=agent)
        for seq, time in enumerate(times, 1)
    ]


def test_a_rival_writes_at_its_rate_and_counts_the_conflicts_of_the_fleet() -> None:
    target = StoredTarget("b", "a")
    refused(target, "a", 101.0, 102.0, 50.0)
    refused(target, "b", 101.0)
    refused(target, "a", 101.0, agent="chaos/0")
    assert write_against(4, 5, target=target) == {"object": "a", "writes": 20, "conflicts": 2}
    assert target.time == pytest.approx(104)
    assert {name for name, _ in target.stored.patches} == {"a"}


def test_a_rival_that_met_nobody_proves_nothing() -> None:
    with pytest.raises(TargetFailed, match=r"0 writes to a met a conflict"):
        write_against(1, 5, target=StoredTarget("a"))


def test_objects_come_back_under_their_names_as_others() -> None:
    target = StoredTarget("a", "b", "c")
    before = {name: each["metadata"]["uid"] for name, each in target.stored.objects.items()}
    target.stored.held = 3
    assert recreate_objects(2, target) == {"objects": 2}
    after = {name: each["metadata"]["uid"] for name, each in target.stored.objects.items()}
    assert after.keys() == before.keys()
    assert {name for name in after if after[name] != before[name]} == {"a", "b"}
    assert target.stored.objects["a"]["spec"] == {"pages": 1}


def test_an_object_that_does_not_go_is_told() -> None:
    target = StoredTarget("a")
    target.stored.held = 1000
    with pytest.raises(TargetFailed, match="a is there still"):
        recreate_objects(1, target)


def test_objects_leave_the_scope_and_come_back() -> None:
    target = StoredTarget("a", "b", "c")
    assert label_objects(2, away=True, target=target) == {"objects": 2}
    assert [LABEL in each["metadata"].get("labels", {}) for each in target.stored.list(target.people.resource)] == [
        True,
        True,
        False,
    ]
    with pytest.raises(TargetFailed, match="there are 1 such objects, which is less than 2"):
        label_objects(2, away=True, target=target)
    assert label_objects(2, away=False, target=target) == {"objects": 2}


def test_a_child_of_each_that_has_left_is_deleted_and_no_other() -> None:
    target = StoredTarget("a", "b")
    for name in ("a", "b"):
        owners = [{"uid": target.stored.objects[name]["metadata"]["uid"]}]
        for child in (f"{name}-0", f"{name}-1"):
            target.stored._add({"metadata": {"name": child, "ownerReferences": owners}})
    with pytest.raises(TargetFailed, match="no object that is labelled away has a page"):
        delete_pages(target)
    target.stored.objects["a"]["metadata"]["labels"] = {LABEL: "true"}
    assert delete_pages(target) == {"pages": 1}
    assert len(target.stored.objects.keys() & {"a-0", "a-1"}) == 1
    assert target.stored.objects.keys() >= {"b-0", "b-1"}


def test_each_of_those_that_are_touched_has_something_to_be_done() -> None:
    target = StoredTarget("a", "b", "c")
    assert touch_objects(2, target) == {"objects": 2}
    assert [name for name, change in target.stored.patches if change["spec"]["text"]] == ["a", "b"]


def test_the_garbage_collector_is_waited_for() -> None:
    target = StoredTarget("a")
    assert wait_for_garbage_collector(target=target) == {"seconds": 0.0}
    target.stored.collected = False
    with pytest.raises(TargetFailed, match="within 60 seconds"):
        wait_for_garbage_collector(target=target)
    assert target.time > 160


def test_too_few_objects_are_told() -> None:
    with pytest.raises(TargetFailed, match="there are 1 objects, which is less than 3"):
        recreate_objects(3, StoredTarget("a"))
