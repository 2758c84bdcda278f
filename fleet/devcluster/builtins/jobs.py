"""Defaults and refusals of Jobs and CronJobs (kubernetes/pkg/apis/batch, pkg/registry/batch). Pure, in place."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from fleet.devcluster.builtins.findings import immutable, invalid, required, unsupported
from fleet.devcluster.builtins.podspecs import default_template
from fleet.devcluster.builtins.rulebook import rule
from fleet.devcluster.builtins.templatechecks import container_causes, label_causes, restart_causes
from fleet.devcluster.causes import Cause
from shards.objects import Object

_CRON_NAME_LIMIT: Final = 52
_CRON_FIELDS: Final = 5
_UNLIMITED: Final = 2**31 - 1
_CONTROLLER_UID: Final = "batch.kubernetes.io/controller-uid"
_JOB_NAME: Final = "batch.kubernetes.io/job-name"
_FIXED: Final = ("completions", "selector", "template", "completionMode", "podFailurePolicy", "backoffLimitPerIndex")


@rule.defaults("batch", "jobs")
def default_job(body: Object) -> None:
    spec = body["spec"]
    default_template(spec.get("template"))
    if spec.get("completions") is None and spec.get("parallelism") is None:
        spec["completions"] = 1
    spec.setdefault("parallelism", 1)
    spec.setdefault("backoffLimit", _UNLIMITED if spec.get("backoffLimitPerIndex") is not None else 6)
    spec.setdefault("completionMode", "NonIndexed")
    spec.setdefault("suspend", False)
    spec.setdefault("manualSelector", False)
    spec.setdefault("podReplacementPolicy", "Failed" if spec.get("podFailurePolicy") else "TerminatingOrFailed")
    labels = (spec["template"].get("metadata") or {}).get("labels")
    if labels:
        body["metadata"].setdefault("labels", dict(labels))


@rule.creation("batch", "jobs")
def generate_selector(body: Object) -> None:
    """Labels the template so that the Job finds its pods, and nobody else's."""
    spec, metadata = body["spec"], body["metadata"]
    if spec.get("manualSelector"):
        return
    template = spec["template"].setdefault("metadata", {})
    taken_over = metadata.get("labels") == template.get("labels")
    uid, name = metadata["uid"], metadata.get("name", "")
    added = {"controller-uid": uid, _CONTROLLER_UID: uid, "job-name": name, _JOB_NAME: name}
    template["labels"] = {**(template.get("labels") or {}), **added}
    if taken_over and metadata.get("labels"):
        # The defaulted labels of the Job are the template's own map.
        metadata["labels"] = dict(template["labels"])
    selector = spec.setdefault("selector", {})
    selector["matchLabels"] = {**(selector.get("matchLabels") or {}), _CONTROLLER_UID: uid}


@rule.defaults("batch", "cronjobs")
def default_cron_job(body: Object) -> None:
    spec = body["spec"]
    spec.setdefault("concurrencyPolicy", "Allow")
    spec.setdefault("suspend", False)
    spec.setdefault("successfulJobsHistoryLimit", 3)
    spec.setdefault("failedJobsHistoryLimit", 1)
    default_template(spec["jobTemplate"]["spec"].get("template"))


@rule.checks("batch", "jobs")
def job_causes(body: Object, old: Object | None) -> Iterator[Cause]:
    spec = body["spec"]
    for name in ("parallelism", "completions", "activeDeadlineSeconds", "backoffLimit", "ttlSecondsAfterFinished"):
        value = spec.get(name)
        if value is not None and value < 0:
            yield invalid(f"spec.{name}", value, "must be greater than or equal to 0")
    if old is None and not spec.get("manualSelector"):
        if spec["selector"] != {"matchLabels": {_CONTROLLER_UID: body["metadata"]["uid"]}}:
            yield invalid("spec.selector", spec["selector"], "`selector` not auto-generated")
        yield from label_causes(spec["selector"], spec["template"], "spec.template")
    yield from _template_causes(spec, "spec")
    if old is None:
        return
    for name in _FIXED:
        if spec.get(name) != old["spec"].get(name) and not _may_change(name, spec, old["spec"]):
            yield immutable(f"spec.{name}", spec.get(name))


@rule.checks("batch", "cronjobs")
def cron_job_causes(body: Object, old: Object | None) -> Iterator[Cause]:
    spec, name = body["spec"], body["metadata"].get("name", "")
    if old is None and len(name) > _CRON_NAME_LIMIT:
        yield invalid("metadata.name", name, f"must be no more than {_CRON_NAME_LIMIT} characters")
    schedule = spec.get("schedule") or ""
    if schedule and not schedule.startswith("@") and len(schedule.split()) != _CRON_FIELDS:
        why = f"expected exactly {_CRON_FIELDS} fields, found {len(schedule.split())}: [{schedule}]"
        yield invalid("spec.schedule", schedule, why)
    policy = spec.get("concurrencyPolicy")
    if policy not in ("Allow", "Forbid", "Replace"):
        yield unsupported("spec.concurrencyPolicy", policy, ("Allow", "Forbid", "Replace"))
    yield from _template_causes(spec["jobTemplate"]["spec"], "spec.jobTemplate.spec")
    if not schedule:
        yield required("spec.schedule")


def _template_causes(spec: Object, path: str) -> Iterator[Cause]:
    template, where = spec["template"]["spec"], f"{path}.template.spec"
    yield from container_causes(template, where)
    if template.get("restartPolicy") == "Always":
        yield required(f"{where}.restartPolicy", 'valid values: "OnFailure", "Never"')
    else:
        yield from restart_causes(template, where, ("OnFailure", "Never"))


def _may_change(name: str, spec: Object, old: Object) -> bool:
    """Completions of an indexed Job follow its parallelism; the scheduling of a suspended one may change."""
    if name not in ("completions", "template"):
        return False
    if name == "completions":
        return bool(old.get("completionMode") == "Indexed" and spec.get("completions") == spec.get("parallelism"))
    return bool(old.get("suspend"))
