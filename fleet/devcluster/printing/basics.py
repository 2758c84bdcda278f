"""Rows of the kinds that hold settings, rights, nodes, events and volumes. Pure. Source: the real server's printers."""

from __future__ import annotations

from fleet.devcluster.printing.durations import Ages
from fleet.devcluster.printing.phrases import (
    NONE,
    UNSET,
    access_modes_text,
    condition_status,
    created,
    name_of,
    storage_class_of,
    subjects_text,
)
from fleet.devcluster.printing.pods import Cells
from shards.objects import Object

_ROLE_PREFIX = "node-role.kubernetes.io/"
_ROLE_LABEL = "kubernetes.io/role"
_ZERO_TIME = "0001-01-01T00:00:00Z"


def name_and_age(obj: Object, ages: Ages) -> Cells:
    return [name_of(obj), ages.since(created(obj))]


def name_and_date(obj: Object, ages: Ages) -> Cells:
    return [name_of(obj), created(obj) or _ZERO_TIME]


def config_map(obj: Object, ages: Ages) -> Cells:
    return [name_of(obj), len(obj.get("data") or {}) + len(obj.get("binaryData") or {}), ages.since(created(obj))]


def secret(obj: Object, ages: Ages) -> Cells:
    return [name_of(obj), obj.get("type", ""), len(obj.get("data") or {}), ages.since(created(obj))]


def namespace(obj: Object, ages: Ages) -> Cells:
    return [name_of(obj), (obj.get("status") or {}).get("phase", ""), ages.since(created(obj))]


def lease(obj: Object, ages: Ages) -> Cells:
    return [name_of(obj), (obj.get("spec") or {}).get("holderIdentity") or "", ages.since(created(obj))]


def binding(obj: Object, ages: Ages) -> Cells:
    role = f"{obj['roleRef'].get('kind', '')}/{obj['roleRef'].get('name', '')}" if obj.get("roleRef") else "/"
    return [name_of(obj), role, ages.since(created(obj)), *subjects_text(obj)]


def node(obj: Object, ages: Ages) -> Cells:
    status = obj.get("status") or {}
    info = status.get("nodeInfo") or {}
    ready = condition_status(obj, "Ready")
    state = ["Unknown" if not ready else "Ready" if ready == "True" else "NotReady"]
    if (obj.get("spec") or {}).get("unschedulable"):
        state.append("SchedulingDisabled")
    kernel = info.get("kernelVersion") or "<unknown>"
    if info.get("architecture"):
        kernel += f" ({info['architecture']})"
    return [
        name_of(obj),
        ",".join(state),
        _roles(obj) or NONE,
        ages.since(created(obj)),
        info.get("kubeletVersion", ""),
        _address(obj, "InternalIP"),
        _address(obj, "ExternalIP"),
        info.get("osImage") or "<unknown>",
        kernel,
        info.get("containerRuntimeVersion") or "<unknown>",
    ]


def _roles(obj: Object) -> str:
    roles = set()
    for key, value in (obj["metadata"].get("labels") or {}).items():
        if key.startswith(_ROLE_PREFIX) and key != _ROLE_PREFIX:
            roles.add(key.removeprefix(_ROLE_PREFIX))
        elif key == _ROLE_LABEL and value:
            roles.add(value)
    return ",".join(sorted(roles))


def _address(obj: Object, kind: str) -> str:
    for each in (obj.get("status") or {}).get("addresses") or []:
        if each.get("type") == kind:
            return str(each.get("address", ""))
    return NONE


def event(obj: Object, ages: Ages) -> Cells:
    """Of both event APIs: events.k8s.io has the same fields under other names."""
    about = obj.get("involvedObject") or obj.get("regarding") or {}
    source, series = obj.get("source") or obj.get("deprecatedSource") or {}, obj.get("series")
    first = ages.since(obj.get("firstTimestamp") or obj.get("deprecatedFirstTimestamp") or obj.get("eventTime"))
    newest = obj.get("lastTimestamp") or obj.get("deprecatedLastTimestamp")
    last, count = ages.since(newest) if newest else first, obj.get("count") or obj.get("deprecatedCount") or 1
    if series:
        last, count = ages.since(series.get("lastObservedTime")), series.get("count") or 0
    kind = str(about.get("kind", "")).lower()
    component = source.get("component") or obj.get("reportingComponent") or obj.get("reportingController") or ""
    instance = source.get("host") or obj.get("reportingInstance") or ""
    return [
        last,
        obj.get("type", ""),
        obj.get("reason", ""),
        f"{kind}/{about['name']}" if about.get("name") else kind,
        about.get("fieldPath", ""),
        f"{component}, {instance}" if instance else component,
        str(obj.get("message") or obj.get("note") or "").strip(),
        first,
        count,
        name_of(obj),
    ]


