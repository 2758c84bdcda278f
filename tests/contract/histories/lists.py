"""Lists: selectors, pages and versions."""

from __future__ import annotations

import base64
import json

from tests.contract.histories.objects import CONFIG_MAPS, config_map
from tests.contract.transcripts import Document, Stage


async def lists(stage: Stage) -> None:
    collection = stage.path(CONFIG_MAPS)
    for name, labels in (
        ("a", {"app": "x", "tier": "1"}),
        ("b", {"app": "y", "tier": "2"}),
        ("a-b", {"app": "z"}),
        ("c", {"tier": "3"}),
        ("d", {}),
    ):
        await stage.ask("POST", collection, config_map(name, labels=labels), quiet=True)
    root = {"fieldSelector": "metadata.name!=kube-root-ca.crt"}
    await stage.ask("GET", collection, query=root)
    for selector in (
        "app",
        "!app",
        "app=x",
        "app==x",
        "app!=x",
        "app in (x, z)",
        "app notin (x,z)",
        "app in (x),tier",
        "tier>1",
        "tier<2",
        "app=",
        "app in ()",
        "app,",
        "app=x y",
        "app in x",
        "=x",
        "-a=x",
        "app=-x",
        "tier>z",
    ):
        await stage.ask("GET", collection, query=root | {"labelSelector": selector})
    for selector in (
        "metadata.name=a",
        "metadata.name=a,metadata.namespace=none",
        "metadata.name==b",
        "spec.none=a",
        "metadata.name",
        "data.a=1",
    ):
        await stage.ask("GET", collection, query={"fieldSelector": selector})


async def pages(stage: Stage) -> None:
    collection = stage.path(CONFIG_MAPS)
    for name in ("a", "b", "c", "d", "e"):
        await stage.ask("POST", collection, config_map(name, labels={"page": "yes"}), quiet=True)
    wanted = {"labelSelector": "page", "limit": "2"}
    page = await stage.ask("GET", collection, query=wanted)
    await stage.ask("POST", collection, config_map("bb", labels={"page": "yes"}), quiet=True)
    await stage.ask("DELETE", stage.path(CONFIG_MAPS, "d"), quiet=True)
    page = await stage.ask("GET", collection, query=wanted | {"continue": page["metadata"]["continue"]})
    page = await stage.ask("GET", collection, query=wanted | {"continue": page["metadata"]["continue"]})
    await stage.ask("GET", collection, query={"labelSelector": "page", "limit": "5"})
    await stage.ask("GET", collection, query={"labelSelector": "page", "resourceVersion": "0", "limit": "2"})
    refused = await stage.ask("GET", collection, query={"continue": "nonsense"}, quiet=True)
    # The rest of the message is the JSON library's.
    stage.note("refused", (refused["code"], refused["reason"], refused["message"].partition(" is not valid: ")[0]))
    await stage.ask("GET", collection, query={"limit": "-1", "labelSelector": "page"})


async def list_versions(stage: Stage) -> None:
    collection = stage.path(CONFIG_MAPS)
    first = await stage.ask("POST", collection, config_map("a", labels={"mine": ""}))
    await stage.ask("POST", collection, config_map("b", labels={"mine": ""}))
    version, mine = first["metadata"]["resourceVersion"], {"labelSelector": "mine"}
    for query in (
        {"resourceVersion": version, "resourceVersionMatch": "Exact"},
        {"resourceVersion": version, "resourceVersionMatch": "NotOlderThan"},
        {"resourceVersion": version},
        {"resourceVersion": version, "limit": "5"},
        {"resourceVersion": "0"},
        {"resourceVersion": "0", "resourceVersionMatch": "Exact"},
        {"resourceVersionMatch": "Exact"},
        {"resourceVersion": version, "resourceVersionMatch": "Nonsense"},
        {"resourceVersion": "nonsense"},
        {"resourceVersion": "-1"},
        {"resourceVersion": version, "sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan"},
        {"resourceVersion": "900000000", "resourceVersionMatch": "NotOlderThan"},
    ):
        answer = await stage.ask("GET", collection, query=mine | query, quiet=True)
        shown = {key: "<version>" if value == version else value for key, value in query.items()}
        stage.note(f"list {shown}", stage.normalise(answer))


