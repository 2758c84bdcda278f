"""HorizontalPodAutoscalers in both versions on one store."""

from __future__ import annotations

from typing import Any

from tests.contract.transcripts import APPLY, MERGE, TABLE, Stage

V1, V2 = "autoscaling/v1/horizontalpodautoscalers", "autoscaling/v2/horizontalpodautoscalers"


def autoscaler(name: str, **spec: Any) -> dict[str, Any]:
    target = {"kind": "Deployment", "name": "d", "apiVersion": "apps/v1"}
    return {"metadata": {"name": name}, "spec": {"scaleTargetRef": target, "maxReplicas": 3, **spec}}


METRICS = [
    {"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 60}}},
    {"type": "Resource", "resource": {"name": "memory", "target": {"type": "AverageValue", "averageValue": "10Mi"}}},
    {"type": "Pods", "pods": {"metric": {"name": "rps"}, "target": {"type": "AverageValue", "averageValue": "5"}}},
]


async def two_versions(stage: Stage) -> None:
    await stage.ask("POST", stage.path(V1), autoscaler("one"))
    await stage.ask("GET", stage.path(V2, "one"))
    await stage.ask("POST", stage.path(V2), autoscaler("two", metrics=METRICS))
    await stage.ask("GET", stage.path(V1, "two"))
    change = {"spec": {"targetCPUUtilizationPercentage": 70}}
    await stage.ask("PATCH", stage.path(V1, "two"), change, content_type=MERGE)
    await stage.ask("GET", stage.path(V2, "two"))
    condition = {"type": "AbleToScale", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z", "reason": "r"}
    status = {"currentReplicas": 2, "desiredReplicas": 2, "conditions": [{**condition, "message": "m"}]}
    await stage.ask("PATCH", stage.path(V2, "two", "status"), {"status": status}, content_type=MERGE)
    await stage.ask("GET", stage.path(V1, "two"))
    used = {"currentReplicas": 1, "desiredReplicas": 2, "currentCPUUtilizationPercentage": 20}
    await stage.ask("PATCH", stage.path(V1, "one", "status"), {"status": used}, content_type=MERGE)
    await stage.ask("GET", stage.path(V2, "one"))
    await stage.ask("GET", stage.path(V1))
    await stage.ask("GET", stage.path(V1), accept=TABLE, query={"includeObject": "None"})
    applied = {"apiVersion": "autoscaling/v1", "kind": "HorizontalPodAutoscaler", **autoscaler("three")}
    await stage.ask("PATCH", stage.path(V1, "three"), applied, content_type=APPLY, query={"fieldManager": "me"})
    await stage.ask("DELETE", stage.path(V1, "one"))
    await stage.ask("GET", stage.path(V2, "one"))


HISTORIES = (two_versions,)
