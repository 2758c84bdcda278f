from __future__ import annotations

import random
from typing import Any

import msgspec
import pytest

from fleet.devcluster.server import ApiServer
from fleet.devcluster.serversettings import ServerSettings
from shards.objects import Object

ADMIN = "let-me-in"
NAMESPACE = "/api/v1/namespaces/default"
RBAC = "/apis/rbac.authorization.k8s.io/v1"
AUTHORIZATION = "/apis/authorization.k8s.io/v1"


class Guarded:
    """A server with access control, whose clock a test moves."""

    def __init__(self, seed: int = 1, **settings: Any) -> None:
        self.now = 1_700_000_000.0
        made = ServerSettings(**{"admin_token": ADMIN, **settings})
        self.server = ApiServer(made, rng=random.Random(seed), wall_seconds=lambda: self.now)

    async def ask(
        self, method: str, path: str, body: Any = None, token: str = ADMIN, **query: str
    ) -> tuple[int, Object]:
        headers = {"content-type": "application/json"}
        if token:
            headers["authorization"] = f"Bearer {token}"
        encoded = None if body is None else msgspec.json.encode(body)
        answer = await self.server.handle(method, path, list(query.items()), encoded, headers)
        return answer.status, msgspec.json.decode(answer.body)

    async def token(self, name: str, **spec: Any) -> str:
        await self.ask("POST", f"{NAMESPACE}/serviceaccounts", {"metadata": {"name": name}})
        _, answer = await self.ask("POST", f"{NAMESPACE}/serviceaccounts/{name}/token", {"spec": spec})
        return str(answer["status"]["token"])

    async def grant(self, role: str, *rules: Object) -> None:
        """A role of the account named bot."""
        await self.ask("POST", f"{RBAC}/namespaces/default/roles", {"metadata": {"name": role}, "rules": list(rules)})
        body = {
            "metadata": {"name": role},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": role},
            "subjects": [{"kind": "ServiceAccount", "name": "bot", "namespace": "default"}],
        }
        await self.ask("POST", f"{RBAC}/namespaces/default/rolebindings", body)


@pytest.fixture
def guarded() -> Guarded:
    return Guarded()


async def status_of(guarded: Guarded, token: str, path: str = f"{NAMESPACE}/configmaps", method: str = "GET") -> int:
    return (await guarded.ask(method, path, token=token))[0]


async def test_a_server_without_an_administrator_token_lets_everybody_in() -> None:
    open_server = Guarded(admin_token="")
    assert await status_of(open_server, "") == 200
    assert await status_of(open_server, "whatever") == 200


async def test_a_token_names_its_account_even_where_everybody_is_let_in() -> None:
    open_server = Guarded(admin_token="")
    token = await open_server.token("bot")
    _, review = await open_server.ask("POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews", {}, token)
    assert review["status"]["userInfo"]["username"] == "system:serviceaccount:default:bot"


async def test_a_stranger_is_told_401_and_nobody_403(guarded: Guarded) -> None:
    assert await status_of(guarded, "garbage") == 401
    assert await status_of(guarded, "") == 403
    assert await status_of(guarded, ADMIN) == 200


async def test_a_right_comes_and_goes_with_its_binding(guarded: Guarded) -> None:
    token = await guarded.token("bot")
    assert await status_of(guarded, token) == 403
    await guarded.grant("reader", {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["list"]})
    assert await status_of(guarded, token) == 200
    assert await status_of(guarded, token, f"{NAMESPACE}/configmaps/a") == 403
    assert await status_of(guarded, token, "/api/v1/configmaps") == 403
    await guarded.ask("DELETE", f"{RBAC}/namespaces/default/rolebindings/reader")
    assert await status_of(guarded, token) == 403


async def test_a_token_ends_at_its_time(guarded: Guarded) -> None:
    token = await guarded.token("bot", expirationSeconds=600)
    guarded.now += 599
    assert await status_of(guarded, token) == 403
    guarded.now += 1
    assert await status_of(guarded, token) == 401


@pytest.mark.parametrize("bound", [False, True])
async def test_a_token_ends_with_its_account_and_with_what_it_is_bound_to(guarded: Guarded, bound: bool) -> None:
    await guarded.ask("POST", f"{NAMESPACE}/secrets", {"metadata": {"name": "one"}})
    reference = {"kind": "Secret", "apiVersion": "v1", "name": "one"}
    token = await guarded.token("bot", **({"boundObjectRef": reference} if bound else {}))
    assert await status_of(guarded, token) == 403
    await guarded.ask("DELETE", f"{NAMESPACE}/secrets/one" if bound else f"{NAMESPACE}/serviceaccounts/bot")
    assert await status_of(guarded, token) == 401


