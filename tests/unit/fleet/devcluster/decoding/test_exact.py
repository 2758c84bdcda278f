"""A body that decodes at once is one that a careful reading would neither change nor complain of."""

from __future__ import annotations

import pytest

from fleet.devcluster.decoding.bodies import exact_of, read, type_of
from fleet.devcluster.decoding.gotypes import Findings
from fleet.devcluster.kinds.resources import BUILT_IN, LEASES, ResourceType
from fleet.devcluster.wire.statuses import StatusError


def kind_of(name: str) -> ResourceType:
    return next(each for each in BUILT_IN if each.kind == name)


CONFIG_MAPS, PODS, SECRETS, ROLES = (kind_of(each) for each in ("ConfigMap", "Pod", "Secret", "Role"))


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        (CONFIG_MAPS, '{"data":{"x":"1"},"metadata":{"name":"a","labels":{"b":"c"}},"immutable":true}'),
        (CONFIG_MAPS, '{"data":{"quote":"\\"","more":"\\u0041"}}'),
        (PODS, '{"spec":{"containers":[{"name":"c","resources":{"limits":{"cpu":"100m","memory":"1.5Gi"}}}]}}'),
        (PODS, '{"spec":{"containers":[{"ports":[{"containerPort":80}],"livenessProbe":{"httpGet":{"port":"h"}}}]}}'),
        (SECRETS, '{"data":{"a":"","b":"Zg==","c":"Zm8=","d":"Zm9v"}}'),
        (LEASES, '{"spec":{"leaseDurationSeconds":15,"renewTime":"2026-01-01T00:00:00.000000Z"}}'),
        (ROLES, '{"metadata":{"creationTimestamp":"2026-01-01T00:00:00Z"},"rules":[{"verbs":["get"]}]}'),
    ],
)
def test_a_body_as_it_should_be_decodes_at_once(kind: ResourceType, text: str) -> None:
    body = exact_of(kind).decode(text.encode())
    assert body is not None
    found = Findings()
    assert type_of(kind).read(dict(body), found) == body
    assert (found.mismatch, found.strict) == ("", [])


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        (CONFIG_MAPS, "{"),
        (CONFIG_MAPS, "null"),
        (CONFIG_MAPS, "[]"),
        (CONFIG_MAPS, '{"data":{"x":1}}'),
        (CONFIG_MAPS, '{"data":{"x":null}}'),
        (CONFIG_MAPS, '{"data":null}'),
        (CONFIG_MAPS, '{"other":1}'),
        (CONFIG_MAPS, '{"metadata":{"other":{}}}'),
        (CONFIG_MAPS, '{"data":{"x":"1","x":"1"}}'),
        (CONFIG_MAPS, '{"other":1,"data":{"x":"\\u0022\\u0022"}}'),
        (PODS, '{"spec":{"containers":[{"ports":[{"containerPort":1.0}]}]}}'),
        (PODS, '{"spec":{"containers":[{"ports":[{"containerPort":2147483648}]}]}}'),
        (PODS, '{"spec":{"activeDeadlineSeconds":9223372036854775808}}'),
        (PODS, '{"spec":{"containers":[{"resources":{"limits":{"cpu":"100x"}}}]}}'),
        (SECRETS, '{"data":{"a":"Zg"}}'),
        (SECRETS, '{"data":{"a":"Zg==\\n"}}'),
        (LEASES, '{"spec":{"renewTime":"2026-01-01T00:00:00Z"}}'),
        (LEASES, '{"spec":{"renewTime":"2026-01-01T00:00:00.000000Z\\n"}}'),
    ],
)
def test_a_body_to_look_at_does_not(kind: ResourceType, text: str) -> None:
    assert exact_of(kind).decode(text.encode()) is None


def test_every_built_in_kind_has_such_a_type() -> None:
    assert all(exact_of(each).decode(b'{"metadata":{"name":"a"}}') is not None for each in BUILT_IN)


@pytest.mark.parametrize("lost", ['"other":1', '"data":{"x":"1"}'])
def test_escaped_quotes_do_not_hide_a_field_that_is_lost(lost: str) -> None:
    escapes = "\\u0022" * lost.count('"')
    text = f'{{"data":{{"x":"1"}},{lost},"metadata":{{"name":"{escapes}"}}}}'
    with pytest.raises(StatusError, match="strict decoding error"):
        read(CONFIG_MAPS, text.encode(), validation="Strict")
