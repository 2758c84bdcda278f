from __future__ import annotations

import socket
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, closing
from typing import Any

import msgspec
import pytest

from fleet.devcluster.doors.inprocess import InProcessTransport
from fleet.devcluster.kinds.resources import CUSTOM_RESOURCE_DEFINITIONS
from fleet.devcluster.server import ApiServer
from fleet.pod.preflight import Need, PreflightFailed, check_port, check_server, needs
from fleet.records.object_names import Names
from shards.api.client import Client, Transport
from shards.authoring.controller import Controller
from shards.errors import ConfigError, Unreachable, Untrusted, api_error
from shards.keyrange import PartitionKey
from shards.objects import Resource
from shards.settings import ScopeSettings

NAMES = Names("web", "fleets")
WIDGETS = Controller("widgets", primary="example.com/v1/widgets").owns("v1/configmaps")
NODES = Controller("nodes", primary="example.com/v1/machines")
CORE = {"configmaps": True, "pods": True}

EVERYWHERE = ScopeSettings()


def scope(*namespaces: str, watch_each: bool = False) -> ScopeSettings:
    return ScopeSettings(namespaces, watch_each=watch_each)


class ScriptedTransport(Transport):
    """Answers discovery with `served` (plural -> namespaced); reviews with `allows`; or raises `error`."""

    def __init__(
        self,
        served: dict[str, bool] | None = None,
        allows: Callable[[dict[str, Any]], bool] = lambda attributes: True,
        error: Exception | None = None,
    ) -> None:
        self.served = {"widgets": True, "machines": False, **CORE} if served is None else served
        self.allows = allows
        self.error = error

    async def request(self, method: str, path: str, **options: Any) -> bytes:
        if self.error is not None:
            raise self.error
        if method == "GET":
            entries = [{"name": name, "namespaced": namespaced} for name, namespaced in self.served.items()]
            return msgspec.json.encode({"resources": entries})
        attributes = msgspec.json.decode(options["body"])["spec"]["resourceAttributes"]
        return msgspec.json.encode({"status": {"allowed": self.allows(attributes)}})

    def stream(self, path: str, **options: Any) -> AbstractAsyncContextManager[Any]:
        raise AssertionError("no check watches")

    async def close(self) -> None: ...


async def check(
    transport: Transport,
    *controllers: Controller,
    partition_by: PartitionKey = PartitionKey.UID,
    scope: ScopeSettings = EVERYWHERE,
) -> None:
    await check_server(
        Client(transport),
        "https://api:6443",
        controllers or (WIDGETS,),
        partition_by=partition_by,
        scope=scope,
        names=NAMES,
    )


async def refusal(transport: Transport) -> str:
    with pytest.raises(PreflightFailed) as caught:
        await check(transport)
    return str(caught.value)


async def test_a_server_with_everything_passes() -> None:
    await check(ScriptedTransport(), WIDGETS, NODES)


async def test_a_missing_crd_is_named() -> None:
    assert await refusal(ScriptedTransport(served=CORE)) == (
        "https://api:6443 does not serve example.com/v1/widgets; install its CustomResourceDefinition first"
        " (kubectl apply -f ...), and check group, version and plural"
    )


async def test_the_embedded_server_is_checked_alike() -> None:
    server = ApiServer()
    assert "does not serve example.com/v1/widgets" in await refusal(InProcessTransport(server))
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    server.seed(
        CUSTOM_RESOURCE_DEFINITIONS.resource,
        {
            "metadata": {"name": "widgets.example.com"},
            "spec": {
                "group": "example.com",
                "names": {"kind": "Widget", "plural": "widgets"},
                "scope": "Namespaced",
                "versions": [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}],
            },
        },
    )
    await check(InProcessTransport(server))


async def test_missing_permissions_are_listed_once_and_together() -> None:
    def allows(attributes: dict[str, Any]) -> bool:
        return attributes["resource"] != "leases" or attributes["verb"] in ("get", "list", "watch")

    assert await refusal(ScriptedTransport(allows=allows)) == (
        "no permission to create, update, delete coordination.k8s.io/v1/leases in namespace fleets:"
        " grant it with a Role or ClusterRole (deploy/base/rbac.yaml has an example)"
    )


async def test_map_and_quarantine_may_be_granted_by_their_names() -> None:
    def allows(attributes: dict[str, Any]) -> bool:
        named = attributes["name"] in ("web-map", "web-quarantine")
        return attributes["namespace"] != "fleets" or named or attributes["verb"] not in ("get", "update")

    sentence = await refusal(ScriptedTransport(allows=allows))
    assert "configmaps" not in sentence
    assert "update coordination.k8s.io/v1/leases" in sentence


async def test_a_status_that_may_not_be_written_is_named_as_a_subresource() -> None:
    sentence = await refusal(ScriptedTransport(allows=lambda attributes: attributes["subresource"] != "status"))
    assert "no permission to update, patch example.com/v1/widgets/status in all namespaces" in sentence


