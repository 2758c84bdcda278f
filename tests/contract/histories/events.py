"""Events of core/v1 and of events.k8s.io/v1: one store."""

from __future__ import annotations

from typing import Any

from tests.contract.transcripts import APPLY, MERGE, TABLE, Stage

OLD, NEW = "v1/events", "events.k8s.io/v1/events"
TIME = "2026-01-01T00:00:00.123456Z"


def old_event(stage: Stage, name: str, **fields: Any) -> dict[str, Any]:
    about = {"kind": "Pod", "namespace": stage.namespace, "name": "p", "apiVersion": "v1"}
    return {"metadata": {"name": name}, "involvedObject": about, "reason": "Started", "message": "hello", **fields}


def new_event(stage: Stage, name: str, **fields: Any) -> dict[str, Any]:
    return {
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": {"name": name},
        "eventTime": TIME,
        "regarding": {"kind": "Pod", "namespace": stage.namespace, "name": "p"},
        "reason": "Started",
        "action": "Starting",
        "note": "hello",
        "reportingController": "example.com/c",
        "reportingInstance": "c-1",
        "type": "Normal",
        **fields,
    }


async def written_in_one_group_and_read_in_the_other(stage: Stage) -> None:
    source = {"component": "kubelet", "host": "n1"}
    times = {"firstTimestamp": "2026-01-01T00:00:00Z", "lastTimestamp": "2026-01-01T00:00:05Z"}
    body = old_event(stage, "old", source=source, count=3, type="Normal", **times)
    await stage.ask("POST", stage.path(OLD), body)
    await stage.ask("GET", stage.path(NEW, "old"))
    series = {"count": 2, "lastObservedTime": TIME}
    await stage.ask("POST", stage.path(NEW), new_event(stage, "new", series=series, related={"kind": "Node"}))
    await stage.ask("GET", stage.path(OLD, "new"))
    await stage.ask("PATCH", stage.path(NEW, "applied"), new_event(stage, "applied"), content_type=APPLY,
                    query={"fieldManager": "me"})  # fmt: skip
    await stage.ask("PATCH", stage.path(OLD, "new"), {"message": "other"}, content_type=MERGE)
    await stage.ask("PATCH", stage.path(NEW, "new"), {"series": {"count": 7}}, content_type=MERGE)
    await stage.ask("GET", stage.path(NEW))
    await stage.ask("GET", stage.path(OLD))
    await stage.ask("GET", stage.path(NEW), query={"limit": "1"}, accept=TABLE)
    await stage.ask("POST", stage.path(NEW), new_event(stage, "old"))
    await stage.ask("DELETE", stage.path(NEW, "old"))
    await stage.ask("DELETE", stage.path(NEW, "old"))
    await stage.ask("GET", stage.path(NEW, "old"))
    await stage.ask("GET", stage.path(OLD, "old"))
    await stage.ask("DELETE", stage.path(NEW))


async def judged_by_the_rules_of_the_group(stage: Stage) -> None:
    await stage.ask("POST", stage.path(NEW), {"metadata": {"name": "bare"}})
    await stage.ask("POST", stage.path(NEW), {"metadata": {"name": "b"}, "deprecatedCount": 4, "type": "Odd",
                                              "deprecatedSource": {"component": "a"}})  # fmt: skip
    await stage.ask("POST", stage.path(OLD), {"metadata": {"name": "c"}, "involvedObject": {"namespace": "other"}})
    await stage.ask("POST", stage.path(OLD), old_event(stage, "d", eventTime=TIME, message="x" * 1025))
    await stage.ask("POST", stage.path(NEW), new_event(stage, "e", series={"count": 1}))
    await stage.ask("POST", stage.path(NEW), new_event(stage, "f"))
    await stage.ask("PATCH", stage.path(NEW, "f"), {"note": "other", "type": "Warning"}, content_type=MERGE)
    await stage.ask("PUT", stage.path(NEW, "f"), {"metadata": {"name": "f"}, "note": "q"})
    await stage.ask("PATCH", stage.path(OLD, "f"), {"message": "other", "type": "Warning"}, content_type=MERGE)


async def selected_by_the_fields_of_the_group(stage: Stage) -> None:
    await stage.ask("POST", stage.path(OLD), old_event(stage, "old", source={"component": "kubelet"}))
    await stage.ask("POST", stage.path(NEW), new_event(stage, "new"))
    for field in ("regarding.name=p", "involvedObject.name=p", "reportingController=example.com/c", "type=Normal",
                  "reportingComponent=example.com/c", "source=kubelet", "note=x", "reason!=Started"):  # fmt: skip
        await stage.ask("GET", stage.path(NEW), query={"fieldSelector": field})
        await stage.ask("GET", stage.path(OLD), query={"fieldSelector": field})


async def watched_through_both_groups(stage: Stage) -> None:
    query = {"timeoutSeconds": "10", "allowWatchBookmarks": "true"}
    async with stage.watch(stage.path(NEW), query) as new, stage.watch(stage.path(OLD), query) as old:
        await new(1), await old(1)
        await stage.ask("POST", stage.path(OLD), old_event(stage, "old"), quiet=True)
        await stage.ask("POST", stage.path(NEW), new_event(stage, "new"), quiet=True)
        await stage.ask("DELETE", stage.path(NEW, "old"), quiet=True)
        await new(3), await old(3)


async def a_watch_whose_time_is_up(stage: Stage) -> None:
    """What it says before its end, nothing or one of two errors, is a matter of luck on the real server."""
    for query in ({"timeoutSeconds": "-1"}, {"timeoutSeconds": "-1", "resourceVersion": "1"}):
        async with stage.watch(stage.cluster_path("v1/namespaces"), query) as events:
            await events.response.read()
            stage.note("the watch ended at once", True)


HISTORIES = (
    written_in_one_group_and_read_in_the_other,
    judged_by_the_rules_of_the_group,
    selected_by_the_fields_of_the_group,
    watched_through_both_groups,
    a_watch_whose_time_is_up,
)
