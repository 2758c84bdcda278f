"""What users do with kubectl, as scripts that run on any server."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import yaml

from tests.clients.shell import Shell
from tests.contract.normaliser import Document

Script = Callable[[Shell], None]

GROUP = "kubectl.shardfleet.dev"
NOT_ROOT = "--field-selector=metadata.name!=kube-root-ca.crt"


def config_map(name: str, data: dict[str, str] | None = None, **metadata: Any) -> Document:
    body: Document = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, **metadata}}
    return body | {"data": data if data is not None else {"a": "1"}}


def deployment(name: str, replicas: int = 1, image: str = "image:1") -> Document:
    labels = {"app": name}
    pod = {"containers": [{"name": "main", "image": image, "ports": [{"containerPort": 80}]}]}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "labels": labels},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": pod},
        },
    }


def several(*documents: Document) -> str:
    return yaml.safe_dump_all(documents, sort_keys=False)


def site(name: str, spec: Document | None = None, **metadata: Any) -> Document:
    body: Document = {"apiVersion": f"{GROUP}/v1", "kind": "Site", "metadata": {"name": name, **metadata}}
    return body | {"spec": spec if spec is not None else {"domain": "a.example", "replicas": 2}}


SITE_SCHEMA: Document = {
    "type": "object",
    "description": "A web site.",
    "properties": {
        "spec": {
            "type": "object",
            "description": "What is wanted.",
            "required": ["domain"],
            "properties": {
                "domain": {"type": "string", "description": "Where it is found.", "minLength": 3},
                "replicas": {"type": "integer", "minimum": 0, "default": 1},
            },
        },
        "status": {
            "type": "object",
            "properties": {
                "replicas": {"type": "integer"},
                "conditions": {
                    "type": "array",
                    "x-kubernetes-list-type": "map",
                    "x-kubernetes-list-map-keys": ["type"],
                    "items": {
                        "type": "object",
                        "required": ["type", "status"],
                        "properties": {name: {"type": "string"} for name in ("type", "status", "reason")},
                    },
                },
            },
        },
    },
}

DEFINITION: Document = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": f"sites.{GROUP}"},
    "spec": {
        "group": GROUP,
        "scope": "Namespaced",
        "names": {"plural": "sites", "kind": "Site", "singular": "site", "shortNames": ["st"], "categories": ["all"]},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "schema": {"openAPIV3Schema": SITE_SCHEMA},
                "subresources": {
                    "status": {},
                    "scale": {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"},
                },
                "additionalPrinterColumns": [
                    {"name": "Domain", "type": "string", "jsonPath": ".spec.domain"},
                    {"name": "Replicas", "type": "integer", "jsonPath": ".spec.replicas", "priority": 1},
                    {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"},
                ],
            }
        ],
    },
}


def reading(shell: Shell) -> None:
    shell(
        "apply",
        "-f-",
        stdin=several(
            config_map("a", labels={"app": "x"}), config_map("b", labels={"app": "y"}), config_map("c", {"k": "v"})
        ),
    )
    for arguments in (
        ("get", "configmaps", NOT_ROOT),
        ("get", "cm", "a", "b"),
        ("get", "cm", "a", "-o", "yaml"),
        ("get", "cm", "a", "-o", "json"),
        ("get", "cm", NOT_ROOT, "-o", "wide"),
        ("get", "cm", NOT_ROOT, "-o", "name"),
        ("get", "cm", NOT_ROOT, "-o", "json"),
        ("get", "cm", NOT_ROOT, "-o", "custom-columns=NAME:.metadata.name,APP:.metadata.labels.app"),
        ("get", "cm", NOT_ROOT, "-o", "jsonpath={range .items[*]}{.metadata.name} {end}"),
        ("get", "cm", NOT_ROOT, "--show-labels"),
        ("get", "cm", NOT_ROOT, "-L", "app"),
        ("get", "cm", NOT_ROOT, "--sort-by=.metadata.name"),
        ("get", "cm", NOT_ROOT, "--no-headers"),
        ("get", "cm", NOT_ROOT, "--chunk-size=1"),
        ("get", "cm", "-l", "app=x"),
        ("get", "cm", "-l", "app in (x, y)"),
        ("get", "cm", "-l", "app=none"),
        ("get", "cm", "--field-selector=metadata.name=b"),
        ("get", "cm", "--field-selector=data.a=b"),
        ("get", "cm,leases", NOT_ROOT),
        ("get", "cm", "none"),
        ("get", "nonsense"),
        ("get", "cm/a", "lease/none"),
        ("get", "cm", "--all-namespaces", f"--field-selector=metadata.namespace={shell.namespace},metadata.name=a"),
        ("get", "ns", shell.namespace),
        ("get", "--raw", f"/api/v1/namespaces/{shell.namespace}/configmaps/a"),
        ("get", "--raw", f"/api/v1/namespaces/{shell.namespace}/configmaps/none"),
        ("describe", "cm", "a"),
        ("describe", "cm", "none"),
    ):
        shell(*arguments)


def watching(shell: Shell) -> None:
    shell("create", "configmap", "a", "--from-literal=a=1")
    watched = ("get", "cm", "--watch", "--field-selector=metadata.name=a")
    for options, lines in (((), 4), (("--output-watch-events",), 4), (("-o", "name"), 3), (("--watch-only",), 2)):
        if shell.kubectl.minor < 18 and options == ("--output-watch-events",):
            continue
        if options == ("--watch-only",):
            continue  # says nothing at first
        with shell.watching(*watched, *options, lines=lines):
            shell("label", "cm", "a", f"step={len(shell.transcript)}", "--overwrite", quiet=True)
            shell("annotate", "cm", "a", f"step={len(shell.transcript)}", "--overwrite", quiet=True)


def applying(shell: Shell) -> None:
    shell("apply", "-f-", stdin=config_map("a", {"a": "1", "b": "2"}))
    shell("apply", "-f-", stdin=config_map("a", {"a": "1", "b": "2"}))
    shell("apply", "-f-", stdin=config_map("a", {"a": "3"}))
    shell("get", "cm", "a", "-o", "yaml")
    shell("apply", "-f-", "--dry-run=server", stdin=config_map("a", {"a": "4"}))
    shell("apply", "-f-", "--dry-run=client", stdin=config_map("a", {"a": "4"}))
    shell("apply", "-f-", "--dry-run=server", "-o", "yaml", stdin=config_map("new", {"a": "4"}))
    shell("apply", "-f-", stdin=config_map("a", {"a": "5"}, resourceVersion="1"))
    shell("apply", "-f-", "-o", "yaml", stdin=deployment("web"))
    shell("apply", "-f-", stdin=deployment("web", replicas=3, image="image:2"))
    shell("get", "deployment", "web", "-o", "yaml")
    shell("apply", "view-last-applied", "cm/a")
    shell("apply", "-f-", stdin="apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: A_B\n")
    shell("apply", "-f-", stdin="apiVersion: v1\nkind: Nonsense\nmetadata:\n  name: a\n")
    shell("apply", "-f-", stdin="apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\ndatum: {}\n")
    prune = (
        "--prune-allowlist=core/v1/ConfigMap" if shell.kubectl.minor >= 26 else "--prune-whitelist=core/v1/ConfigMap"
    )
    labelled = {"labels": {"set": "one"}}
    shell("apply", "-f-", stdin=several(config_map("p", **labelled), config_map("q", **labelled)))
    shell("apply", "-f-", "--prune", "-l", "set=one", prune, stdin=several(config_map("p", **labelled)))
    shell("get", "cm", "-l", "set=one", "-o", "name")


def applying_on_the_server(shell: Shell) -> None:
    def server_side(*arguments: str, stdin: Any) -> None:
        shell("apply", "--server-side", "-f-", *arguments, stdin=stdin)

    server_side(stdin=config_map("a", {"a": "1", "b": "2"}))
    server_side(stdin=config_map("a", {"a": "1", "b": "2"}))
    server_side("--field-manager=other", stdin=config_map("a", {"a": "9"}))
    server_side("--field-manager=other", "--force-conflicts", stdin=config_map("a", {"a": "9", "c": "3"}))
    server_side(stdin=config_map("a", {"b": "2"}))
    server_side("--dry-run=server", "-o", "yaml", stdin=config_map("a", {"b": "3"}))
    server_side(stdin=deployment("web"))
    server_side("--field-manager=scaler", stdin=deployment("web", replicas=5))
    shell("get", "cm", "a", "-o", "yaml", *_with_managed_fields(shell))
    shell("get", "deployment", "web", "-o", "yaml", *_with_managed_fields(shell))
    shell("apply", "-f-", stdin=config_map("b"))
    server_side(stdin=config_map("b", {"a": "2"}))
    shell("get", "cm", "b", "-o", "yaml", *_with_managed_fields(shell))


def _with_managed_fields(shell: Shell) -> tuple[str, ...]:
    return ("--show-managed-fields",) if shell.kubectl.minor >= 21 else ()


def changing(shell: Shell) -> None:
    shell("create", "configmap", "a", "--from-literal=a=1", "--from-literal=b=2")
    shell("create", "configmap", "a", "--from-literal=a=1")
    shell("create", "configmap", "dry", "--from-literal=a=1", "--dry-run=server", "-o", "yaml")
    shell("create", "-f-", stdin=config_map("from-file"))
    shell("create", "secret", "generic", "s", "--from-literal=a=1", "-o", "yaml")
    shell("create", "serviceaccount", "robot")
    shell("create", "namespace", shell.unique("made"))
    shell("delete", "namespace", shell.unique("made"), "--wait=false")
    shell("replace", "-f-", stdin=config_map("a", {"a": "2"}))
    shell("replace", "-f-", stdin=config_map("none", {"a": "2"}))
    shell("replace", "--force", "-f-", stdin=config_map("a", {"a": "3"}))
    shell("edit", "cm", "a", editor="sed -i '/^ *a:/s/3/4/'")
    shell("edit", "cm", "a", editor="true")
    shell("patch", "cm", "a", "-p", '{"data":{"b":"5"}}')
    shell("patch", "cm", "a", "--type=merge", "-p", '{"data":{"b":null}}')
    shell("patch", "cm", "a", "--type=json", "-p", '[{"op":"add","path":"/data/c","value":"6"}]')
    shell("patch", "cm", "a", "--type=json", "-p", '[{"op":"test","path":"/data/c","value":"7"}]')
    shell("patch", "cm", "a", "-p", '{"data":{"c":"6"}}')
    shell("patch", "cm", "none", "-p", '{"data":{"c":"6"}}')
    shell("label", "cm", "a", "x=1")
    shell("label", "cm", "a", "x=2")
    shell("label", "cm", "a", "x=2", "--overwrite")
    shell("label", "cm", "a", "x-")
    shell("label", "cm", "a", "x=a b")
    shell("annotate", "cm", "a", "note=some words", "other=1")
    shell("annotate", "cm", "a", "note-")
    shell("get", "cm", "a", "-o", "yaml", *_with_managed_fields(shell))
    if shell.kubectl.minor < 21:
        return  # its diff shows managed fields, whose order depends on the second
    shell("diff", "-f-", stdin=config_map("a", {"a": "4", "c": "9"}))
    shell("diff", "-f-", stdin=config_map("a", {"a": "4", "c": "6"}, annotations={"other": "1"}))


def deployments(shell: Shell) -> None:
    shell("create", "deployment", "web", "--image=image:1")
    shell("create", "deployment", "web", "--image=image:1")
    shell("scale", "deployment", "web", "--replicas=3")
    shell("scale", "deployment", "web", "--current-replicas=1", "--replicas=4")
    shell("scale", "deployment", "none", "--replicas=4")
    shell("set", "image", "deployment/web", "image=image:2")
    shell("set", "env", "deployment/web", "A=1")
    shell(
        "patch",
        "deployment",
        "web",
        "-p",
        '{"spec":{"template":{"spec":{"containers":[{"name":"side","image":"x"}]}}}}',
    )
    if shell.kubectl.minor >= 24:
        status = '{"status":{"replicas":2,"readyReplicas":1,"conditions":[{"type":"Available","status":"True"}]}}'
        shell("patch", "deployment", "web", "--subresource=status", "-p", status)
        shell("get", "deployment", "web", "--subresource=status", "-o", "yaml")
        shell("wait", "deployment/web", "--for=condition=Available", "--timeout=5s")
    shell("get", "deployment", "web")
    shell("get", "deployment", "web", "-o", "wide")
    shell("get", "deployment", "web", "-o", "yaml", *_with_managed_fields(shell))
    shell("rollout", "restart", "deployment/none")
    shell("delete", "deployment", "web")


def deleting(shell: Shell) -> None:
    for name in ("a", "b", "c", "d", "e", "f", "g", "h"):
        labels = {"group": "some"} if name in "fg" else {}
        shell("create", "-f-", stdin=config_map(name, labels=labels), quiet=True)
    shell("delete", "cm", "a")
    shell("delete", "cm", "a")
    shell("delete", "cm", "a", "--ignore-not-found")
    shell("delete", "cm", "b", "c", "--wait=false", "-o", "name")
    shell("delete", "cm", "d", "--cascade=background")
    shell("delete", "cm", "e", "--cascade=orphan")
    shell("delete", "cm", "-l", "group=some", "--dry-run=server")
    shell("delete", "cm", "-l", "group=some")
    shell("delete", "cm", "h", "--cascade=foreground")
    shell("create", "-f-", stdin=config_map("held", finalizers=["example.com/hold"]))
    shell("delete", "cm", "held", "--wait=false")
    shell("delete", "cm", "held", "--timeout=1s")
    shell("get", "cm", "held", "-o", "jsonpath={.metadata.finalizers}")
    shell("patch", "cm", "held", "--type=merge", "-p", '{"metadata":{"finalizers":null}}')
    shell("get", "cm", "held")
    shell("create", "-f-", stdin=config_map("forced"), quiet=True)
    shell("delete", "cm", "forced", "--force", "--grace-period=0")
    shell("create", "-f-", stdin=config_map("now"), quiet=True)
    shell("delete", "cm", "now", "--now")
    shell("create", "-f-", stdin=config_map("from-file"), quiet=True)
    shell("delete", "-f-", stdin=config_map("from-file"))
    shell("create", "lease", "none")
    for name in ("x", "y"):
        shell("create", "serviceaccount", name, quiet=True)
    shell("delete", "serviceaccounts", "--all")


def waiting(shell: Shell) -> None:
    shell("create", "-f-", stdin=config_map("a"), quiet=True)
    shell("wait", "cm/a", "--for=delete", "--timeout=1s")
    if shell.kubectl.minor >= 23:
        shell("wait", "cm/a", "--for=jsonpath={.data.a}=1", "--timeout=5s")
        shell("wait", "cm/a", "--for=jsonpath={.data.a}=2", "--timeout=1s")
    shell("delete", "cm", "a", "--wait=false")
    shell("wait", "cm/a", "--for=delete", "--timeout=5s")
    shell("wait", "cm/none", "--for=condition=Ready", "--timeout=1s")


def custom_resources(shell: Shell) -> None:
    shell("apply", "-f-", stdin=DEFINITION, quiet=True)
    shell("wait", f"crd/sites.{GROUP}", "--for=condition=Established", "--timeout=20s")
    shell("get", "crd", f"sites.{GROUP}")
    shell("apply", "-f-", stdin=site("a"))
    shell("apply", "-f-", stdin=site("a", {"domain": "b.example"}))
    shell("apply", "-f-", stdin=site("bad", {"domain": "b"}))
    shell("apply", "-f-", stdin=site("bad", {}))
    shell("apply", "-f-", stdin=site("odd", {"domain": "b.example", "unknown": 1}))
    shell("apply", "-f-", "--validate=false", stdin=site("odd", {"domain": "b.example", "unknown": 1}))
    for arguments in (
        ("get", "sites"),
        ("get", "st", "a", "-o", "wide"),
        ("get", "site", "a", "-o", "yaml", *_with_managed_fields(shell)),
        ("get", f"sites.v1.{GROUP}", "a", "-o", "name"),
        ("describe", "site", "a"),
        ("scale", "site", "a", "--replicas=4"),
        ("patch", "site", "a", "-p", '{"spec":{"replicas":1}}'),
        ("patch", "site", "a", "--type=merge", "-p", '{"spec":{"replicas":-1}}'),
        ("patch", "site", "a", "--type=json", "-p", '[{"op":"remove","path":"/spec/domain"}]'),
        ("explain", "sites"),
        ("explain", "sites.spec.domain"),
        ("explain", "sites", "--recursive"),
        ("explain", "sites.none"),
    ):
        shell(*arguments)
    if shell.kubectl.minor >= 24:
        ready = '{"status":{"conditions":[{"type":"Ready","status":"True"}]}}'
        shell("patch", "site", "a", "--subresource=status", "--type=merge", "-p", ready)
        shell("wait", "site/a", "--for=condition=Ready", "--timeout=5s")
    shell("delete", "sites", "--all")


NOT_COMPARED = r"\.dev|example\.com|autoscaling/v1|^bindings|^componentstatuses"
"""Groups of other tests' definitions; and what the embedded server leaves out."""


