"""What runs pods: Deployments, StatefulSets, DaemonSets, ReplicaSets, ReplicationControllers, Jobs, CronJobs."""

from __future__ import annotations

from typing import Any

from tests.contract.histories.kinds_pods import rich_template
from tests.contract.transcripts import MERGE, STRATEGIC, Document, Stage

DEPLOYMENTS = "apps/v1/deployments"
STATEFUL_SETS = "apps/v1/statefulsets"
DAEMON_SETS = "apps/v1/daemonsets"
REPLICA_SETS = "apps/v1/replicasets"
REPLICATION_CONTROLLERS = "v1/replicationcontrollers"
CONTROLLER_REVISIONS = "apps/v1/controllerrevisions"
JOBS = "batch/v1/jobs"
CRON_JOBS = "batch/v1/cronjobs"

SELECTOR: Document = {"matchLabels": {"app": "web"}}


def template(**spec: Any) -> Document:
    body = {"containers": [{"name": "c", "image": "nginx:1"}], **spec}
    return {"metadata": {"labels": {"app": "web"}}, "spec": body}


def named(name: str, spec: Document) -> Document:
    return {"metadata": {"name": name}, "spec": spec}


async def _common(stage: Stage, resource: str) -> None:
    """What all of them do with selectors, templates, labels and status."""
    collection, one = stage.path(resource), stage.path(resource, "one")
    await stage.ask("POST", collection, named("one", {"selector": SELECTOR, "template": rich_template()}))
    await stage.ask("PATCH", one, {"metadata": {"labels": {"a": "b"}}}, content_type=MERGE)
    changed = {"spec": {"template": {"spec": {"containers": [{"name": "c", "image": "nginx:2"}]}}}}
    await stage.ask("PATCH", one, changed, content_type=STRATEGIC)
    await stage.ask("PATCH", one, {"metadata": {"annotations": {"a": "b"}}}, content_type=MERGE)
    status = {"status": {"observedGeneration": 2}, "spec": {"paused": True}}
    await stage.ask("PATCH", stage.path(resource, "one", "status"), status, content_type=MERGE)
    await stage.ask("PATCH", one, {"status": {"observedGeneration": 7}}, content_type=MERGE)
    await stage.ask("GET", stage.path(resource, "one", "status"))
    moved = {"spec": {"selector": {"matchLabels": {"app": "other"}}}}
    await stage.ask("PATCH", one, moved, content_type=MERGE)
    await stage.ask("POST", collection, named("bad", {"template": template()}))
    await stage.ask("POST", collection, named("bad", {"selector": {}, "template": template()}))
    await stage.ask("POST", collection, named("bad", {"selector": {"matchLabels": {"x": "y"}}, "template": template()}))
    await stage.ask("POST", collection, named("bad", {}))
    empty = template(containers=[], restartPolicy="Never")
    await stage.ask("POST", collection, named("bad", {"selector": SELECTOR, "template": empty}))
    await stage.ask("DELETE", one)


async def deployments(stage: Stage) -> None:
    await _common(stage, DEPLOYMENTS)
    collection, one = stage.path(DEPLOYMENTS), stage.path(DEPLOYMENTS, "two")
    plain: Document = {"selector": SELECTOR, "template": template()}
    recreate = {**plain, "replicas": 0, "strategy": {"type": "Recreate"}, "paused": False, "minReadySeconds": 0}
    await stage.ask("POST", collection, named("two", recreate))
    await stage.ask("PUT", one, named("two", plain))
    await stage.ask("PATCH", one, {"spec": {"replicas": 3}}, content_type=MERGE)
    await stage.ask("PATCH", one, {"spec": {"replicas": -1}}, content_type=MERGE)
    strange = {"strategy": {"type": "Recreate", "rollingUpdate": {"maxSurge": 1}}}
    await stage.ask("POST", collection, named("bad", {**plain, **strange}))
    still = {"strategy": {"rollingUpdate": {"maxSurge": 0, "maxUnavailable": 0}}}
    await stage.ask("POST", collection, named("bad", {**plain, **still}))
    await stage.ask("DELETE", one)


async def replica_sets(stage: Stage) -> None:
    await _common(stage, REPLICA_SETS)
    await stage.ask("GET", stage.path(REPLICA_SETS), query={"fieldSelector": "status.replicas=0"})


async def stateful_sets(stage: Stage) -> None:
    await _common(stage, STATEFUL_SETS)
    collection, one = stage.path(STATEFUL_SETS), stage.path(STATEFUL_SETS, "two")
    claim = {
        "metadata": {"name": "v"},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
    }
    spec = {"selector": SELECTOR, "template": template(), "serviceName": "x", "volumeClaimTemplates": [claim]}
    await stage.ask("POST", collection, named("two", spec))
    await stage.ask("PATCH", one, {"spec": {"serviceName": "y"}}, content_type=MERGE)
    await stage.ask("PATCH", one, {"spec": {"podManagementPolicy": "Parallel"}}, content_type=MERGE)
    await stage.ask("PATCH", one, {"spec": {"replicas": 0, "updateStrategy": {"type": "OnDelete"}}}, content_type=MERGE)
    strategy = {"type": "OnDelete", "rollingUpdate": None}
    await stage.ask("PATCH", one, {"spec": {"updateStrategy": strategy}}, content_type=MERGE)
    await stage.ask("POST", collection, named("bad", {**spec, "podManagementPolicy": "Odd"}))
    await stage.ask("DELETE", one)


