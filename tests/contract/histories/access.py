"""Tokens, RBAC and the reviews: a service account that gets rights, uses them and loses them."""

from __future__ import annotations

from typing import Any

from tests.contract.histories.objects import CONFIG_MAPS, WEBSITE_SCHEMA, WEBSITES, config_map, define, website
from tests.contract.transcripts import MERGE, TABLE, Document, Stage

ACCOUNTS = "v1/serviceaccounts"
ROLES = "rbac.authorization.k8s.io/v1/roles"
BINDINGS = "rbac.authorization.k8s.io/v1/rolebindings"
CLUSTER_ROLES = "rbac.authorization.k8s.io/v1/clusterroles"
CLUSTER_BINDINGS = "rbac.authorization.k8s.io/v1/clusterrolebindings"
AUTHORIZATION = "authorization.k8s.io/v1"
AUTHENTICATION = "authentication.k8s.io/v1"
RBAC_GROUP = "rbac.authorization.k8s.io"


async def bot(stage: Stage, name: str = "bot", **spec: Any) -> Stage:
    """The same history as a new service account."""
    await stage.ask("POST", stage.path(ACCOUNTS), {"metadata": {"name": name}})
    answer = await stage.ask("POST", stage.path(ACCOUNTS, name, "token"), {"spec": spec}, quiet=True)
    return stage.as_user(answer["status"]["token"])


def rule(verbs: str, resources: str, group: str = "", **more: Any) -> Document:
    return {"apiGroups": [group], "resources": resources.split(), "verbs": verbs.split(), **more}


def binding(role: str, kind: str = "Role", subject: Document | None = None) -> Document:
    account = {"kind": "ServiceAccount", "name": "bot"}
    return {
        "metadata": {"name": role},
        "roleRef": {"apiGroup": RBAC_GROUP, "kind": kind, "name": role},
        "subjects": [subject or account],
    }


async def grant(stage: Stage, name: str, *rules: Document) -> None:
    """A role of these rules for the account named bot."""
    await stage.ask("POST", stage.path(ROLES), {"metadata": {"name": name}, "rules": list(rules)})
    given = binding(name, subject={"kind": "ServiceAccount", "name": "bot", "namespace": stage.namespace})
    await stage.ask("POST", stage.path(BINDINGS), given)


async def allowed(stage: Stage, namespace: str = "", verb: str = "get", resource: str = "configmaps") -> None:
    """Waits until the stage's user may do that: a real server hears of new roles a little later."""
    path = f"/apis/{AUTHORIZATION}/selfsubjectaccessreviews"
    wanted = {"namespace": namespace or stage.namespace, "verb": verb, "resource": resource}
    for _ in range(100):
        answer = await stage.ask("POST", path, {"spec": {"resourceAttributes": wanted}}, quiet=True)
        if answer["status"]["allowed"]:
            return
    raise TimeoutError(f"{verb} {resource} is never allowed")


async def forbidden_without_a_role(stage: Stage) -> None:
    await define(stage, "websites", "Website", WEBSITE_SCHEMA, status=True)
    user = await bot(stage)
    collection = stage.path(CONFIG_MAPS)
    for method, path in (
        ("GET", collection),
        ("GET", f"{collection}/one"),
        ("PUT", f"{collection}/one"),
        ("DELETE", f"{collection}/one"),
        ("DELETE", collection),
        ("OPTIONS", collection),
        ("GET", stage.cluster_path(CONFIG_MAPS)),
        ("GET", "/api/v1/nodes"),
        ("GET", "/api/v1/nodes/one/status"),
        ("GET", stage.cluster_path("v1/namespaces", stage.namespace)),
        ("GET", stage.path("v1/pods", "one", "log")),
        ("GET", stage.path(WEBSITES)),
        ("GET", stage.path("none.example/v1/things", "one")),
        ("GET", "/api/v1/nothing"),
        ("GET", "/nothing"),
        ("POST", "/metrics"),
        ("GET", "/metrics"),
        ("POST", stage.path("v1/pods", "one", "eviction")),
    ):
        await user.ask(method, path)
    await user.ask("POST", collection, config_map("one"))
    await user.ask("PATCH", f"{collection}/one", {}, content_type=MERGE)
    for query in ({"watch": "true"}, {"fieldSelector": "metadata.name=one"}):
        await user.ask("GET", collection, query=query)
    await user.ask("GET", collection, accept=TABLE)
    for path in ("/healthz", "/api/v1", "/apis/apps/v1", "/apis/none.example"):
        await user.ask("GET", path, quiet=path not in ("/healthz", "/apis/none.example"))