async def pages_of_everything(stage: Stage) -> None:
    """Pages without a selector count what remains; pages with one go on although nothing more may match."""
    collection = stage.path(CONFIG_MAPS)
    for name in ("a", "b", "c", "d"):
        await stage.ask("POST", collection, config_map(name, {}, labels={"even": str(name in "bd")}), quiet=True)
    for query in (
        {"limit": "1"},
        {"limit": "3"},
        {"limit": "4"},
        {"limit": "2", "labelSelector": "even=True"},
        {"limit": "1", "labelSelector": "even=True"},
        {"limit": "1", "labelSelector": "even=none"},
        {"limit": "1", "fieldSelector": "metadata.name=b"},
        {"limit": "1", "fieldSelector": "metadata.name!=a"},
        {"limit": "2", "fieldSelector": f"metadata.namespace={stage.namespace}"},
        {"limit": "1", "resourceVersion": "0"},
        {"limit": "1", "resourceVersion": "0", "resourceVersionMatch": "NotOlderThan"},
        {"limit": "1", "resourceVersion": "1", "resourceVersionMatch": "NotOlderThan"},
        {"limit": "0"},
        {"limit": "abc"},
        {"limit": "1.5"},
        {"limit": "99999999999999999999"},
        {"limit": ""},
        {"timeoutSeconds": "abc"},
        {"timeoutSeconds": "0"},
        {"timeoutSeconds": "-5"},
        {"allowWatchBookmarks": "maybe"},
        {"watch": "0"},
        {"sendInitialEvents": "maybe"},
        {"sendInitialEvents": "false"},
        {"unknown": "x"},
    ):
        await stage.ask("GET", collection, query=query)
    page = await stage.ask("GET", collection, query={"limit": "1"})
    while token := page["metadata"].get("continue"):
        page = await stage.ask("GET", collection, query={"limit": "2", "continue": token})


async def continue_tokens(stage: Stage) -> None:
    collection = stage.path(CONFIG_MAPS)
    for name in ("a", "b", "c", "d"):
        await stage.ask("POST", collection, config_map(name, {}), quiet=True)
    page = await stage.ask("GET", collection, query={"limit": "2"})
    token = page["metadata"]["continue"]
    content = unpacked(token)
    stage.note("start", content["start"])
    for query in (
        {"continue": token},
        {"continue": token, "resourceVersion": "0"},
        {"continue": token, "resourceVersion": "5"},
        {"continue": token, "resourceVersion": "nonsense"},
        {"continue": token, "resourceVersionMatch": "NotOlderThan"},
        {"continue": token, "resourceVersionMatch": "Exact", "resourceVersion": "5"},
        {"continue": token, "fieldSelector": "metadata.name=a"},
        {"continue": token, "fieldSelector": "metadata.name=b"},
        {"continue": token, "fieldSelector": "metadata.name=c"},
        {"continue": "nonsense", "fieldSelector": "metadata.name=c"},
        {"continue": token, "fieldSelector": "metadata.name!=c"},
        {"continue": token, "labelSelector": "none"},
        {"continue": token, "limit": "-1"},
    ):
        await stage.ask("GET", collection, query=query)
    await stage.ask("GET", stage.path("v1/secrets"), query={"continue": token, "limit": "2"})
    for change in (
        {"rv": -1},
        {"rv": 0},
        {"rv": -1, "start": "c"},
        {"rv": -1, "start": "c\0"},
        {"rv": -1, "start": "/c"},
        {"rv": -1, "start": "zzz"},
        {"start": ""},
        {"start": "../x"},
        {"start": "a/../b"},
        {"start": "a//b"},
        {"start": "./a"},
        {"v": "meta.k8s.io/v2"},
        {"v": ""},
        {"more": "x"},
    ):
        await stage.ask("GET", collection, query={"limit": "1", "continue": packed(content | change)})
    for raw in ("", "!", "a", "ab", "abc", "a=b", "nonsense", "ab=", "bm8", "e30", "W10", "MQ", "IA"):
        await stage.ask("GET", collection, query={"continue": raw, "fieldSelector": "metadata.name!=x"})
    await stage.ask("POST", collection, config_map("cc", {}), quiet=True)
    await stage.ask("DELETE", stage.path(CONFIG_MAPS, "d"), quiet=True)
    await stage.ask("GET", collection, query={"continue": token})
    await stage.ask("GET", collection, query={"continue": packed(content | {"rv": -1})})


