"""Strategic merge patches of built-in resources: directives, orders, and what is no such patch."""

from __future__ import annotations

from typing import Any

from tests.contract.histories.objects import CONFIG_MAPS, config_map
from tests.contract.transcripts import STRATEGIC, Document, Stage

_MOMENT = "2026-01-02T03:04:05Z"
SERVICE_ACCOUNTS = "v1/serviceaccounts"
BUDGETS = "policy/v1/poddisruptionbudgets"


async def lists_of_objects(stage: Stage) -> None:
    """Secrets of an account are merged by name, pull secrets are replaced."""
    names = [{"name": name} for name in ("a", "b", "c")]
    body: Document = {"metadata": {"name": "one"}, "secrets": names, "imagePullSecrets": [{"name": "s"}]}
    await stage.ask("POST", stage.path(SERVICE_ACCOUNTS), body)
    one = stage.path(SERVICE_ACCOUNTS, "one")
    order = "$setElementOrder/secrets"
    patches: tuple[Document, ...] = (
        {"secrets": [{"name": "d"}]},
        {"secrets": [{"name": "b"}]},
        {"secrets": [{"name": "e"}, {"name": "b"}]},
        {"secrets": [{"name": "a", "$patch": "delete"}]},
        {"secrets": [{"name": "none", "$patch": "delete"}, {"name": "f"}]},
        {order: [{"name": "b"}, {"name": "c"}, {"name": "d"}, {"name": "e"}, {"name": "f"}]},
        {order: [{"name": "c"}, {"name": "b"}], "secrets": [{"name": "c"}]},
        {order: [{"name": "z"}, {"name": "b"}], "secrets": [{"name": "z"}]},
        {order: [{"name": "b"}], "secrets": [{"name": "y"}]},
        {order: [{"name": "b"}], "secrets": [{"name": "c", "$patch": "delete"}]},
        {order: "text"},
        {order: [{}], "secrets": [{"name": "y"}]},
        {"$setElementOrdersecrets": []},
        {"secrets": [{"name": "x", "$patch": "merge"}]},
        {"secrets": [{"name": "x", "$patch": "other"}]},
        {"secrets": [{"$patch": "delete"}]},
        {"secrets": [{}]},
        {"secrets": ["text"]},
        {"secrets": [None]},
        {"secrets": [["a"]]},
        {"secrets": "text"},
        {"secrets": [{"$patch": "replace"}, {"name": "p"}, {"name": "q"}]},
        {"secrets": []},
        {"secrets": [{"$patch": "replace"}]},
        {"secrets": [["a"]]},
        {"secrets": None},
        {"secrets": [{"name": "new"}, {"name": "gone", "$patch": "delete"}]},
        {"secrets": [{"name": "new", "namespace": None}]},
        {"secrets": [{"name": "new", "kind": None}]},
        {"imagePullSecrets": [{"name": "t"}, {"name": "u"}]},
        {"imagePullSecrets": ["text"]},
        {"automountServiceAccountToken": True, "imagePullSecrets": {"name": "a"}},
    )
    for patch in patches:
        await stage.ask("PATCH", one, patch, content_type=STRATEGIC)


async def lists_of_plain_values(stage: Stage) -> None:
    """Finalizers are a set that is merged."""
    await stage.ask("POST", stage.path(CONFIG_MAPS), config_map("one", finalizers=["x.io/a", "x.io/b"]))
    one = stage.path(CONFIG_MAPS, "one")
    order, delete = "$setElementOrder/finalizers", "$deleteFromPrimitiveList/finalizers"
    changes: tuple[Document, ...] = (
        {"finalizers": ["x.io/c"]},
        {"finalizers": ["x.io/a", "x.io/d"]},
        {delete: ["x.io/b", "x.io/none"]},
        {delete: ["x.io/c"], "finalizers": ["x.io/e"]},
        {order: ["x.io/e", "x.io/a", "x.io/d"]},
        {order: ["x.io/f", "x.io/e"], "finalizers": ["x.io/f"]},
        {order: ["x.io/e"], "finalizers": ["x.io/g"]},
        {"$deleteFromPrimitiveListfinalizers": ["x.io/a"]},
        {"$deleteFromPrimitiveList/labels": ["x"]},
        {"finalizers": [1]},
        {"finalizers": []},
        {"finalizers": None},
        {delete: ["x.io/b"]},
    )
    for metadata in changes:
        await stage.ask("PATCH", one, {"metadata": metadata}, content_type=STRATEGIC)


