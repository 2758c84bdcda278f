"""Label and field selectors: every form, every refusal, on built-in and on custom resources."""

from __future__ import annotations

from tests.contract.histories.objects import CONFIG_MAPS, DEFINITIONS, config_map, definition
from tests.contract.transcripts import MERGE, Document, Stage

GADGETS = "history.shardfleet.dev/v1/gadgets"

LABEL_FORMS = (
    "app",
    " app ",
    "app,!tier",
    "app,tier",
    "! app",
    "example.com/app",
    "example.com/app=x",
    "example.com/app in (x,y)",
    "app in (x, y),tier notin (1)",
    "app in ( x , z )",
    "app in(x)",
    "app in (x,)",
    "app in (,x)",
    "app in (,)",
    "app notin ()",
    "app notin (x),app!=z",
    "app=,tier",
    "app!=",
    "app==",
    "tier>1,tier<4",
    "tier > 2",
    "tier gt 2",
    "tier lt 3",
    "tier>-1",
    "app>1",
    "in in (in)",
    "notin",
    "app=in",
    "app=notin",
    "app in (in)",
    "app=x,app=y",
    ",",
    "app,,tier",
    ",app",
    "(",
    "app)",
    "app (x)",
    "app in (x",
    "app in (x y)",
    "app in x,y",
    "app in",
    "app notin",
    "!",
    "!app=x",
    "!!app",
    "app=x=y",
    "app=!x",
    "app = = x",
    "app=>1",
    "app<>1",
    "app>",
    "tier>1.5",
    "tier>a",
    "tier>(1)",
    "app like x",
    "app=a/b",
    "a/b/c=d",
    "/app",
    "app/",
    "app/=x",
    "Example.com/app",
    "exa_mple.com/app",
    "app$",
    "app=x$",
    "app in (x,y$)",
    "app in (-)",
    "_app",
    "app_",
    "app=" + "v" * 63,
    "app=" + "v" * 64,
    "n" * 63,
    "n" * 64,
    "app=x;tier=1",
    "é",
    "app=é",
)

FIELD_FORMS = (
    "metadata.name=a",
    "metadata.name=a,metadata.name=b",
    "metadata.name!=a,metadata.name!=b",
    "metadata.name=a,metadata.name!=b",
    "metadata.name==a",
    "metadata.name=",
    "metadata.name!=",
    " metadata.name=a",
    "metadata.name=a,",
    ",metadata.name=a",
    "metadata.name=a ",
    "metadata.name = a",
    "metadata.name=a=b",
    "metadata.name=a\\,b",
    "metadata.name=a\\=b",
    "metadata.name=a\\x",
    "metadata.name=a\\",
    "metadata.name>a",
    "metadata.name in (a)",
    "!metadata.name",
    "metadata.namespace!=x,metadata.name=a",
    "metadata.uid=x",
    "metadata.labels.app=x",
    "=a",
    "name=a",
)


async def label_selectors(stage: Stage) -> None:
    collection = stage.path(CONFIG_MAPS)
    await _labelled(stage)
    for selector in LABEL_FORMS:
        await stage.ask("GET", collection, query={"labelSelector": f"{selector}", "fieldSelector": "metadata.name!=x"})
    await stage.ask("GET", collection, query={"watch": "1", "labelSelector": "app=x$"})
    await stage.ask("DELETE", collection, query={"labelSelector": "app in x"})
    await stage.ask("DELETE", collection, query={"labelSelector": "tier>2"})