async def tokens_that_nobody_knows(stage: Stage) -> None:
    collection = stage.path(CONFIG_MAPS)
    for token in ("garbage", "a.b.c", ""):
        await stage.as_user(token).ask("GET", collection)
    foreign = await bot(stage, audiences=["elsewhere"])
    await foreign.ask("GET", collection)
    for header in ("Basic eDp5", "Bearer", "bearer garbage", "Other garbage"):
        await stage.as_user("").ask("GET", collection, headers={"Authorization": header})
    anonymous = stage.as_user("")
    await anonymous.ask("GET", "/healthz")
    await anonymous.ask("GET", "/api")
    await anonymous.ask("POST", f"/apis/{AUTHENTICATION}/selfsubjectreviews", {})


async def rights_of_a_role(stage: Stage) -> None:
    user = await bot(stage)
    collection = stage.path(CONFIG_MAPS)
    named = rule("get patch", "configmaps", resourceNames=["mine"])
    await grant(stage, "worker", rule("create list watch", "configmaps"), named, rule("get", "pods/status"))
    await allowed(user, verb="create")
    await user.ask("POST", collection, config_map("mine"))
    await user.ask("POST", collection, config_map("other"))
    await user.ask("GET", collection, query={"limit": "1"}, quiet=True)
    await user.ask("GET", f"{collection}/mine")
    await user.ask("GET", f"{collection}/other")
    await user.ask("PATCH", f"{collection}/mine", {"data": {"a": "2"}}, content_type=MERGE)
    await user.ask("DELETE", f"{collection}/mine")
    await user.ask("PUT", f"{collection}/mine", config_map("mine"))
    await user.ask("GET", stage.path("v1/pods", "none", "status"))
    await user.ask("GET", stage.path("v1/pods", "none"))
    await user.ask("GET", "/api/v1/namespaces/default/configmaps")
    await user.ask("GET", "/api/v1/configmaps")
    async with user.watch(collection, {"resourceVersion": "0", "fieldSelector": "metadata.name=mine"}) as read:
        await read(1)
    await stage.ask("DELETE", stage.path(BINDINGS, "worker"))
    await stage.ask("DELETE", stage.path(ROLES, "worker"))


async def bindings_of_roles_that_are_missing(stage: Stage) -> None:
    user = await bot(stage)
    account = {"kind": "ServiceAccount", "name": "bot", "namespace": stage.namespace}
    await grant(stage, "marker", rule("get", "secrets"))
    for role, kind in (("absent", "Role"), ("nowhere", "ClusterRole")):
        await stage.ask("POST", stage.path(BINDINGS), binding(role, kind, account))
    await allowed(user, verb="get", resource="secrets")
    answer = await user.ask("GET", stage.path(CONFIG_MAPS), quiet=True)
    stage.note("two roles are missing", sorted(answer["message"].partition(": RBAC: ")[2].strip("[]").split(", ")))


async def groups_and_wildcards(stage: Stage) -> None:
    user = await bot(stage)
    name = stage.unique("all")
    role = {"metadata": {"name": name}, "rules": [rule("*", "*", "*")]}
    await stage.ask("POST", stage.cluster_path(CLUSTER_ROLES), role)
    everybody = {"apiGroup": RBAC_GROUP, "kind": "Group", "name": f"system:serviceaccounts:{stage.namespace}"}
    await stage.ask("POST", stage.path(BINDINGS), binding(name, "ClusterRole", everybody))
    await allowed(user, verb="delete")
    await user.ask("POST", stage.path(CONFIG_MAPS), config_map("one"))
    await user.ask("GET", stage.path("apps/v1/deployments"))
    await user.ask("GET", stage.path("none.example/v1/things"))
    await user.ask("GET", "/api/v1/nodes")
    await user.ask("GET", "/metrics")
    paths = {
        "metadata": {"name": stage.unique("paths")},
        "rules": [{"nonResourceURLs": ["/debug/*"], "verbs": ["get"]}],
    }
    await stage.ask("POST", stage.cluster_path(CLUSTER_ROLES), paths)
    cluster = binding(stage.unique("paths"), "ClusterRole", everybody)
    await stage.ask("POST", stage.cluster_path(CLUSTER_BINDINGS), cluster)
    await stage.until(stage.cluster_path(CLUSTER_BINDINGS, stage.unique("paths")), lambda answer: "roleRef" in answer)
    for path in ("/debug/nothing", "/debug", "/other"):
        review = {"spec": {"groups": [everybody["name"]], "nonResourceAttributes": {"path": path, "verb": "get"}}}
        await stage.ask("POST", f"/apis/{AUTHORIZATION}/subjectaccessreviews", review)
    for resource in (CLUSTER_BINDINGS, CLUSTER_ROLES):
        await stage.ask("DELETE", stage.cluster_path(resource, stage.unique("paths")), quiet=True)
    await stage.ask("DELETE", stage.cluster_path(CLUSTER_ROLES, name), quiet=True)