async def lists_across_namespaces(stage: Stage) -> None:
    mine = {"labelSelector": f"run={stage.namespace}"}
    other = stage.unique("other")
    body = {"kind": "Namespace", "apiVersion": "v1", "metadata": {"name": other}}
    await stage.ask("POST", "/api/v1/namespaces", body, quiet=True)
    for namespace in (stage.namespace, other):
        for name in ("b", "a"):
            made = config_map(name, {}, labels={"run": stage.namespace})
            await stage.ask("POST", f"/api/v1/namespaces/{namespace}/configmaps", made, quiet=True)
    await stage.ask("GET", "/api/v1/configmaps", query=mine)
    for selector in (f"metadata.namespace={other}", f"metadata.namespace!={other}", "metadata.name=a"):
        await stage.ask("GET", "/api/v1/configmaps", query=mine | {"fieldSelector": selector})
    exact = {"fieldSelector": f"metadata.name=a,metadata.namespace={other}"}
    await stage.ask("GET", "/api/v1/configmaps", query=exact)
    await stage.ask("GET", stage.path(CONFIG_MAPS), query=exact)
    page = await stage.ask("GET", "/api/v1/configmaps", query=mine | {"limit": "3"}, quiet=True)
    stage.note("names", [each["metadata"]["name"] for each in page["items"]])
    stage.note("start", stage.normalise(unpacked(page["metadata"]["continue"])["start"]))
    await stage.ask("DELETE", f"/api/v1/namespaces/{other}", quiet=True)


async def versions_of_single_objects(stage: Stage) -> None:
    one = stage.path(CONFIG_MAPS, "a")
    made = await stage.ask("POST", stage.path(CONFIG_MAPS), config_map("a", {}))
    version = made["metadata"]["resourceVersion"]
    for query in (
        {"resourceVersion": ""},
        {"resourceVersion": "0"},
        {"resourceVersion": "nonsense"},
        {"resourceVersion": "-1"},
        {"resourceVersion": "900000000"},
        {"resourceVersionMatch": "Exact"},
        {"labelSelector": "none"},
        {"watch": "false"},
    ):
        await stage.ask("GET", one, query=query)
    at_its_own = await stage.ask("GET", one, query={"resourceVersion": version}, quiet=True)
    stage.note("at its own version", stage.normalise(at_its_own))
    for name, resource_version in (("none", "0"), ("none", "nonsense")):
        await stage.ask("GET", stage.path(CONFIG_MAPS, name), query={"resourceVersion": resource_version})


async def refused_versions(stage: Stage) -> None:
    """Versions that are malformed or from the future."""
    collection, named = stage.path(CONFIG_MAPS), {"fieldSelector": "metadata.name=none"}
    for query in (
        {"resourceVersion": "900000000"},
        {"resourceVersion": "900000000", "resourceVersionMatch": "Exact"},
        {"resourceVersion": "900000000", "fieldSelector": "metadata.name=none"},
        {"resourceVersion": "99999999999999999999"},
        {"resourceVersion": "1.5"},
        {"resourceVersion": "+1"},
        {"resourceVersion": "01"},
        {"resourceVersion": " 1"},
        {"resourceVersion": "", "resourceVersionMatch": "NotOlderThan"},
        {"resourceVersion": "0", "resourceVersionMatch": "Exact", "limit": "1"},
        {"resourceVersion": "nonsense", "resourceVersionMatch": "Nonsense"},
        {"resourceVersion": "nonsense", "resourceVersionMatch": "Exact"},
        {"resourceVersion": "nonsense", "limit": "1"},
        {"resourceVersion": "nonsense", "labelSelector": "a in b"},
        {"resourceVersionMatch": "Nonsense", "labelSelector": "a in b"},
        {"resourceVersionMatch": "Nonsense", "continue": "x", "sendInitialEvents": "true"},
        {"resourceVersionMatch": "Nonsense", "fieldSelector": "none=x"},
    ):
        await stage.ask("GET", collection, query={"labelSelector": "none"} | query)
    # Whether version 1 is gone depends on the age of the real server: tests/contract/test_compaction.py.
    await stage.ask("GET", collection, query=named | {"resourceVersion": "nonsense"})


def unpacked(token: str) -> Document:
    content: Document = json.loads(base64.urlsafe_b64decode(token + "=" * (-len(token) % 4)))
    return content


def packed(content: Document) -> str:
    return base64.urlsafe_b64encode(json.dumps(content).encode()).rstrip(b"=").decode()


HISTORIES = (
    lists,
    pages,
    list_versions,
    pages_of_everything,
    continue_tokens,
    lists_across_namespaces,
    versions_of_single_objects,
    refused_versions,
)
