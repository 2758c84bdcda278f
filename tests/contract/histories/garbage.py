"""What goes with its owner. Needs a garbage collector."""

from __future__ import annotations

import asyncio

from tests.contract.histories.objects import CONFIG_MAPS, config_map
from tests.contract.transcripts import JSON_PATCH, MERGE, Document, Stage


async def garbage(stage: Stage) -> None:
    """Needs a garbage collector."""
    collection = stage.path(CONFIG_MAPS)

    async def family(prefix: str) -> str:
        owner = await stage.ask("POST", collection, config_map(f"{prefix}-owner"))
        reference: Document = {"kind": "ConfigMap", "apiVersion": "v1", "name": f"{prefix}-owner"}
        reference |= {"uid": owner["metadata"]["uid"], "controller": True, "blockOwnerDeletion": True}
        await stage.ask("POST", collection, config_map(f"{prefix}-child", ownerReferences=[reference]))
        return stage.path(CONFIG_MAPS, f"{prefix}-owner")

    def gone(answer: Document) -> bool:
        return answer.get("code") == 404

    for policy in ("Background", "Foreground"):
        owner = await family(policy.lower())
        await stage.ask("DELETE", owner, {"kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": policy})
        await stage.until(stage.path(CONFIG_MAPS, f"{policy.lower()}-child"), gone)
        await stage.until(owner, gone)
    owner = await family("orphan")
    await stage.ask("DELETE", owner, {"kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": "Orphan"})
    await stage.until(owner, gone)
    child = await stage.ask("GET", stage.path(CONFIG_MAPS, "orphan-child"), quiet=True)
    stage.note("owners of the orphan", child["metadata"].get("ownerReferences"))
    nobody = {"kind": "ConfigMap", "apiVersion": "v1", "name": "x", "uid": "11111111-2222-4333-8444-555555555555"}
    await stage.ask("POST", collection, config_map("stray", ownerReferences=[nobody]))
    await stage.until(stage.path(CONFIG_MAPS, "stray"), gone)


NOBODY = "11111111-2222-4333-8444-555555555555"
SETTLED_SECONDS = 1.5
"""In which the controllers do what they will do; to show that they do nothing."""


async def owners_and_dependents(stage: Stage) -> None:
    """One object with several owners, owners in the wrong place, kinds that do not exist."""
    collection = stage.path(CONFIG_MAPS)
    first, second = await _made(stage, "first"), await _made(stage, "second")
    await _made(stage, "both", [_owner(first), _owner(second)])
    await _made(stage, "partly-dangling", [_owner(second), _owner(first, name="none", uid=NOBODY)])
    await stage.until(stage.path(CONFIG_MAPS, "partly-dangling"), lambda found: len(_owners(found)) == 1)
    await stage.ask("GET", stage.path(CONFIG_MAPS, "partly-dangling"))
    await stage.ask("DELETE", stage.path(CONFIG_MAPS, "first"), quiet=True)
    await stage.until(stage.path(CONFIG_MAPS, "both"), lambda found: len(_owners(found)) == 1)
    await stage.ask("GET", stage.path(CONFIG_MAPS, "both"))
    for name, owner in (
        ("wrong-uid", _owner(second, uid=NOBODY)),
        ("wrong-name", _owner(second, name="another")),
        ("wrong-kind", _owner(second, kind="Secret")),
    ):
        await _made(stage, name, [owner])
        await stage.until(stage.path(CONFIG_MAPS, name), _gone)
    await _made(stage, "unknown-kind", [_owner(second, kind="Nothing")])
    await _made(stage, "unknown-version", [_owner(second, apiVersion="v9")])
    await asyncio.sleep(SETTLED_SECONDS)
    for name in ("unknown-kind", "unknown-version"):
        await stage.ask("GET", stage.path(CONFIG_MAPS, name))
    await stage.ask("DELETE", stage.path(CONFIG_MAPS, "second"), quiet=True)
    await stage.until(stage.path(CONFIG_MAPS, "both"), _gone)
    await stage.until(stage.path(CONFIG_MAPS, "partly-dangling"), _gone)
    await stage.ask("GET", collection, query={"fieldSelector": "metadata.name!=kube-root-ca.crt"})


