"""Small texts that several tables share. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from shards.objects import Object

NONE = "<none>"
UNSET = "<unset>"
_ACCESS_MODES = (
    ("ReadWriteOnce", "RWO"),
    ("ReadOnlyMany", "ROX"),
    ("ReadWriteMany", "RWX"),
    ("ReadWriteOncePod", "RWOP"),
)
_STORAGE_CLASS = "volume.beta.kubernetes.io/storage-class"
_SHOWN = 3


def name_of(obj: Object) -> str:
    return str(obj["metadata"].get("name", ""))


def created(obj: Object) -> str:
    """RFC 3339, "" for an object that is none, such as that of a bookmark."""
    return str(obj["metadata"].get("creationTimestamp") or "")


def labels_text(labels: Mapping[str, str] | None) -> str:
    return ",".join(f"{key}={value}" for key, value in sorted((labels or {}).items())) or NONE


def selector_text(selector: Mapping[str, Any] | None) -> str:
    """A LabelSelector in the syntax of a query, "" where it selects everything or nothing."""
    chosen = selector or {}
    terms = [(key, f"{key}={value}") for key, value in (chosen.get("matchLabels") or {}).items()]
    for each in chosen.get("matchExpressions") or []:
        key, values = each["key"], ",".join(sorted(each.get("values") or []))
        text = {
            "In": f"{key} in ({values})",
            "NotIn": f"{key} notin ({values})",
            "Exists": key,
            "DoesNotExist": f"!{key}",
        }
        terms.append((key, text[each["operator"]]))
    return ",".join(text for _, text in sorted(terms, key=lambda term: term[0]))


def containers_text(template: Mapping[str, Any] | None) -> tuple[str, str]:
    """Names and images of a pod template's containers."""
    containers = ((template or {}).get("spec") or {}).get("containers") or []
    return (
        ",".join(each.get("name", "") for each in containers),
        ",".join(each.get("image", "") for each in containers),
    )


def first_few(items: Iterable[str]) -> str:
    """Three items and how many more there are."""
    texts = list(items)
    shown = ",".join(texts[:_SHOWN])
    return f"{shown} + {len(texts) - _SHOWN} more..." if len(texts) > _SHOWN else shown or UNSET


def access_modes_text(modes: Iterable[str] | None) -> str:
    given = set(modes or ())
    return ",".join(short for name, short in _ACCESS_MODES if name in given)


def storage_class_of(obj: Object) -> str:
    annotations = obj["metadata"].get("annotations") or {}
    return str(annotations.get(_STORAGE_CLASS) or (obj.get("spec") or {}).get("storageClassName") or "")


def load_balancer_text(obj: Object) -> str:
    """Addresses of a load balancer."""
    ingress = ((obj.get("status") or {}).get("loadBalancer") or {}).get("ingress") or []
    return ",".join(sorted({each.get("ip") or each.get("hostname") or "" for each in ingress} - {""}))


def condition_status(obj: Object, kind: str) -> str:
    """ "True", "False" or "Unknown"; "" where there is no such condition."""
    for each in (obj.get("status") or {}).get("conditions") or []:
        if each.get("type") == kind:
            return str(each.get("status", ""))
    return ""


def subjects_text(obj: Object) -> tuple[str, str, str]:
    """Users, groups and service accounts of a binding."""
    subjects = obj.get("subjects") or []
    named = [[each["name"] for each in subjects if each.get("kind") == kind] for kind in ("User", "Group")]
    accounts = [f"{each.get('namespace', '')}/{each['name']}" for each in subjects if each["kind"] == "ServiceAccount"]
    return ", ".join(named[0]), ", ".join(named[1]), ", ".join(accounts)
