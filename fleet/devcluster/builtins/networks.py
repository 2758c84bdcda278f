"""Defaults, allocations and refusals of Services and what else networks need (kubernetes/pkg/apis/core, networking).

Addresses and node ports are taken from an object's UID, not from a pool: two Services may get the same one, rarely.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from fleet.devcluster.builtins.findings import immutable, invalid, required, unsupported
from fleet.devcluster.builtins.ports import PORT_RANGE
from fleet.devcluster.builtins.rulebook import rule
from fleet.devcluster.causes import Cause
from shards.objects import Object

_TYPES: Final = ("ClusterIP", "ExternalName", "LoadBalancer", "NodePort")
_EXPOSED: Final = ("LoadBalancer", "NodePort")
_AFFINITY_SECONDS: Final = 10_800
_NODE_PORTS: Final = range(30_000, 32_768)
_ALLOCATED: Final = ("clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy", "healthCheckNodePort")


@rule.defaults("", "services")
def default_service(body: Object) -> None:
    spec = body["spec"]
    kind = spec.setdefault("type", "ClusterIP")
    if spec.setdefault("sessionAffinity", "None") == "ClientIP":
        client = spec.setdefault("sessionAffinityConfig", {}).setdefault("clientIP", {})
        client.setdefault("timeoutSeconds", _AFFINITY_SECONDS)
    for port in spec.get("ports") or ():
        port.setdefault("protocol", "TCP")
        if port.get("targetPort") in (None, 0, ""):
            port["targetPort"] = port.get("port", 0)
    if kind in _EXPOSED:
        spec.setdefault("externalTrafficPolicy", "Cluster")
    if kind != "ExternalName":
        spec.setdefault("internalTrafficPolicy", "Cluster")
    for address in body["status"]["loadBalancer"].get("ingress") or ():
        if kind == "LoadBalancer" and address.get("ip"):
            address.setdefault("ipMode", "VIP")
    if kind == "LoadBalancer":
        spec.setdefault("allocateLoadBalancerNodePorts", True)


@rule.creation("", "services")
def allocate(body: Object) -> None:
    spec = body["spec"]
    if spec["type"] == "ExternalName":
        return
    number = int(body["metadata"]["uid"].replace("-", ""), 16)
    if not spec.get("clusterIP"):
        given = (spec.get("clusterIPs") or [""])[0]
        spec["clusterIP"] = given or f"10.{96 + number % 16}.{number // 16 % 256}.{number // 4096 % 254 + 1}"
    spec.setdefault("clusterIPs", [spec["clusterIP"]])
    if spec["clusterIP"] == "None" and not spec.get("selector"):
        # Whoever writes the endpoints of such a Service may write those of both families.
        spec.setdefault("ipFamilies", ["IPv4", "IPv6"])
        spec.setdefault("ipFamilyPolicy", "RequireDualStack")
    spec.setdefault("ipFamilies", ["IPv6" if ":" in spec["clusterIP"] else "IPv4"])
    spec.setdefault("ipFamilyPolicy", "SingleStack")
    _allocate_node_ports(spec, number)


@rule.update("", "services")
def keep_allocations(body: Object, old: Object) -> None:
    """What a client leaves out of an update stays as it was allocated."""
    spec, was = body["spec"], old["spec"]
    _drop_what_the_type_had(spec, was)
    if spec["type"] == "ExternalName":
        return
    if was["type"] == "ExternalName":
        body["metadata"].setdefault("uid", old["metadata"]["uid"])
        allocate(body)
        return
    for name in _ALLOCATED:
        if not spec.get(name) and was.get(name):
            spec[name] = was[name]
    if spec["type"] in _EXPOSED:
        taken = {(each.get("port"), each.get("protocol")): each.get("nodePort") for each in was.get("ports") or ()}
        for port in spec.get("ports") or ():
            kept = taken.get((port.get("port"), port.get("protocol")))
            if kept and not port.get("nodePort"):
                port["nodePort"] = kept
        _allocate_node_ports(spec, int(old["metadata"]["uid"].replace("-", ""), 16))


def _drop_what_the_type_had(spec: Object, was: Object) -> None:
    """Fields of the former type go, unless the client changed them too (dropTypeDependentFields)."""
    gone: list[str] = []
    if spec["type"] == "ExternalName":
        gone += _ALLOCATED
        gone.append("internalTrafficPolicy")
    if was["type"] in _EXPOSED and spec["type"] not in _EXPOSED:
        gone.append("externalTrafficPolicy")
        if [each.get("nodePort") for each in spec.get("ports") or ()] == [
            each.get("nodePort") for each in was.get("ports") or ()
        ]:
            for port in spec.get("ports") or ():
                port.pop("nodePort", None)
    if was["type"] == "LoadBalancer" != spec["type"]:
        gone += ("allocateLoadBalancerNodePorts", "loadBalancerClass")
    for name in gone:
        if name in spec and spec[name] == was.get(name):
            del spec[name]


def _allocate_node_ports(spec: Object, number: int) -> None:
    if spec["type"] not in _EXPOSED or spec.get("allocateLoadBalancerNodePorts") is False:
        return
    for index, port in enumerate(spec.get("ports") or ()):
        if not port.get("nodePort"):
            port["nodePort"] = _NODE_PORTS[(number + index) % len(_NODE_PORTS)]


@rule.checks("", "services")
def service_causes(body: Object, old: Object | None) -> Iterator[Cause]:
    spec = body["spec"]
    kind = spec["type"]
    ports = spec.get("ports") or ()
    if not ports and kind != "ExternalName" and spec.get("clusterIP") != "None":
        yield required("spec.ports")
    for index, port in enumerate(ports):
        path = f"spec.ports[{index}]"
        if len(ports) > 1 and not port.get("name"):
            yield required(f"{path}.name")
        if not 1 <= port.get("port", 0) <= 65_535:
            yield invalid(f"{path}.port", port.get("port", 0), PORT_RANGE)
        target = port.get("targetPort")
        if isinstance(target, int) and not 1 <= target <= 65_535:
            yield invalid(f"{path}.targetPort", target, PORT_RANGE)
    if kind not in _TYPES:
        yield unsupported("spec.type", kind, _TYPES)
    if kind == "ExternalName" and not spec.get("externalName"):
        yield required("spec.externalName")
    if old is None or "ExternalName" in (kind, old["spec"]["type"]):
        return
    if spec.get("clusterIP") != old["spec"].get("clusterIP"):
        yield invalid("spec.clusterIPs[0]", [spec["clusterIP"]], "may not change once set")


@rule.defaults("networking.k8s.io", "networkpolicies")
def default_network_policy(body: Object) -> None:
    spec = body["spec"]
    if not spec.get("policyTypes"):
        spec["policyTypes"] = ["Ingress", *(["Egress"] if spec.get("egress") else [])]
    for direction in ("ingress", "egress"):
        for each in spec.get(direction) or ():
            for port in each.get("ports") or ():
                port.setdefault("protocol", "TCP")


@rule.defaults("discovery.k8s.io", "endpointslices")
def default_endpoint_slice(body: Object) -> None:
    for port in body.get("ports") or ():
        port.setdefault("name", "")
        port.setdefault("protocol", "TCP")


@rule.defaults("", "endpoints")
def default_endpoints(body: Object) -> None:
    for subset in body.get("subsets") or ():
        for port in subset.get("ports") or ():
            port.setdefault("protocol", "TCP")


@rule.checks("networking.k8s.io", "ingresses")
def ingress_causes(body: Object, old: Object | None) -> Iterator[Cause]:
    spec = body["spec"]
    if not spec.get("rules") and not spec.get("defaultBackend"):
        yield invalid("spec", None, "either `defaultBackend` or `rules` must be specified")
    for rule_index, each in enumerate(spec.get("rules") or ()):
        for index, path in enumerate((each.get("http") or {}).get("paths") or ()):
            where = f"spec.rules[{rule_index}].http.paths[{index}]"
            if not path.get("pathType"):
                yield required(f"{where}.pathType", "pathType must be specified")


@rule.checks("discovery.k8s.io", "endpointslices")
def endpoint_slice_causes(body: Object, old: Object | None) -> Iterator[Cause]:
    if not body.get("addressType"):
        yield required("addressType")
    elif old is not None and body["addressType"] != old["addressType"]:
        yield immutable("addressType", body["addressType"])
