from __future__ import annotations

from typing import Any

import msgspec
import pytest

from fleet.devcluster.changes.deleteoptions import DeleteOptions, delete_options
from fleet.devcluster.changes.deletion import finalizers_after
from fleet.devcluster.kinds.resources import Registry
from fleet.devcluster.wire.requests import Request
from fleet.devcluster.wire.statuses import StatusError
from shards.objects import Resource


def asked(body: Any = None, *query: tuple[str, str], content_type: str = "application/json") -> Request:
    raw = None if body is None else body if isinstance(body, bytes) else msgspec.json.encode(body)
    return Request("DELETE", "/", query, raw, {"content-type": content_type})


def test_a_body_makes_the_server_ignore_the_query() -> None:
    query = (("dryRun", "All"), ("propagationPolicy", "Orphan"))
    assert delete_options(asked({}, *query)) == (DeleteOptions(), False)
    assert delete_options(asked(None, *query)) == (DeleteOptions(propagation_policy="Orphan", dry_run=["All"]), True)


def test_options_may_be_yaml() -> None:
    found, _ = delete_options(asked(b"gracePeriodSeconds: 5\n", content_type="application/yaml"))
    assert found.grace_period_seconds == 5


@pytest.mark.parametrize(
    ("body", "code", "message"),
    [
        (b"{", 400, "couldn't get version/kind; json parse error: unexpected end of JSON input"),
        ({"kind": "Other"}, 400, 'no kind "Other" is registered for version "meta.k8s.io/v1"'),
        ({"dryRun": "All"}, 400, "json: cannot unmarshal string into Go struct field DeleteOptions.dryRun"),
        ({"dryRun": ["Some"]}, 422, 'DeleteOptions.meta.k8s.io "" is invalid: dryRun: Unsupported value'),
        (
            {"propagationPolicy": "Other"},
            422,
            'DeleteOptions.meta.k8s.io "" is invalid: propagationPolicy: Unsupported',
        ),
        ({"propagationPolicy": "Orphan", "orphanDependents": True}, 422, 'DeleteOptions.meta.k8s.io "" is invalid'),
    ],
)
def test_options_that_make_no_sense_are_refused(body: Any, code: int, message: str) -> None:
    with pytest.raises(StatusError) as refused:
        delete_options(asked(body))
    assert refused.value.code == code
    assert refused.value.message.startswith(message)


@pytest.mark.parametrize(
    ("present", "options", "after"),
    [
        (["x"], DeleteOptions(), ["x"]),
        (["x"], DeleteOptions(propagation_policy="Foreground"), ["x", "foregroundDeletion"]),
        (["x", "orphan"], DeleteOptions(propagation_policy="Background"), ["x"]),
        (["x", "orphan"], DeleteOptions(), ["x", "orphan"]),
        ([], DeleteOptions(orphan_dependents=True), ["orphan"]),
        (["orphan"], DeleteOptions(orphan_dependents=False), []),
    ],
)
def test_the_policy_decides_which_finalizers_hold_the_object(
    present: list[str], options: DeleteOptions, after: list[str]
) -> None:
    kind = Registry().get(Resource("", "v1", "configmaps"))
    assert kind is not None
    assert finalizers_after(kind, {"finalizers": present}, options) == after


def test_jobs_leave_their_pods_alone_unless_asked_to_take_them_along() -> None:
    kind = Registry().get(Resource("batch", "v1", "jobs"))
    assert kind is not None
    assert finalizers_after(kind, {}, DeleteOptions()) == ["orphan"]
    assert finalizers_after(kind, {}, DeleteOptions(propagation_policy="Background")) == []