FAILURES = {
    "no answer": (
        Unreachable("connection refused"),
        "the API server https://api:6443 cannot be reached (connection refused);"
        " is it running, and is the kubeconfig's server right?",
    ),
    "a stranger's certificate": (
        Untrusted("self-signed certificate"),
        "the certificate of https://api:6443 is not signed by the configured authority (self-signed certificate);"
        " set certificate-authority in the kubeconfig to the authority of that server",
    ),
    "refused credentials": (
        api_error(401, "Unauthorized"),
        "https://api:6443 does not accept the credentials;"
        " renew those in the kubeconfig or the service account's token",
    ),
    "no permission for the checks": (
        api_error(403, "Forbidden", "may not read anything"),
        "no permission on https://api:6443: may not read anything; grant it with a Role or ClusterRole",
    ),
    "a broken server": (
        api_error(500, "InternalError", "etcd is gone"),
        "https://api:6443 answered with an error: 500 InternalError: etcd is gone",
    ),
}


@pytest.mark.parametrize(("error", "sentence"), FAILURES.values(), ids=FAILURES)
async def test_what_is_wrong_with_the_server_is_one_sentence(error: Exception, sentence: str) -> None:
    assert await refusal(ScriptedTransport(error=error)) == sentence


async def test_cluster_scoped_primaries_cannot_be_partitioned_by_namespace() -> None:
    await check(ScriptedTransport(), WIDGETS, partition_by=PartitionKey.NAMESPACE)
    with pytest.raises(ConfigError, match=r"^shards.partitionBy: namespace divides no cluster-scoped objects"):
        await check(ScriptedTransport(), NODES, partition_by=PartitionKey.NAMESPACE)


def test_needs_follow_the_scope() -> None:
    watching = Controller("watching", primary="example.com/v1/widgets").watches("v1/secrets", map=lambda meta: ())
    found = needs([watching], scope("a", "b"), NAMES)
    secrets = Resource("", "v1", "secrets")
    assert [need for need in found if need.resource == secrets] == [
        Need(secrets, "", ("list", "watch")),
        Need(secrets, "a", ("get",)),
        Need(secrets, "b", ("get",)),
    ]
    [alone] = [need for need in needs([watching], scope("a"), NAMES) if need.resource == secrets]
    assert alone == Need(secrets, "a", ("get", "list", "watch"))
    assert {need.namespace for need in needs([watching], scope(), NAMES)} == {"", "fleets"}


def test_namespaces_that_are_watched_one_by_one_need_nothing_outside_them() -> None:
    secrets = Resource("", "v1", "secrets")
    watching = Controller("watching", primary="example.com/v1/widgets").watches("v1/secrets", map=lambda meta: ())
    found = needs([watching], scope("a", "b", watch_each=True), NAMES)
    assert [need for need in found if need.resource == secrets] == [
        Need(secrets, "a", ("get", "list", "watch")),
        Need(secrets, "b", ("get", "list", "watch")),
    ]
    assert {need.namespace for need in found} == {"a", "b", "fleets"}


async def test_what_is_missing_in_one_of_them_is_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    blind = ScriptedTransport(allows=lambda attributes: attributes["namespace"] != "b")
    await check(blind, scope=scope("a", "b", watch_each=True))
    assert "get, list, watch example.com/v1/widgets in namespace b" in caplog.text
    assert "goes on without namespace b until then" in caplog.text
    with pytest.raises(PreflightFailed, match="in namespace b"):
        await check(blind, scope=scope("a", "b"))


@pytest.mark.parametrize("missing", [("a", "b"), ("fleets",), ("b", "fleets")], ids=str)
async def test_what_is_missing_in_all_of_them_or_for_the_fleet_itself_is_none(missing: tuple[str, ...]) -> None:
    blind = ScriptedTransport(allows=lambda attributes: attributes["namespace"] not in missing)
    with pytest.raises(PreflightFailed, match="no permission"):
        await check(blind, scope=scope("a", "b", watch_each=True))


async def test_the_fleets_own_namespace_may_be_one_of_them() -> None:
    leaseless = ScriptedTransport(allows=lambda attributes: attributes["resource"] != "leases")
    with pytest.raises(PreflightFailed, match="leases in namespace fleets"):
        await check(leaseless, scope=scope("a", "fleets", watch_each=True))


def test_needs_of_a_watched_resource_follow_its_own_namespaces() -> None:
    watching = Controller("watching", primary="example.com/v1/widgets")
    watching.watches("v1/nodes", map=lambda meta: (), namespaces=())
    watching.watches("v1/secrets", map=lambda meta: (), namespaces=("shared",))
    found = {need.resource.plural: need.namespace for need in needs([watching], scope("a"), NAMES)}
    assert (found["nodes"], found["secrets"], found["widgets"]) == ("", "shared", "a")


def test_a_port_in_use_is_refused_with_the_fields_path() -> None:
    with closing(socket.socket()) as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(ConfigError) as caught:
            check_port("127.0.0.1", port, "agent.metricsPort")
    assert str(caught.value) == (
        f"agent.metricsPort: port {port} of 127.0.0.1 is in use by another process;"
        " choose another one, or 0 for any that is free"
    )
    check_port("127.0.0.1", port, "agent.metricsPort")


def test_an_address_of_somebody_else_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"port 18099 of 192\.0\.2\.1 cannot be opened"):
        check_port("192.0.2.1", 18099, "agent.metricsPort")


@pytest.mark.parametrize("port", [0, -1])
def test_no_port_needs_no_check(port: int) -> None:
    check_port("192.0.2.1", port, "agent.metricsPort")