async def token_requests(stage: Stage) -> None:
    await stage.ask("POST", stage.path(ACCOUNTS), {"metadata": {"name": "bot"}})
    token = stage.path(ACCOUNTS, "bot", "token")
    secret = {"kind": "Secret", "apiVersion": "v1", "name": "one"}
    await stage.ask("POST", stage.path("v1/secrets"), {"metadata": {"name": "one"}}, quiet=True)
    bodies: tuple[Document, ...] = (
        {"spec": {}},
        {},
        {
            "kind": "TokenRequest",
            "apiVersion": AUTHENTICATION,
            "spec": {"audiences": ["a", "b"], "expirationSeconds": 600},
        },
        {"spec": {"expirationSeconds": 599}},
        {"spec": {"expirationSeconds": 4294967297}},
        {"metadata": {"name": "bot", "namespace": stage.namespace}, "spec": {}},
        {"metadata": {"name": "other"}, "spec": {}},
        {"metadata": {"namespace": "other"}, "spec": {}},
        {"spec": {"boundObjectRef": secret}},
        {"spec": {"boundObjectRef": {**secret, "name": "none"}}},
        {"spec": {"boundObjectRef": {**secret, "uid": "11111111-2222-4333-8444-555555555555"}}},
        {"spec": {"boundObjectRef": {"kind": "Pod", "apiVersion": "v1", "name": "none"}}},
        {"spec": {"boundObjectRef": {"kind": "Other", "apiVersion": "v1", "name": "none"}}},
        {"spec": {"boundObjectRef": {"kind": "Other", "apiVersion": "apps/v1", "name": "none"}}},
        {"kind": "TokenReview", "apiVersion": AUTHENTICATION, "spec": {}},
    )
    for body in bodies:
        await stage.ask("POST", token, body)
    await stage.ask("POST", stage.path(ACCOUNTS, "none", "token"), {"spec": {}})
    await stage.ask("GET", token)


async def token_reviews(stage: Stage) -> None:
    path = f"/apis/{AUTHENTICATION}/tokenreviews"
    user = await bot(stage)
    for spec in (
        {"token": user.token},
        {"token": user.token, "audiences": ["https://kubernetes.default.svc", "other"]},
        {"token": user.token, "audiences": ["other"]},
        {"token": "garbage"},
        {},
    ):
        await stage.ask("POST", path, {"spec": spec})
    for method, where in (("GET", path), ("PUT", path), ("GET", f"{path}/one"), ("POST", f"{path}/one")):
        await stage.ask(method, where)
    mine = f"/apis/{AUTHENTICATION}/selfsubjectreviews"
    await user.ask("POST", mine, {})
    await user.ask("POST", mine, {"kind": "SelfSubjectReview", "apiVersion": AUTHENTICATION})
    await stage.ask("POST", mine, {})
    await user.ask("POST", path, {"spec": {"token": user.token}})


