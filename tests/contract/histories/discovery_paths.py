"""Paths, methods and subresources: what is there, what is not, and in which words."""

from __future__ import annotations

from tests.contract.histories.objects import CONFIG_MAPS, WEBSITE_SCHEMA, WEBSITES, config_map, define
from tests.contract.transcripts import Document, Stage

PODS = "v1/pods"


async def paths_that_are_not_served(stage: Stage) -> None:
    for method, path in (
        ("GET", "/nothing"),
        ("GET", "/api/v2"),
        ("GET", "/api/v1/nothing"),
        ("GET", "/apis/none.example"),
        ("GET", "/apis/none.example/v1"),
        ("GET", "/apis/none.example/v1/things"),
        ("GET", "/apis/apps/v9"),
        ("GET", "/apis/apps/v1/nothing"),
        ("GET", "/apis/apps/v9/deployments"),
        ("GET", "/api/v1/pods/one"),
        ("POST", "/api/v1/pods"),
        ("DELETE", "/api/v1/pods"),
        ("PUT", "/version"),
        ("POST", "/api"),
        ("POST", "/apis/apps/v1"),
        ("GET", stage.path("v1/namespaces")),
        ("GET", stage.path("v1/nodes")),
        ("GET", stage.path(CONFIG_MAPS, "a", "b/c/d")),
        ("GET", stage.path(CONFIG_MAPS, "a", "status")),
        ("GET", stage.path(PODS, "a", "scale")),
        ("GET", stage.path("apps/v1/deployments", "a", "nothing")),
    ):
        await stage.ask(method, path)


async def methods_that_are_not_allowed(stage: Stage) -> None:
    await define(stage, "websites", "Website", WEBSITE_SCHEMA, status=True)
    collection, one = stage.path(CONFIG_MAPS), stage.path(CONFIG_MAPS, "one")
    await stage.ask("POST", collection, config_map("one"))
    for method in ("HEAD", "OPTIONS", "POST"):
        await stage.ask(method, one)
    for method in ("HEAD", "OPTIONS", "PUT", "PATCH"):
        await stage.ask(method, collection)
    for method in ("OPTIONS",):
        await stage.ask(method, stage.path(WEBSITES))
        await stage.ask(method, stage.path(WEBSITES, "one"))
    await stage.ask("DELETE", stage.path(WEBSITES, "one", "status"))
    await stage.ask("POST", stage.path(WEBSITES, "one", "status"))
    await stage.ask("HEAD", stage.path(WEBSITES), quiet=True)
    for method, resource, name, subresource in (
        ("DELETE", PODS, "one", "status"),
        ("POST", PODS, "one", "status"),
        ("GET", PODS, "one", "eviction"),
        ("PUT", PODS, "one", "binding"),
        ("PATCH", PODS, "one", "log"),
        ("POST", PODS, "one", "log"),
        ("GET", "v1/serviceaccounts", "one", "token"),
        ("DELETE", "apps/v1/deployments", "one", "scale"),
    ):
        await stage.ask(method, stage.path(resource, name, subresource))
    namespace = stage.cluster_path("v1/namespaces", stage.namespace, "finalize")
    for method in ("GET", "PATCH", "DELETE", "POST"):
        await stage.ask(method, namespace)


async def one_object_is_not_watched_by_its_name(stage: Stage) -> None:
    await stage.ask("POST", stage.path(CONFIG_MAPS), config_map("one"))
    await stage.ask("GET", stage.path(CONFIG_MAPS, "one"), query={"watch": "true", "timeoutSeconds": "1"})
    await stage.ask("GET", stage.path(CONFIG_MAPS, "none"), query={"watch": "true", "timeoutSeconds": "1"})


async def finalizers_of_a_namespace(stage: Stage) -> None:
    name = stage.unique("ending")
    path = stage.cluster_path("v1/namespaces", name)
    await stage.ask("POST", "/api/v1/namespaces", {"metadata": {"name": name}})
    body: Document = {"kind": "Namespace", "apiVersion": "v1", "metadata": {"name": name}}
    held = {**body, "spec": {"finalizers": ["kubernetes", "example.com/held"]}}
    await stage.ask("PUT", path, held)
    await stage.ask("PUT", f"{path}/finalize", held)
    await stage.ask("PUT", f"{path}/finalize", {**body, "metadata": {"name": "other"}})
    await stage.ask("PUT", f"{path}/finalize", {**body, "spec": {"finalizers": ["kubernetes"]}})
    await stage.ask("GET", path)