def discovering(shell: Shell) -> None:
    for arguments in (
        ("api-versions",),
        ("api-resources", "--api-group="),
        ("api-resources", "--api-group=apps"),
        ("api-resources", "--api-group=coordination.k8s.io", "-o", "wide"),
        ("api-resources", "--namespaced=false", "-o", "name"),
        ("api-resources", "--verbs=list,watch", "--api-group=policy"),
        ("auth", "can-i", "get", "pods"),
        ("auth", "can-i", "create", "nonsense"),
        ("auth", "can-i", "--list", "--namespace=default"),
        ("auth", "can-i", "*", "*", "--all-namespaces"),
        ("cluster-info",),
    ):
        shell(*arguments, without=NOT_COMPARED)
    if shell.kubectl.minor >= 30:  # from the third version of OpenAPI; the second has no structure of lists
        for arguments in (("lease.spec",), ("deployment.spec.template.spec.containers",), ("configmap",)):
            shell("explain", "--recursive", *arguments, without=r"DESCRIPTION|^    [^\t\n]*$")
        shell("explain", "cm.none")


SCRIPTS: tuple[Script, ...] = (
    reading,
    watching,
    applying,
    applying_on_the_server,
    changing,
    deployments,
    deleting,
    waiting,
    custom_resources,
    discovering,
)