async def access_reviews(stage: Stage) -> None:
    user = await bot(stage)
    await grant(stage, "reader", rule("get list", "configmaps"), rule("*", "deployments/scale", "apps"))
    await allowed(user)
    name = f"system:serviceaccount:{stage.namespace}:bot"
    maps = {"namespace": stage.namespace, "resource": "configmaps"}
    everywhere, mine = f"/apis/{AUTHORIZATION}/subjectaccessreviews", f"/apis/{AUTHORIZATION}/selfsubjectaccessreviews"
    local = stage.path(f"{AUTHORIZATION}/localsubjectaccessreviews")
    scale = {"namespace": stage.namespace, "group": "apps", "resource": "deployments", "subresource": "scale"}
    specs: tuple[Document, ...] = (
        {"user": name, "resourceAttributes": {**maps, "verb": "get"}},
        {"user": name, "resourceAttributes": {**maps, "verb": "delete"}},
        {"user": name, "resourceAttributes": {"resource": "configmaps", "verb": "get"}},
        {"user": name, "resourceAttributes": {**scale, "verb": "patch"}},
        {"user": "ann", "groups": ["system:masters"], "resourceAttributes": {**maps, "verb": "get"}},
        {
            "user": "ann",
            "groups": ["system:authenticated"],
            "nonResourceAttributes": {"path": "/version", "verb": "get"},
        },
        {"user": "ann", "nonResourceAttributes": {"path": "/version", "verb": "get"}},
        {},
        {"user": "ann"},
        {"user": "ann", "nonResourceAttributes": {"path": "/a", "verb": "get"}, "resourceAttributes": maps},
    )
    for spec in specs:
        await stage.ask("POST", everywhere, {"spec": spec}, before=_without_discovery)
    own: tuple[Document, ...] = (
        {"resourceAttributes": {**maps, "verb": "get"}},
        {"resourceAttributes": {**maps, "verb": "create"}},
        {"nonResourceAttributes": {"path": "/metrics", "verb": "get"}},
        {},
    )
    for spec in own:
        await user.ask("POST", mine, {"spec": spec})
    for namespace in (stage.namespace, "other", ""):
        wanted = {**maps, "namespace": namespace, "verb": "get"}
        await stage.ask("POST", local, {"spec": {"user": name, "resourceAttributes": wanted}})
    await stage.ask("POST", mine, {"spec": {"resourceAttributes": {**maps, "verb": "delete"}}})
    await user.ask("POST", everywhere, {"spec": {"user": "ann", "resourceAttributes": maps}})


def _without_discovery(answer: Document) -> None:
    """Which of the bindings that allow everybody to read /version is found first is a matter of chance."""
    status = answer.get("status")
    if isinstance(status, dict) and "ClusterRoleBinding" in status.get("reason", ""):
        status["reason"] = "a default binding"


async def rules_reviews(stage: Stage) -> None:
    user = await bot(stage)
    await grant(stage, "reader", rule("get", "configmaps", resourceNames=["one"]))
    path = f"/apis/{AUTHORIZATION}/selfsubjectrulesreviews"
    await user.ask("POST", path, {"spec": {}})
    answer = await user.ask("POST", path, {"spec": {"namespace": stage.namespace}}, quiet=True)
    status = answer["status"]
    stage.note("incomplete", status["incomplete"])
    stage.note("own", [each for each in status["resourceRules"] if each["apiGroups"] == [""]])


async def custom_resources_by_role(stage: Stage) -> None:
    await define(stage, "websites", "Website", WEBSITE_SCHEMA, status=True)
    user = await bot(stage)
    await grant(stage, "editor", rule("create get", "websites", "history.shardfleet.dev"))
    await grant(stage, "marker", rule("get", "secrets"))
    await allowed(user, verb="get", resource="secrets")
    await user.ask("POST", stage.path(WEBSITES), website("one"))
    await user.ask("GET", stage.path(WEBSITES, "one"))
    await user.ask("GET", stage.path(WEBSITES, "one", "status"))
    status = {"status": {"phase": "x"}}
    await user.ask("PATCH", stage.path(WEBSITES, "one", "status"), status, content_type=MERGE)
    await user.ask("PATCH", stage.path(WEBSITES, "one"), {"spec": {"replicas": 3}}, content_type=MERGE)
    await user.ask("DELETE", stage.path(WEBSITES, "one"))


HISTORIES = (
    forbidden_without_a_role,
    tokens_that_nobody_knows,
    rights_of_a_role,
    bindings_of_roles_that_are_missing,
    groups_and_wildcards,
    token_requests,
    token_reviews,
    access_reviews,
    rules_reviews,
    custom_resources_by_role,
)
