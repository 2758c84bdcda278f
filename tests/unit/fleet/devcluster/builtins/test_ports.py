from __future__ import annotations

from typing import Any

import pytest

from fleet.devcluster.builtins.ports import port_causes


@pytest.mark.parametrize(
    ("port", "found"),
    [
        ({"containerPort": 80, "protocol": "TCP", "name": "web"}, []),
        ({"protocol": "TCP"}, ["c.ports[0].containerPort: Required value"]),
        (
            {"containerPort": 65536, "protocol": "TCP"},
            ["c.ports[0].containerPort: Invalid value: 65536: must be between"],
        ),
        ({"containerPort": 80}, ["c.ports[0].protocol: Required value"]),
        ({"containerPort": 80, "protocol": "X"}, ["c.ports[0].protocol: Unsupported value"]),
        ({"containerPort": 80, "hostPort": -1, "protocol": "UDP"}, ["c.ports[0].hostPort: Invalid value: -1"]),
        ({"containerPort": 80, "protocol": "TCP", "name": "-"}, ["c.ports[0].name", "c.ports[0].name"]),
    ],
)
def test_a_port_has_a_number_a_protocol_and_a_plain_name(port: dict[str, Any], found: list[str]) -> None:
    causes = [f"{cause.field}: {cause.message}" for cause in port_causes({"ports": [port]}, "c")]
    assert len(causes) == len(found)
    assert all(cause.startswith(start) for cause, start in zip(causes, found, strict=True))


def test_two_ports_cannot_have_one_name() -> None:
    ports = [{"containerPort": number, "protocol": "TCP", "name": "web"} for number in (80, 81)]
    assert [cause.field for cause in port_causes({"ports": ports}, "c")] == ["c.ports[1].name"]