async def owners_in_other_scopes(stage: Stage) -> None:
    other = stage.unique("other")
    place = await stage.ask("POST", "/api/v1/namespaces", _namespace(other))
    there = await stage.ask("POST", f"/api/v1/namespaces/{other}/configmaps", config_map("owner", {}), quiet=True)
    await _made(stage, "of-another-namespace", [_owner(there)])
    await stage.until(stage.path(CONFIG_MAPS, "of-another-namespace"), _gone)
    await _made(stage, "of-a-namespace", [_owner(place)])
    mine = await _made(stage, "mine")
    clustered = _namespace(stage.unique("child"))
    clustered["metadata"]["ownerReferences"] = [_owner(mine)]
    await stage.ask("POST", "/api/v1/namespaces", clustered)
    await stage.ask("DELETE", stage.path(CONFIG_MAPS, "mine"), quiet=True)
    await stage.ask("DELETE", f"/api/v1/namespaces/{other}", quiet=True)
    await stage.until(stage.path(CONFIG_MAPS, "of-a-namespace"), _gone)
    await asyncio.sleep(SETTLED_SECONDS)
    await stage.ask("GET", f"/api/v1/namespaces/{stage.unique('child')}")
    await stage.ask("DELETE", f"/api/v1/namespaces/{stage.unique('child')}", quiet=True)


async def foreground_deletions(stage: Stage) -> None:
    owner, other = await _made(stage, "owner"), await _made(stage, "other")
    blocking = _owner(owner, blockOwnerDeletion=True)
    await _made(stage, "held", [blocking], finalizers=["example.com/hold"])
    await _made(stage, "free", [_owner(owner)], finalizers=["example.com/hold"])
    await _made(stage, "shared", [blocking, _owner(other)])
    middle = await _made(stage, "middle", [blocking])
    await _made(stage, "leaf", [_owner(middle, blockOwnerDeletion=True)], finalizers=["example.com/hold"])
    await stage.ask("DELETE", stage.path(CONFIG_MAPS, "owner"), _options("Foreground"))
    await stage.until(stage.path(CONFIG_MAPS, "leaf"), _ending)
    await stage.until(stage.path(CONFIG_MAPS, "free"), _ending)
    await stage.until(stage.path(CONFIG_MAPS, "held"), _ending)
    await stage.until(stage.path(CONFIG_MAPS, "shared"), lambda found: len(_owners(found)) == 1)
    for name in ("owner", "held", "free", "shared", "middle", "leaf"):
        await stage.ask("GET", stage.path(CONFIG_MAPS, name))
    await _release(stage, "leaf")
    await stage.until(stage.path(CONFIG_MAPS, "middle"), _gone)
    await stage.ask("GET", stage.path(CONFIG_MAPS, "owner"))
    await _release(stage, "held")
    await stage.until(stage.path(CONFIG_MAPS, "owner"), _gone)
    await stage.ask("GET", stage.path(CONFIG_MAPS, "free"))
    await _release(stage, "free")
    await stage.ask("DELETE", stage.path(CONFIG_MAPS, "other"), _options("Foreground"))
    await stage.until(stage.path(CONFIG_MAPS, "shared"), _gone)