async def field_selectors(stage: Stage) -> None:
    await _labelled(stage)
    for selector in FIELD_FORMS:
        await stage.ask("GET", stage.path(CONFIG_MAPS), query={"fieldSelector": selector, "labelSelector": "app"})
    await stage.ask("GET", stage.path(CONFIG_MAPS), query={"fieldSelector": "none=a", "labelSelector": "-"})
    secret: Document = {"kind": "Secret", "apiVersion": "v1", "metadata": {"name": "s"}, "type": "example.com/t"}
    await stage.ask("POST", stage.path("v1/secrets"), secret)
    for selector in ("type=example.com/t", "type!=example.com/t", "type=Opaque", "data=x"):
        await stage.ask("GET", stage.path("v1/secrets"), query={"fieldSelector": selector})
    for plural, selector in (
        ("pods", "spec.nodeName="),
        ("pods", "spec.none=a"),
        ("pods", "status.phase=Running,spec.nodeName!=x,spec.restartPolicy=Always"),
        ("pods", "status.nominatedNodeName=,spec.hostNetwork=false,status.podIPs=x"),
        ("events", "involvedObject.kind=Pod,reason!=x,source=y,reportingComponent=z"),
        ("events", "involvedObject.none=Pod"),
        ("services", "spec.clusterIP=None,spec.type=ClusterIP"),
        ("services", "spec.none=x"),
        ("serviceaccounts", "metadata.name=none"),
        ("serviceaccounts", "secrets=x"),
    ):
        await stage.ask("GET", stage.path(f"v1/{plural}"), query={"fieldSelector": selector})
    for plural in ("deployments", "replicasets", "statefulsets", "daemonsets"):
        for selector in ("metadata.name=none", "status.replicas=0", "spec.x=y"):
            await stage.ask("GET", stage.path(f"apps/v1/{plural}"), query={"fieldSelector": selector})
    own = f"metadata.name={stage.namespace}"
    for selector in (
        own,
        f"{own},status.phase=Active",
        f"{own},status.phase!=Active",
        "metadata.namespace=x",
        "spec=x",
    ):
        await stage.ask("GET", "/api/v1/namespaces", query={"fieldSelector": selector})
    await stage.ask(
        "GET", stage.path("coordination.k8s.io/v1/leases"), query={"fieldSelector": "spec.holderIdentity=x"}
    )
    await stage.ask("GET", DEFINITIONS, query={"fieldSelector": "spec.group=none"})
    await stage.ask("GET", DEFINITIONS, query={"fieldSelector": "metadata.namespace=none"})


async def selectable_fields(stage: Stage) -> None:
    """Those that a custom resource definition names (KEP-4358)."""
    await _define_gadgets(stage)
    collection = stage.path(GADGETS)
    for name, spec in (
        ("a", {"colour": "red", "size": 1}),
        ("b", {"colour": "blue", "size": 2, "loud": True}),
        ("c", {"size": 2}),
        ("d", {}),
    ):
        body = {"kind": "Gadget", "apiVersion": "history.shardfleet.dev/v1", "metadata": {"name": name}, "spec": spec}
        await stage.ask("POST", collection, body)
    for selector in (
        "spec.colour=red",
        "spec.colour!=red",
        "spec.colour=",
        "spec.colour!=",
        "spec.size=2",
        "spec.size=02",
        "spec.size=2,spec.colour=blue",
        "spec.size=2,metadata.name!=b",
        "spec.loud=true",
        "spec.loud=True",
        "spec.loud=",
        "spec.none=a",
        ".spec.colour=red",
        "spec=a",
    ):
        await stage.ask("GET", collection, query={"fieldSelector": selector})
    async with stage.watch(collection, {"fieldSelector": "spec.colour=red", "resourceVersion": "0"}) as read:
        await read(1)
        for name, colour in (("b", "red"), ("a", "blue"), ("b", "green")):
            change = {"spec": {"colour": colour}}
            await stage.ask("PATCH", stage.path(GADGETS, name), change, content_type=MERGE, quiet=True)
        await read(3)
    await stage.ask("DELETE", collection, query={"fieldSelector": "spec.colour=green"})


async def _labelled(stage: Stage) -> None:
    for name, labels in (
        ("a", {"app": "x", "tier": "1", "example.com/app": "x"}),
        ("b", {"app": "y", "tier": "2", "in": "in"}),
        ("c", {"app": "z", "tier": "3", "notin": ""}),
        ("d", {"app": "", "tier": "four"}),
        ("e", {"app": "in"}),
        ("f", {}),
    ):
        await stage.ask("POST", stage.path(CONFIG_MAPS), config_map(name, {}, labels=labels), quiet=True)


async def _define_gadgets(stage: Stage) -> None:
    fields = {"colour": {"type": "string"}, "size": {"type": "integer"}, "loud": {"type": "boolean"}}
    schema: Document = {"type": "object", "properties": {"spec": {"type": "object", "properties": fields}}}
    made = definition("gadgets", "Gadget", schema, status=False)
    made["spec"]["versions"][0]["selectableFields"] = [{"jsonPath": f".spec.{name}"} for name in fields]
    await stage.ask("POST", DEFINITIONS, made, quiet=True)
    await stage.until(stage.path(GADGETS), lambda answer: answer.get("kind") == "GadgetList")


HISTORIES = (
    label_selectors,
    field_selectors,
    selectable_fields,
)
