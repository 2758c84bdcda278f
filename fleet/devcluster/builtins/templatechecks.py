"""What is wrong with containers and pod specs, as far as clients get that wrong. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from fleet.devcluster.builtins.findings import invalid, required, shown, unsupported
from fleet.devcluster.builtins.ports import port_causes
from fleet.devcluster.causes import Cause
from fleet.devcluster.schemas.names import label_faults
from shards.objects import Object

_POLICIES: Final = ("Always", "OnFailure", "Never")


def container_causes(spec: Object, path: str) -> Iterator[Cause]:
    """path: of the pod spec. Names, images and the volumes that containers mount."""
    if not spec.get("containers"):
        yield required(f"{path}.containers")
    volumes = {each.get("name") for each in spec.get("volumes") or ()}
    seen: set[str] = set()
    for field in ("containers", "initContainers"):
        for index, container in enumerate(spec.get(field) or ()):
            where = f"{path}.{field}[{index}]"
            name = container.get("name")
            if not name:
                yield required(f"{where}.name")
            elif faults := label_faults(name):
                yield from (invalid(f"{where}.name", name, why) for why in faults)
            elif name in seen:
                yield Cause("FieldValueDuplicate", f"Duplicate value: {shown(name)}", f"{where}.name")
            seen.add(name)
            if not container.get("image"):
                yield required(f"{where}.image")
            yield from port_causes(container, where)
            for at, mount in enumerate(container.get("volumeMounts") or ()):
                if mount.get("name") not in volumes:
                    message = f"Not found: {shown(mount.get('name'))}"
                    yield Cause("FieldValueNotFound", message, f"{where}.volumeMounts[{at}].name")


def restart_causes(spec: Object, path: str, allowed: Sequence[str] = _POLICIES) -> Iterator[Cause]:
    """allowed: of these pods; a word that no pod may have is refused as such first."""
    policy = spec.get("restartPolicy")
    if policy not in _POLICIES:
        yield unsupported(f"{path}.restartPolicy", policy, _POLICIES)
    if policy not in allowed and allowed is not _POLICIES:
        yield unsupported(f"{path}.restartPolicy", policy, allowed)


def label_causes(selector: Object, template: Object, path: str) -> Iterator[Cause]:
    """A template whose pods its selector would not find. selector: a LabelSelector; without its expressions."""
    labels = (template.get("metadata") or {}).get("labels") or {}
    if any(labels.get(name) != value for name, value in (selector.get("matchLabels") or {}).items()):
        yield unmatched(labels, path)


def unmatched(labels: Object, path: str) -> Cause:
    why = "`selector` does not match template `labels`"
    message = f"Invalid value: {shown(labels or None)}: {why}"
    return Cause("FieldValueInvalid", message, f"{path}.metadata.labels")