def _pod(name: str) -> Document:
    spec = {"automountServiceAccountToken": False, "containers": [{"name": "c", "image": "i"}]}
    return {"kind": "Pod", "apiVersion": "v1", "metadata": {"name": name}, "spec": spec}


async def bindings_and_evictions(stage: Stage) -> None:
    await stage.ask("POST", stage.path("v1/serviceaccounts"), {"metadata": {"name": "default"}})
    binding, eviction = stage.path(PODS, "one", "binding"), stage.path(PODS, "one", "eviction")
    for name in ("one", "two"):
        await stage.ask("POST", stage.path(PODS), _pod(name), quiet=True)
    for body in (
        {"target": {"kind": "Node", "name": "node-1"}},
        {"metadata": {"name": "two"}, "target": {"kind": "Node", "name": "node-1"}},
        {"metadata": {"name": "one"}, "target": {"kind": "Node"}},
        {"metadata": {"name": "one"}, "target": {"kind": "Other", "name": "node-1"}},
        {"metadata": {"name": "one"}, "target": {"kind": "Node", "name": "node-1"}},
        {"metadata": {"name": "one"}, "target": {"kind": "Node", "name": "node-2"}},
    ):
        await stage.ask("POST", binding, body)
    unknown = {"metadata": {"name": "none"}, "target": {"kind": "Node", "name": "node-1"}}
    await stage.ask("POST", stage.path(PODS, "none", "binding"), unknown)
    bound = await stage.ask("GET", stage.path(PODS, "one"), quiet=True)
    stage.note("bound", [bound["spec"]["nodeName"], bound["status"]["conditions"][0]["type"]])
    wrong = {"preconditions": {"uid": "11111111-2222-4333-8444-555555555555"}}
    await stage.ask("POST", eviction, {"metadata": {"name": "two"}})
    await stage.ask("POST", eviction, {"metadata": {"name": "one"}, "deleteOptions": wrong})
    await stage.ask("POST", eviction, {"metadata": {"name": "one"}}, query={"dryRun": "All"})
    await stage.ask("POST", eviction, {"metadata": {"name": "one"}})
    await stage.ask("POST", stage.path(PODS, "none", "eviction"), {"metadata": {"name": "none"}})
    await stage.ask("POST", stage.path(PODS, "two", "eviction"), {"metadata": {"name": "two"}})
    await stage.ask("GET", stage.path(PODS, "two"))
    going = await stage.ask("GET", stage.path(PODS, "one"), quiet=True)
    stage.note("going", going["metadata"]["deletionGracePeriodSeconds"])
    for subresource in ("log", "exec", "attach", "portforward", "proxy"):
        await stage.ask("GET", stage.path(PODS, "none", subresource))


async def queries_as_go_reads_them(stage: Stage) -> None:
    collection = stage.path(CONFIG_MAPS)
    await stage.ask("POST", collection, config_map("one", labels={"app": "x"}))
    await stage.ask("POST", collection, config_map("two", labels={"app": "y"}))
    for raw in (
        "labelSelector=app%3Dx",
        "labelSelector=app=x",
        "labelSelector=app+in+(x)",
        "labelSelector=app%20in%20(x)",
        "labelSelector=app=%zz&limit=1",
        "labelSelector=app=x;y&limit=5",
        "&&labelSelector=app=x&",
        "labelSelector=app=x&labelSelector=app=y",
        "labelSelector",
    ):
        answer = await stage.ask("GET", f"{collection}?{raw}", quiet=True)
        names = [each["metadata"]["name"] for each in answer.get("items") or []]
        stage.note(raw, [answer.get("code", 200), [name for name in names if name != "kube-root-ca.crt"]])
    await stage.ask("GET", collection.replace("configmaps", "%63onfigmaps"), query={"labelSelector": "app=x"})


HISTORIES = (
    paths_that_are_not_served,
    methods_that_are_not_allowed,
    one_object_is_not_watched_by_its_name,
    finalizers_of_a_namespace,
    bindings_and_evictions,
    queries_as_go_reads_them,
)