async def orphans(stage: Stage) -> None:
    owner = await _made(stage, "owner", finalizers=["example.com/hold"])
    other = await _made(stage, "other")
    await _made(stage, "one", [_owner(owner, blockOwnerDeletion=True, controller=True)])
    await _made(stage, "two", [_owner(owner), _owner(other)])
    await stage.ask("DELETE", stage.path(CONFIG_MAPS, "owner"), _options("Orphan"))
    await stage.until(stage.path(CONFIG_MAPS, "owner"), lambda found: "orphan" not in _finalizers(found))
    for name in ("owner", "one", "two"):
        await stage.ask("GET", stage.path(CONFIG_MAPS, name))
    await _release(stage, "owner")
    await stage.until(stage.path(CONFIG_MAPS, "owner"), _gone)
    await asyncio.sleep(SETTLED_SECONDS)
    await stage.ask("GET", stage.path(CONFIG_MAPS), query={"fieldSelector": "metadata.name!=kube-root-ca.crt"})
    query = {"propagationPolicy": "Orphan"}
    await stage.ask("DELETE", stage.path(CONFIG_MAPS, "other"), query=query)
    await stage.until(stage.path(CONFIG_MAPS, "other"), _gone)
    await stage.ask("GET", stage.path(CONFIG_MAPS, "two"))


async def ends_of_namespaces(stage: Stage) -> None:
    name = stage.unique("ending")
    one = f"/api/v1/namespaces/{name}"
    made = await stage.ask("POST", "/api/v1/namespaces", _namespace(name))
    await stage.ask("POST", f"{one}/configmaps", config_map("held", {}, finalizers=["example.com/hold"]), quiet=True)
    await stage.ask("POST", f"{one}/configmaps", config_map("free", {}), quiet=True)
    await stage.ask("DELETE", one)
    await stage.until(one, _discovered)
    await stage.until(f"{one}/configmaps/held", _ending)
    await stage.until(f"{one}/configmaps/free", _gone)
    await stage.ask("GET", one)
    await stage.ask("POST", f"{one}/configmaps", config_map("late", {}))
    await stage.ask("DELETE", one)
    change = {"metadata": {"finalizers": None}}
    await stage.ask("PATCH", f"{one}/configmaps/held", change, content_type=MERGE, quiet=True)
    await stage.until(one, _gone)
    again = await stage.ask("POST", "/api/v1/namespaces", _namespace(name))
    stage.note("another one", again["metadata"]["uid"] != made["metadata"]["uid"])
    query = {"resourceVersion": again["metadata"]["resourceVersion"], "fieldSelector": f"metadata.name={name}"}
    async with stage.watch("/api/v1/namespaces", query) as read:
        await stage.ask("DELETE", one, quiet=True)
        await read(3)


async def _made(stage: Stage, name: str, owners: list[Document] | None = None, **metadata: object) -> Document:
    given = {"ownerReferences": owners} if owners else {}
    return await stage.ask("POST", stage.path(CONFIG_MAPS), config_map(name, {}, **given, **metadata), quiet=True)


async def _release(stage: Stage, name: str) -> None:
    change = [{"op": "remove", "path": "/metadata/finalizers/0"}]
    await stage.ask("PATCH", stage.path(CONFIG_MAPS, name), change, content_type=JSON_PATCH, quiet=True)


def _owner(made: Document, **changes: object) -> Document:
    metadata = made["metadata"]
    reference = {"apiVersion": made["apiVersion"], "kind": made["kind"], "name": metadata["name"]}
    return {**reference, "uid": metadata["uid"], **changes}


def _namespace(name: str) -> Document:
    return {"kind": "Namespace", "apiVersion": "v1", "metadata": {"name": name}}


def _options(policy: str) -> Document:
    return {"kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": policy}


def _discovered(answer: Document) -> bool:
    """Definitions that other histories removed are in the way of discovery for a while."""
    conditions = answer["status"].get("conditions") or []
    return any(each["reason"] == "ResourcesDiscovered" for each in conditions)


def _gone(answer: Document) -> bool:
    return answer.get("code") == 404


def _ending(answer: Document) -> bool:
    return "deletionTimestamp" in answer.get("metadata", {})


def _owners(answer: Document) -> list[Document]:
    return answer["metadata"].get("ownerReferences") or []


def _finalizers(answer: Document) -> list[str]:
    return answer["metadata"].get("finalizers") or []


HISTORIES = (
    garbage,
    owners_and_dependents,
    owners_in_other_scopes,
    foreground_deletions,
    orphans,
    ends_of_namespaces,
)
