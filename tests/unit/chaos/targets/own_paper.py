"""A fleet on paper whose pods are ours, with a shelf of objects for an API."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from chaos.targets.own_pods import Halt
from chaos.targets.target import TargetFailed
from fleet.records.object_names import CONFIG_MAPS, LEASES
from shards.errors import NotFound
from shards.objects import Object, Resource
from tests.unit.chaos.targets.paper import PaperPods, PaperTarget


class OwnPaperPods(PaperPods):
    """Notes what is done to them in `done`. stubborn: refuses every signal."""

    def __init__(self, target: PaperTarget, config: Path = Path("fleet.yaml")) -> None:
        super().__init__(target)
        self.config = config
        self.halted: list[Halt] = []
        self.done: list[tuple[Any, ...]] = []
        self.stubborn = False

    @property
    def halts(self) -> Sequence[Halt]:
        return tuple(self.halted)

    def kill(self, pod: str, child: str) -> Any:
        if self.stubborn:
            raise TargetFailed(f"{child} of {pod} ended by itself")
        return super().kill(pod, child)

    def start_twin(self, pod: str) -> str:
        self.start(f"{pod}-twin")
        return f"{pod}-twin"

    def twins(self) -> Sequence[tuple[str, str]]:
        return [(name.removesuffix("-twin"), name) for name in self.names() if name.endswith("-twin")]

    def start_with_clock(self, pod: str, *, rate: float = 1.0) -> None:
        self.start(pod)
        self.done.append(("clock", pod, rate))

    def step_clock(self, pod: str, *, boot_seconds: float = 0.0, wall_seconds: float = 0.0) -> None:
        self.done.append(("step", pod, boot_seconds, wall_seconds))

    def limit_files(self, pod: str, child: str, limit: int) -> None:
        self.done.append(("files", pod, child, limit))

    def limit_memory(self, pod: str, child: str, spare_mib: int) -> int:
        self.done.append(("memory", pod, child, spare_mib))
        return 500 + spare_mib

    def lift_limits(self) -> None:
        self.done.append(("lifted",))


class ShelfApi:
    """Objects by resource and name, of one namespace. log: what was asked for, but for reads."""

    def __init__(self) -> None:
        self.objects: dict[tuple[Resource, str], Object] = {}
        self.log: list[tuple[str, str]] = []

    def put(self, resource: Resource, name: str, body: Object) -> None:
        self.objects[resource, name] = {"metadata": {"name": name}, **body}

    def get(self, resource: Resource, namespace: str, name: str) -> Object:
        if (resource, name) not in self.objects:
            raise NotFound(404, "NotFound", f"{name} is not there")
        return copy.deepcopy(self.objects[resource, name])

    def list(self, resource: Resource, namespace: str = "", *, labels: str = "") -> list[Object]:
        return [copy.deepcopy(each) for (of, _), each in self.objects.items() if of == resource]

    def create(self, resource: Resource, namespace: str, body: Object) -> Object:
        self.log.append(("create", body["metadata"]["name"]))
        self.objects[resource, body["metadata"]["name"]] = copy.deepcopy(body)
        return body

    def patch(self, resource: Resource, namespace: str, name: str, patch: Object, *, subresource: str = "") -> Object:
        self.log.append(("patch", name))
        self.objects[resource, name] = merged(self.get(resource, namespace, name), patch)
        return self.objects[resource, name]

    def replace(self, resource: Resource, namespace: str, name: str, body: Object) -> Object:
        raise NotImplementedError

    def delete(self, resource: Resource, namespace: str, name: str) -> None:
        self.get(resource, namespace, name)
        self.log.append(("delete", name))
        del self.objects[resource, name]


def merged(found: Object, patch: Object) -> Object:
    """RFC 7386."""
    for field, value in patch.items():
        if value is None:
            found.pop(field, None)
        elif isinstance(value, dict):
            found[field] = merged(found.get(field, {}), value)
        else:
            found[field] = value
    return found


class OwnTarget(PaperTarget):
    """With Leases of its two members, of its three ranges and of its coordinator, and a map."""

    pods: OwnPaperPods
    api: ShelfApi  # type: ignore[assignment]

    def __init__(self, *, busy_seconds: float = 0.0) -> None:
        super().__init__(busy_seconds=busy_seconds)
        self.pods = OwnPaperPods(self)
        self.api = ShelfApi()
        for name in ("chaos-member-a-0", "chaos-coordinator", "chaos-shard-uidv1-0000000000000000-3fffffffffffffff"):
            self.api.put(LEASES, name, {"spec": {"holderIdentity": "a-0@4", "leaseTransitions": 4}})
        self.api.put(CONFIG_MAPS, "chaos-map", {"data": {"map.json": '{"version": 7, "targets": ["a-0"]}'}})
