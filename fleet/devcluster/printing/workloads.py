"""Rows of what runs pods. Pure. Source: the real server's printers."""

from __future__ import annotations

from fleet.devcluster.printing.durations import Ages, human_duration, seconds_of
from fleet.devcluster.printing.phrases import (
    NONE,
    condition_status,
    containers_text,
    created,
    labels_text,
    name_of,
    selector_text,
)
from fleet.devcluster.printing.pods import Cells
from shards.objects import Object

_JOB_STATES = (
    ("Complete", "Complete"),
    ("Failed", "Failed"),
    ("", "Terminating"),
    ("Suspended", "Suspended"),
    ("FailureTarget", "FailureTarget"),
    ("SuccessCriteriaMet", "SuccessCriteriaMet"),
)


def _count(obj: Object, part: str, name: str) -> int:
    return int((obj.get(part) or {}).get(name) or 0)


def _template(obj: Object) -> tuple[str, str]:
    return containers_text((obj.get("spec") or {}).get("template"))


def _selector(obj: Object) -> str:
    return selector_text((obj.get("spec") or {}).get("selector"))


def deployment(obj: Object, ages: Ages) -> Cells:
    ready = f"{_count(obj, 'status', 'readyReplicas')}/{_count(obj, 'spec', 'replicas')}"
    updated, available = _count(obj, "status", "updatedReplicas"), _count(obj, "status", "availableReplicas")
    return [name_of(obj), ready, updated, available, ages.since(created(obj)), *_template(obj), _selector(obj)]


def replica_set(obj: Object, ages: Ages) -> Cells:
    return [*_replicas(obj, ages), *_template(obj), _selector(obj) or NONE]


def replication_controller(obj: Object, ages: Ages) -> Cells:
    return [*_replicas(obj, ages), *_template(obj), labels_text((obj.get("spec") or {}).get("selector"))]


def _replicas(obj: Object, ages: Ages) -> Cells:
    counts = (_count(obj, "spec", "replicas"), _count(obj, "status", "replicas"))
    return [name_of(obj), *counts, _count(obj, "status", "readyReplicas"), ages.since(created(obj))]


def stateful_set(obj: Object, ages: Ages) -> Cells:
    ready = f"{_count(obj, 'status', 'readyReplicas')}/{_count(obj, 'spec', 'replicas')}"
    return [name_of(obj), ready, ages.since(created(obj)), *_template(obj)]


def daemon_set(obj: Object, ages: Ages) -> Cells:
    names = (
        "desiredNumberScheduled",
        "currentNumberScheduled",
        "numberReady",
        "updatedNumberScheduled",
        "numberAvailable",
    )
    pod_spec = (((obj.get("spec") or {}).get("template") or {}).get("spec")) or {}
    return [
        name_of(obj),
        *(_count(obj, "status", name) for name in names),
        labels_text(pod_spec.get("nodeSelector")),
        ages.since(created(obj)),
        *_template(obj),
        _selector(obj) or NONE,
    ]


def job(obj: Object, ages: Ages) -> Cells:
    status = obj.get("status") or {}
    duration = ""
    if status.get("startTime"):
        began, ended = seconds_of(status["startTime"]), seconds_of(status.get("completionTime"))
        duration = human_duration(ended - began) if ended and began else ages.since(status["startTime"])
    cells = [name_of(obj), _job_state(obj), _completions(obj), duration, ages.since(created(obj))]
    return [*cells, *_template(obj), _selector(obj) or NONE]


def _job_state(obj: Object) -> str:
    for condition, shown in _JOB_STATES:
        holds = condition_status(obj, condition) == "True" if condition else obj["metadata"].get("deletionTimestamp")
        if holds:
            return shown
    return "Running"


def _completions(obj: Object) -> str:
    spec, succeeded = obj.get("spec") or {}, _count(obj, "status", "succeeded")
    if spec.get("completions") is not None:
        return f"{succeeded}/{spec['completions']}"
    parallelism = spec.get("parallelism") or 0
    return f"{succeeded}/1 of {parallelism}" if parallelism > 1 else f"{succeeded}/1"


def cron_job(obj: Object, ages: Ages) -> Cells:
    spec, status = obj.get("spec") or {}, obj.get("status") or {}
    job_spec = (spec.get("jobTemplate") or {}).get("spec") or {}
    suspend = spec.get("suspend")
    return [
        name_of(obj),
        spec.get("schedule", ""),
        spec.get("timeZone") or NONE,
        "<unset>" if suspend is None else "True" if suspend else "False",
        len(status.get("active") or []),
        ages.since(status["lastScheduleTime"]) if status.get("lastScheduleTime") else NONE,
        ages.since(created(obj)),
        *containers_text(job_spec.get("template")),
        selector_text(job_spec.get("selector")) or NONE,
    ]


def controller_revision(obj: Object, ages: Ages) -> Cells:
    owners = [each for each in obj["metadata"].get("ownerReferences") or [] if each.get("controller")]
    shown = NONE
    if owners:
        group = owners[0]["apiVersion"].rpartition("/")[0]
        kind = f"{owners[0]['kind']}.{group}" if group else owners[0]["kind"]
        shown = f"{kind.lower()}/{owners[0]['name']}"
    return [name_of(obj), shown, obj.get("revision") or 0, ages.since(created(obj))]


def pod_template(obj: Object, ages: Ages) -> Cells:
    template = obj.get("template") or {}
    return [name_of(obj), *containers_text(template), labels_text((template.get("metadata") or {}).get("labels"))]


def disruption_budget(obj: Object, ages: Ages) -> Cells:
    spec = obj.get("spec") or {}
    limits = [str(spec[name]) if spec.get(name) is not None else "N/A" for name in ("minAvailable", "maxUnavailable")]
    return [name_of(obj), *limits, _count(obj, "status", "disruptionsAllowed"), ages.since(created(obj))]


def scale(obj: Object, ages: Ages) -> Cells:
    counts = (_count(obj, "spec", "replicas"), _count(obj, "status", "replicas"))
    return [name_of(obj), *counts, ages.since(created(obj))]