async def test_a_token_of_another_server_is_a_stranger_s(guarded: Guarded) -> None:
    token = await Guarded(seed=2).token("bot")
    assert await status_of(guarded, token) == 401


async def test_the_default_roles_are_there_and_aggregated_ones_have_rules(guarded: Guarded) -> None:
    for role, verb, allowed in (("view", "get", True), ("view", "create", False), ("admin", "create", True)):
        body = {
            "metadata": {"name": f"{role}-{verb}"},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role},
            "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": f"{role}-{verb}"}],
        }
        await guarded.ask("POST", f"{RBAC}/namespaces/default/rolebindings", body)
        wanted = {"namespace": "default", "resource": "configmaps", "verb": verb}
        spec = {"user": f"{role}-{verb}", "resourceAttributes": wanted}
        _, review = await guarded.ask("POST", f"{AUTHORIZATION}/subjectaccessreviews", {"spec": spec})
        assert review["status"]["allowed"] is allowed


async def test_every_namespace_gets_a_default_account_where_that_is_set() -> None:
    guarded = Guarded(default_accounts=True)
    await guarded.ask("POST", "/api/v1/namespaces", {"metadata": {"name": "new"}})
    for namespace in ("default", "new"):
        status, _ = await guarded.ask("GET", f"/api/v1/namespaces/{namespace}/serviceaccounts/default")
        assert status == 200


@pytest.mark.parametrize("token", ["ä", "let-me-in\x00", "let-me", "\udcff", "a.b.\udcff"])
async def test_a_token_of_odd_characters_is_no_token(guarded: Guarded, token: str) -> None:
    assert await status_of(guarded, token) == 401


async def test_the_administrators_token_is_compared_in_constant_time(monkeypatch: pytest.MonkeyPatch) -> None:
    compared: list[bytes] = []

    def compare(left: bytes, right: bytes) -> bool:
        compared.append(right)
        return left == right

    monkeypatch.setattr("fleet.devcluster.access.authentication.hmac.compare_digest", compare)
    guarded = Guarded()
    assert await status_of(guarded, ADMIN) == 200
    assert ADMIN.encode() in compared


async def test_roles_that_select_each_other_end_somewhere(guarded: Guarded) -> None:
    token = await guarded.token("bot")
    for name in ("one", "two"):
        role = {
            "metadata": {"name": name, "labels": {"all": "yes"}},
            "aggregationRule": {"clusterRoleSelectors": [{"matchLabels": {"all": "yes"}}]},
        }
        assert (await guarded.ask("POST", f"{RBAC}/clusterroles", role))[0] == 201
    rules = [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["list"]}]
    plain = {"metadata": {"name": "three", "labels": {"all": "yes"}}, "rules": rules}
    assert (await guarded.ask("POST", f"{RBAC}/clusterroles", plain))[0] == 201
    bound = {
        "metadata": {"name": "bound"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "one"},
        "subjects": [{"kind": "ServiceAccount", "name": "bot", "namespace": "default"}],
    }
    assert (await guarded.ask("POST", f"{RBAC}/clusterrolebindings", bound))[0] == 201
    assert await status_of(guarded, token) == 200
    assert await status_of(guarded, token, f"{NAMESPACE}/secrets") == 403


@pytest.mark.parametrize(
    ("path", "body", "status", "message"),
    [
        (
            f"{AUTHORIZATION}/selfsubjectaccessreviews",
            {"metadata": {"name": "a", "namespace": "x"}},
            422,
            'metadata: Invalid value: {"name":"a"}: must be empty',
        ),
        (
            f"{AUTHORIZATION}/namespaces/default/localsubjectaccessreviews",
            {"metadata": {"name": "a", "namespace": ""}, "spec": {"user": "u", "resourceAttributes": {"verb": "get"}}},
            422,
            "must be empty except for namespace",
        ),
        (
            f"{AUTHORIZATION}/namespaces/default/localsubjectaccessreviews",
            {"spec": {"user": "u", "nonResourceAttributes": {"path": "/"}}},
            422,
            'spec.nonResourceAttributes: Invalid value: {"Path":"/","Verb":""}: disallowed on this kind of request',
        ),
        (
            f"{AUTHORIZATION}/namespaces/default/localsubjectaccessreviews",
            {"metadata": {"namespace": "elsewhere"}},
            400,
            "does not match the namespace sent on the request",
        ),
        (f"{AUTHORIZATION}/subjectaccessreviews", {"spec": 5}, 400, "cannot unmarshal number into Go struct field"),
    ],
)
async def test_a_question_that_makes_no_sense_is_refused(
    guarded: Guarded, path: str, body: Object, status: int, message: str
) -> None:
    found, answer = await guarded.ask("POST", path, body)
    assert found == status
    assert message in answer["message"]