async def daemon_sets(stage: Stage) -> None:
    await _common(stage, DAEMON_SETS)


async def replication_controllers(stage: Stage) -> None:
    collection, one = stage.path(REPLICATION_CONTROLLERS), stage.path(REPLICATION_CONTROLLERS, "one")
    await stage.ask("POST", collection, named("one", {"template": rich_template()}))
    await stage.ask("PATCH", one, {"spec": {"replicas": 2}}, content_type=MERGE)
    status = {"status": {"replicas": 2}}
    await stage.ask("PATCH", stage.path(REPLICATION_CONTROLLERS, "one", "status"), status, content_type=MERGE)
    await stage.ask("GET", collection, query={"fieldSelector": "status.replicas=2"})
    await stage.ask("POST", collection, named("bad", {"selector": {"x": "y"}, "template": template()}))
    await stage.ask("POST", collection, named("bad", {}))
    await stage.ask("DELETE", one)


async def controller_revisions(stage: Stage) -> None:
    """Without spaces: the real server compares the bytes of the data."""
    collection, one = stage.path(CONTROLLER_REVISIONS), stage.path(CONTROLLER_REVISIONS, "one")
    await stage.ask("POST", collection, '{"metadata":{"name":"one"},"revision":1,"data":{"a":{"b":"","c":0}}}')
    await stage.ask("PATCH", one, '{"revision":2}', content_type=MERGE)
    await stage.ask("PATCH", one, '{"data":{"a":1}}', content_type=MERGE)
    await stage.ask("DELETE", one)


async def jobs(stage: Stage) -> None:
    collection, one = stage.path(JOBS), stage.path(JOBS, "one")
    once = template(restartPolicy="Never")
    await stage.ask("POST", collection, named("one", {"template": once}))
    await stage.ask("PATCH", one, {"spec": {"completions": 3}}, content_type=MERGE)
    await stage.ask("PATCH", one, {"spec": {"completionMode": "Indexed"}}, content_type=MERGE)
    await stage.ask("PATCH", one, {"spec": {"parallelism": 2, "suspend": True, "backoffLimit": 3}}, content_type=MERGE)
    await stage.ask("PATCH", stage.path(JOBS, "one", "status"), {"status": {"active": 1}}, content_type=MERGE)
    many = {"template": once, "completions": 5, "ttlSecondsAfterFinished": 0, "backoffLimit": 0}
    await stage.ask("POST", collection, {"metadata": {"name": "two", "labels": {"own": "label"}}, "spec": many})
    await stage.ask("POST", collection, named("bad", {"template": template()}))
    await stage.ask("POST", collection, named("bad", {"parallelism": -1, "template": template(restartPolicy="Odd")}))
    await stage.ask("POST", collection, named("bad", {"template": template(containers=[], restartPolicy="Never")}))
    refused = await stage.ask("POST", collection, named("bad", {"selector": SELECTOR, "template": once}), quiet=True)
    stage.note("own selector", [each["field"] for each in refused["details"]["causes"]])
    for name in ("one", "two"):
        await stage.ask("DELETE", stage.path(JOBS, name), query={"propagationPolicy": "Background"})


async def cron_jobs(stage: Stage) -> None:
    collection, one = stage.path(CRON_JOBS), stage.path(CRON_JOBS, "one")
    job = {"spec": {"template": template(restartPolicy="OnFailure")}}
    await stage.ask("POST", collection, named("one", {"schedule": "*/5 * * * *", "jobTemplate": job}))
    await stage.ask("PATCH", one, {"spec": {"suspend": True}}, content_type=MERGE)
    at = {"status": {"lastScheduleTime": "2026-01-01T00:00:00Z"}}
    await stage.ask("PATCH", stage.path(CRON_JOBS, "one", "status"), at, content_type=MERGE)
    await stage.ask(
        "POST", collection, named("bad", {"schedule": "a b", "jobTemplate": {"spec": {"template": template()}}})
    )
    odd = {"schedule": "* * * *", "concurrencyPolicy": "Odd", "jobTemplate": job}
    await stage.ask("POST", collection, named("bad", odd))
    await stage.ask("POST", collection, named("bad", {}))
    await stage.ask("POST", collection, named("x" * 53, {"schedule": "@hourly", "jobTemplate": job}))
    await stage.ask("DELETE", one)


async def container_ports(stage: Stage) -> None:
    """What every template with containers is held to."""
    collection = stage.path("v1/replicationcontrollers")
    ports: list[object] = [
        {},
        None,
        {"containerPort": 0},
        {"containerPort": 70000},
        {"containerPort": 80, "protocol": "X"},
        {"containerPort": 80, "hostPort": -1},
        {"containerPort": 80, "hostPort": 65536, "name": "UPPER"},
        {"containerPort": 80, "name": "a" * 16},
        {"containerPort": 80, "name": "1--1-"},
    ]
    for name, given in (*(("c", [each]) for each in ports), ("c", [{"containerPort": 80, "name": "a"}] * 2), ("A", [])):
        pod = {"containers": [{"name": name, "image": "i", "ports": given}]}
        labels = {"a": "b"}
        spec = {"replicas": 0, "selector": labels, "template": {"metadata": {"labels": labels}, "spec": pod}}
        await stage.ask("POST", collection, named("one", spec))


HISTORIES = (
    container_ports,
    deployments,
    stateful_sets,
    daemon_sets,
    replica_sets,
    replication_controllers,
    controller_revisions,
    jobs,
    cron_jobs,
)
