from __future__ import annotations

import pytest

from fleet.devcluster.wire.requests import Request, Target, parse_query
from fleet.devcluster.wire.statuses import StatusError
from shards.objects import Resource


@pytest.mark.parametrize(
    ("raw", "pairs"),
    [
        ("", []),
        ("watch", [("watch", "")]),
        ("a=1&b=2&a=3", [("a", "1"), ("b", "2"), ("a", "3")]),
        ("&&a=1&", [("a", "1")]),
        ("a=x+y&b=x%20y&c=%2B", [("a", "x y"), ("b", "x y"), ("c", "+")]),
        ("a=1;b=2&c=3", [("c", "3")]),
        ("a=%zz&b=1&c=%4", [("b", "1")]),
        ("a=b=c", [("a", "b=c")]),
    ],
)
def test_a_query_is_read_as_go_does(raw: str, pairs: list[tuple[str, str]]) -> None:
    assert parse_query(raw) == pairs


@pytest.mark.parametrize(
    ("agent", "manager"),
    [
        ("kubectl/v1.37.0 (linux)", "kubectl"),
        ("plain", "plain"),
        ("", ""),
        ("a\u0007b/1", "ab"),
        ("é" * 100, "é" * 64),
        ("x" * 200, "x" * 128),
    ],
)
def test_a_write_without_a_manager_is_its_user_agent_s(agent: str, manager: str) -> None:
    assert Request("POST", "/", (), None, {"user-agent": agent}).field_manager == manager


def test_the_parameter_names_the_manager() -> None:
    assert Request("POST", "/", [("fieldManager", "me")], None, {"user-agent": "x/1"}).field_manager == "me"


def test_field_validation_warns_unless_told_otherwise() -> None:
    assert Request("POST", "/").field_validation == "Warn"
    assert Request("POST", "/", [("fieldValidation", "Strict")]).field_validation == "Strict"
    with pytest.raises(StatusError, match="422"):
        _ = Request("POST", "/", [("fieldValidation", "Loud")]).field_validation


@pytest.mark.parametrize(
    ("path", "target"),
    [
        ("/api/v1/namespaces/a/pods/b/log", Target(Resource("", "v1", "pods"), "a", "b", "log")),
        ("/api/v1/namespaces/a", Target(Resource("", "v1", "namespaces"), "", "a")),
        ("/api/v1/namespaces/a/finalize", Target(Resource("", "v1", "namespaces"), "", "a", "finalize")),
        ("/api/v1/namespaces/a/pods/b", Target(Resource("", "v1", "pods"), "a", "b")),
        ("/api/v1/namespaces/a/pods", Target(Resource("", "v1", "pods"), "a")),
        ("/api/v1/namespaces/a/pods/", Target(Resource("", "v1", "pods"), "a")),
        ("/api/v1/namespaces/a/pods//log", Target(Resource("", "v1", "pods"), "a", "", "log")),
        ("/api/v1/namespaces/a/pods/b/log/c", None),
        ("/api/v1/namespaces/a/status/b", Target(Resource("", "v1", "status"), "a", "b")),
        ("/apis/apps/v1/namespaces/a/deployments/b", Target(Resource("apps", "v1", "deployments"), "a", "b")),
        ("/apis/apps/v1/deployments", Target(Resource("apps", "v1", "deployments"))),
        ("/apis/apps/v1", None),
        ("/healthz", None),
    ],
)
def test_a_path_names_an_object_a_collection_or_neither(path: str, target: Target | None) -> None:
    assert Target.parse(path) == target


@pytest.mark.parametrize("values", [("",), ("x",), ("All", "x"), ("", "All")])
def test_every_value_of_a_dry_run_must_be_all(values: tuple[str, ...]) -> None:
    assert Request("POST", "/", [("dryRun", "All"), ("dryRun", "All")]).dry_run
    assert not Request("POST", "/").dry_run
    with pytest.raises(StatusError, match=r"Unsupported value: .*: supported values"):
        _ = Request("POST", "/", [("dryRun", value) for value in values]).dry_run