def definition(obj: Object, ages: Ages) -> Cells:
    """Of a CustomResourceDefinition."""
    spec = obj.get("spec") or {}
    names = spec.get("names") or {}
    return [
        name_of(obj),
        spec.get("scope", ""),
        ",".join(sorted(_version_label(each) for each in spec.get("versions") or [] if each.get("served"))),
        created(obj) or _ZERO_TIME,
        spec.get("group", ""),
        names.get("kind", ""),
        ",".join(names.get("shortNames") or []),
        condition_status(obj, "Established") == "True",
    ]


def _version_label(version: Object) -> str:
    return f"{version['name']}(storage)" if version.get("storage") else str(version["name"])


def persistent_volume(obj: Object, ages: Ages) -> Cells:
    spec, status = obj.get("spec") or {}, obj.get("status") or {}
    claim = spec.get("claimRef")
    return [
        name_of(obj),
        (spec.get("capacity") or {}).get("storage", "0"),
        access_modes_text(spec.get("accessModes")),
        spec.get("persistentVolumeReclaimPolicy", ""),
        _phase(obj),
        f"{claim.get('namespace', '')}/{claim.get('name', '')}" if claim else "",
        storage_class_of(obj),
        spec.get("volumeAttributesClassName") or UNSET,
        status.get("reason", ""),
        ages.since(created(obj)),
        spec.get("volumeMode") or UNSET,
    ]


def persistent_volume_claim(obj: Object, ages: Ages) -> Cells:
    spec, status = obj.get("spec") or {}, obj.get("status") or {}
    volume = spec.get("volumeName") or ""
    return [
        name_of(obj),
        _phase(obj),
        volume,
        (status.get("capacity") or {}).get("storage", "0") if volume else "",
        access_modes_text(status.get("accessModes")) if volume else "",
        storage_class_of(obj),
        spec.get("volumeAttributesClassName") or UNSET,
        ages.since(created(obj)),
        spec.get("volumeMode") or UNSET,
    ]


def _phase(obj: Object) -> str:
    ending = obj["metadata"].get("deletionTimestamp")
    return "Terminating" if ending else str((obj.get("status") or {}).get("phase", ""))


def storage_class(obj: Object, ages: Ages) -> Cells:
    return [
        name_of(obj),
        obj.get("provisioner", ""),
        obj.get("reclaimPolicy") or "Delete",
        obj.get("volumeBindingMode") or "Immediate",
        bool(obj.get("allowVolumeExpansion")),
        ages.since(created(obj)),
    ]


def priority_class(obj: Object, ages: Ages) -> Cells:
    shown = (obj.get("value") or 0, bool(obj.get("globalDefault")), ages.since(created(obj)))
    return [name_of(obj), *shown, obj.get("preemptionPolicy") or ""]


def resource_quota(obj: Object, ages: Ages) -> Cells:
    status = obj.get("status") or {}
    used = status.get("used") or {}
    requests: list[str] = []
    limits: list[str] = []
    for name, hard in sorted((status.get("hard") or {}).items()):
        target = limits if name.startswith("limits.") else requests
        target.append(f"{name}: {used.get(name, '0')}/{hard}")
    return [name_of(obj), ", ".join(requests), ", ".join(limits), ages.since(created(obj))]


def webhooks(obj: Object, ages: Ages) -> Cells:
    return [name_of(obj), len(obj.get("webhooks") or []), ages.since(created(obj))]


def runtime_class(obj: Object, ages: Ages) -> Cells:
    return [name_of(obj), obj.get("handler", ""), ages.since(created(obj))]
