"""Rows of services and of what leads to them. Pure. Source: the real server's printers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fleet.devcluster.printing.durations import Ages
from fleet.devcluster.printing.phrases import (
    NONE,
    created,
    first_few,
    labels_text,
    load_balancer_text,
    name_of,
    selector_text,
)
from fleet.devcluster.printing.pods import Cells
from shards.objects import Object

_SHOWN = 3
_DEFAULT_CLASS = "ingressclass.kubernetes.io/is-default-class"


def service(obj: Object, ages: Ages) -> Cells:
    spec = obj.get("spec") or {}
    addresses = spec.get("clusterIPs") or [NONE]
    ports = ",".join(_port(each) for each in spec.get("ports") or []) or NONE
    return [
        name_of(obj),
        spec.get("type", ""),
        addresses[0],
        _external(obj, spec),
        ports,
        ages.since(created(obj)),
        labels_text(spec.get("selector")),
    ]


def _port(port: Mapping[str, Any]) -> str:
    number = f"{port['port']}:{port['nodePort']}" if port.get("nodePort") else str(port["port"])
    return f"{number}/{port.get('protocol', '')}"


def _external(obj: Object, spec: Mapping[str, Any]) -> str:
    given = ",".join(spec.get("externalIPs") or [])
    kind = spec.get("type")
    if kind in ("ClusterIP", "NodePort"):
        return given or NONE
    if kind == "LoadBalancer":
        balanced = load_balancer_text(obj)
        return ",".join(each for each in (balanced, given) if each) or "<pending>"
    return str(spec.get("externalName", "")) if kind == "ExternalName" else "<unknown>"


def ingress(obj: Object, ages: Ages) -> Cells:
    spec = obj.get("spec") or {}
    ports = "80, 443" if spec.get("tls") else "80"
    hosts, address = _hosts(spec.get("rules") or []), load_balancer_text(obj)
    return [name_of(obj), spec.get("ingressClassName") or NONE, hosts, address, ports, ages.since(created(obj))]


def _hosts(rules: list[Mapping[str, Any]]) -> str:
    hosts: list[str] = []
    more = False
    for rule in rules:
        more = more or len(hosts) == _SHOWN
        if not more and rule.get("host"):
            hosts.append(rule["host"])
    if not hosts:
        return "*"
    return ",".join(hosts) + (f" + {len(rules) - _SHOWN} more..." if more else "")


def ingress_class(obj: Object, ages: Ages) -> Cells:
    spec, annotations = obj.get("spec") or {}, obj["metadata"].get("annotations") or {}
    name = name_of(obj) + (" (default)" if annotations.get(_DEFAULT_CLASS) == "true" else "")
    parameters = NONE
    if spec.get("parameters"):
        given = spec["parameters"]
        group = f".{given['apiGroup']}" if given.get("apiGroup") else ""
        parameters = f"{given['kind']}{group}/{given['name']}"
    return [name, spec.get("controller", ""), parameters, ages.since(created(obj))]


def network_policy(obj: Object, ages: Ages) -> Cells:
    selector = selector_text((obj.get("spec") or {}).get("podSelector")) or NONE
    return [name_of(obj), selector, ages.since(created(obj))]


def endpoints(obj: Object, ages: Ages) -> Cells:
    found: list[str] = []
    for subset in obj.get("subsets") or []:
        addresses = [each["ip"] for each in subset.get("addresses") or []]
        ports = subset.get("ports") or []
        if not ports:
            found += addresses
        for port in ports:
            found += [_host_port(address, port["port"]) for address in addresses]
    if not obj.get("subsets"):
        return [name_of(obj), NONE, ages.since(created(obj))]
    shown = ",".join(found[:_SHOWN]) + (f" + {len(found) - _SHOWN} more..." if len(found) > _SHOWN else "")
    return [name_of(obj), shown, ages.since(created(obj))]


def _host_port(address: str, port: int) -> str:
    return f"[{address}]:{port}" if ":" in address else f"{address}:{port}"


def endpoint_slice(obj: Object, ages: Ages) -> Cells:
    ports = [str(each.get("port") or each.get("name") or "*") for each in obj.get("ports") or []]
    addresses = [address for each in obj.get("endpoints") or [] for address in each.get("addresses") or []]
    kind = obj.get("addressType", "")
    return [name_of(obj), kind, first_few(ports), first_few(addresses), ages.since(created(obj))]
