"""What the server remarks on pods and templates that it accepts. Pure. Source: pkg/api/pod/warnings.go of Kubernetes.

Duplicates and what comes to nothing; not deprecated volumes, annotations and node labels, nor overlapping paths.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from shards.objects import Object

TEMPLATES: Final[Mapping[str, tuple[str, ...]]] = {
    "pods": (),
    "podtemplates": ("template",),
    "replicationcontrollers": ("spec", "template"),
    "deployments": ("spec", "template"),
    "replicasets": ("spec", "template"),
    "statefulsets": ("spec", "template"),
    "daemonsets": ("spec", "template"),
    "jobs": ("spec", "template"),
    "cronjobs": ("spec", "jobTemplate", "spec", "template"),
}
"""Where the pod is, by plural of the resource."""

_CONTAINERS: Final = ("initContainers", "containers", "ephemeralContainers")


def is_looked_at(plural: str, generation: int, old_generation: int | None) -> bool:
    """Whether there may be a remark. old_generation: of what an update replaced, None of a creation.

    Of a pod only its creation is remarked on, of others each new generation.
    """
    if plural not in TEMPLATES or old_generation is None:
        return plural in TEMPLATES
    return plural != "pods" and generation != old_generation


def pod_warnings(plural: str, body: Object) -> Iterator[str]:
    """Of an object that is looked at."""
    template: Any = body
    for name in TEMPLATES[plural]:
        template = template.get(name) or {}
    spec = template.get("spec") or {}
    path = ".".join((*TEMPLATES[plural], "spec"))
    yield from _repeated(spec, f"{path}.hostAliases", "hostAliases", "ip")
    yield from _repeated(spec, f"{path}.imagePullSecrets", "imagePullSecrets", "name")
    for index, secret in enumerate(spec.get("imagePullSecrets") or ()):
        if not secret.get("name"):
            yield f'{path}.imagePullSecrets[{index}].name: invalid empty name ""'
    containers = list(_containers(spec, path))
    for where, container in containers:
        yield from _hidden_variables(where, container)
    yield from _ports(containers)
    if (spec.get("terminationGracePeriodSeconds") or 0) < 0:
        why = "must be >= 0; negative values are invalid and will be treated as 1"
        yield f"{path}.terminationGracePeriodSeconds: {why}"


def _containers(spec: Object, path: str) -> Iterator[tuple[str, Object]]:
    for name in _CONTAINERS:
        for index, container in enumerate(spec.get(name) or ()):
            yield f"{path}.{name}[{index}]", container


def _repeated(spec: Object, path: str, name: str, key: str) -> Iterator[str]:
    seen = set()
    for index, item in enumerate(spec.get(name) or ()):
        value = item.get(key, "")
        if value in seen:
            yield f'{path}[{index}].{key}: duplicate {key} "{value}"'
        seen.add(value)


def _hidden_variables(where: str, container: Object) -> Iterator[str]:
    """Variables that are set again without using their former value."""
    seen = set()
    for index, variable in enumerate(container.get("env") or ()):
        name, value = variable["name"], variable.get("value", "")
        reference = f"$({name})"
        keeps = reference in value and value != reference and "valueFrom" not in variable
        if name in seen and not keeps:
            yield f'{where}.env[{index}]: hides previous definition of "{name}", which may be dropped when using apply'
        seen.add(name)


def _ports(containers: list[tuple[str, Object]]) -> Iterator[str]:
    numbers: dict[tuple[int, str], list[tuple[str, Object]]] = {}
    ports = [
        (f"{where}.ports[{index}]", port)
        for where, container in containers
        for index, port in enumerate(container.get("ports") or ())
    ]
    for where, port in ports:
        others = numbers.setdefault((port["containerPort"], port.get("protocol", "TCP")), [])
        for other_where, other in others:
            clash = _clash(port, other)
            if clash:
                yield f"{where}: {clash} port definition with {other_where}"
        others.append((where, port))
    names: dict[str, str] = {}
    for where, port in ports:
        name = port.get("name")
        if name in names:
            first = names[name]
            what = f'duplicate port name "{name}" with {first}'
            yield f"{where}: {what}, services and probes that select ports by name will use {first}"
        elif name:
            names[name] = where


def _clash(one: Object, other: Object) -> str:
    """How two definitions of one port are at odds; "" where they are not."""
    ips, ports = [each.get("hostIP", "") for each in (one, other)], [each.get("hostPort", 0) for each in (one, other)]
    if ips[0] == ips[1] and ports[0] == ports[1]:
        return "duplicate"
    if not all(ports):
        return "overlapping"
    return "dangerously ambiguous" if ports[0] == ports[1] and not all(ips) else ""