async def maps(stage: Stage) -> None:
    await stage.ask("POST", stage.path(CONFIG_MAPS), config_map("one", {"a": "1", "b": "2"}, labels={"x": "y"}))
    one = stage.path(CONFIG_MAPS, "one")
    patches: tuple[Document, ...] = (
        {"data": {"a": None, "c": "3", "none": None}},
        {"data": {"$patch": "replace", "d": "4"}},
        {"data": {"$patch": "delete"}},
        {"data": {"e": "5", "f": None}},
        {"data": {"$retainKeys": ["g"], "g": "7"}},
        {"data": {"$retainKeys": ["g"], "h": "8"}},
        {"data": {"$retainKeys": "g", "g": "7"}},
        {"data": {"$patch": "merge"}},
        {"data": {"$patch": "other"}},
        {"data": {"$patch": 5}},
        {"binaryData": {"$patch": "delete", "a": "eA=="}},
        {"metadata": {"$patch": "delete"}},
        {"metadata": {"labels": {"$patch": "replace", "z": "z"}}},
        {"metadata": {"annotations": {"a": "b", "c": None}}},
        {"data": None},
        {"$patch": "delete"},
        {"$patch": "replace", "data": {"a": "1"}},
        {"unknown": {"a": None}},
    )
    for patch in patches:
        await stage.ask("PATCH", one, patch, content_type=STRATEGIC)


async def replaced_fields(stage: Stage) -> None:
    """The selector of a budget is replaced as a whole."""
    selector: Document = {"matchLabels": {"a": "b"}, "matchExpressions": [{"key": "k", "operator": "Exists"}]}
    body = {"metadata": {"name": "one"}, "spec": {"minAvailable": 1, "selector": selector}}
    await stage.ask("POST", stage.path(BUDGETS), body)
    one = stage.path(BUDGETS, "one")
    specs: tuple[dict[str, Any], ...] = (
        {"selector": {"matchLabels": {"c": "d"}}},
        {"selector": {"matchExpressions": [{"key": "l", "operator": "Exists"}]}},
        {"minAvailable": "50%"},
        {"minAvailable": None, "maxUnavailable": 1},
        {"selector": None},
    )
    for spec in specs:
        await stage.ask("PATCH", one, {"spec": spec}, content_type=STRATEGIC)


async def items_of_lists(stage: Stage) -> None:
    """Conditions are merged by their type, field by field."""
    await stage.ask("POST", stage.path(BUDGETS), {"metadata": {"name": "one"}, "spec": {"minAvailable": 1}})
    status = stage.path(BUDGETS, "one", "status")
    ready: Document = {"type": "Ready", "status": "True", "reason": "R", "message": "", "lastTransitionTime": _MOMENT}
    for patch in (
        {"conditions": [ready]},
        {"conditions": [{"type": "Ready", "status": "False"}]},
        {"conditions": [ready | {"type": "Other"}, {"type": "Ready", "reason": "S"}]},
        {"conditions": [{"type": "Ready", "$patch": "delete"}]},
        {"conditions": [{"type": "Other", "observedGeneration": 3}, ready]},
        {"conditions": [{"type": "Other", "observedGeneration": None}]},
        {"conditions": [{"$patch": "replace"}, ready]},
        {"conditions": None},
    ):
        query = {"fieldManager": "conditions"}
        await stage.ask("PATCH", status, {"status": patch}, query=query, content_type=STRATEGIC)


HISTORIES = (items_of_lists, lists_of_objects, lists_of_plain_values, maps, replaced_fields)
