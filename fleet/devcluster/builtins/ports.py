"""What is wrong with the ports of containers (validateContainerPorts of core validation). Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

from fleet.devcluster.builtins.findings import invalid, required, shown, unsupported
from fleet.devcluster.causes import Cause
from shards.objects import Object

PORT_RANGE: Final = "must be between 1 and 65535, inclusive"
_NAME_LIMIT: Final = 15
_PROTOCOLS: Final = ("SCTP", "TCP", "UDP")


def port_causes(container: Object, path: str) -> Iterator[Cause]:
    """path: of the container."""
    names: set[str] = set()
    for index, port in enumerate(container.get("ports") or ()):
        where = f"{path}.ports[{index}]"
        name = port.get("name")
        faults = list(port_name_faults(name)) if name else []
        yield from (invalid(f"{where}.name", name, why) for why in faults)
        if name and not faults:
            if name in names:
                yield Cause("FieldValueDuplicate", f"Duplicate value: {shown(name)}", f"{where}.name")
            names.add(name)
        number, host_number = port.get("containerPort") or 0, port.get("hostPort") or 0
        if not number:
            yield required(f"{where}.containerPort")
        elif not _is_port(number):
            yield invalid(f"{where}.containerPort", number, PORT_RANGE)
        if host_number and not _is_port(host_number):
            yield invalid(f"{where}.hostPort", host_number, PORT_RANGE)
        protocol = port.get("protocol")
        if not protocol:
            yield required(f"{where}.protocol")
        elif protocol not in _PROTOCOLS:
            yield unsupported(f"{where}.protocol", protocol, _PROTOCOLS)


def port_name_faults(name: str) -> Iterator[str]:
    """IsValidPortName of apimachinery."""
    if len(name) > _NAME_LIMIT:
        yield f"must be no more than {_NAME_LIMIT} characters"
    if not re.fullmatch(r"[-a-z0-9]+", name):
        yield "must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)"
    if not re.search(r"[a-z]", name):
        yield "must contain at least one letter (a-z)"
    if "--" in name:
        yield "must not contain consecutive hyphens"
    if name[0] == "-" or name[-1] == "-":
        yield "must not begin or end with a hyphen"


def _is_port(number: Any) -> bool:
    return isinstance(number, int) and 1 <= number <= 65535
