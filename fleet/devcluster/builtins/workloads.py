"""Defaults and refusals of what runs pods (kubernetes/pkg/apis/apps, pkg/registry/apps). Pure, in place."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from fleet.devcluster.builtins.findings import forbidden, immutable, invalid, required
from fleet.devcluster.builtins.podspecs import default_template
from fleet.devcluster.builtins.rulebook import rule
from fleet.devcluster.builtins.templatechecks import container_causes, label_causes, restart_causes, unmatched
from fleet.devcluster.causes import Cause
from shards.objects import Object

_TEMPLATE_GENERATION: Final = "deprecated.daemonset.template.generation"


@rule.defaults("apps", "deployments")
def default_deployment(body: Object) -> None:
    spec = body["spec"]
    default_template(spec.get("template"))
    spec.setdefault("replicas", 1)
    spec.setdefault("revisionHistoryLimit", 10)
    spec.setdefault("progressDeadlineSeconds", 600)
    strategy = spec["strategy"]
    if strategy.setdefault("type", "RollingUpdate") == "RollingUpdate":
        rolling = strategy.setdefault("rollingUpdate", {})
        rolling.setdefault("maxUnavailable", "25%")
        rolling.setdefault("maxSurge", "25%")


@rule.defaults("apps", "statefulsets")
def default_stateful_set(body: Object) -> None:
    spec = body["spec"]
    default_template(spec.get("template"))
    spec.setdefault("replicas", 1)
    spec.setdefault("revisionHistoryLimit", 10)
    spec.setdefault("podManagementPolicy", "OrderedReady")
    policy = spec.setdefault("persistentVolumeClaimRetentionPolicy", {})
    for name in ("whenDeleted", "whenScaled"):
        policy.setdefault(name, "Retain")
    strategy = spec["updateStrategy"]
    if strategy.setdefault("type", "RollingUpdate") == "RollingUpdate":
        rolling = strategy.setdefault("rollingUpdate", {})
        rolling.setdefault("partition", 0)
        rolling.setdefault("maxUnavailable", 1)
    for claim in spec.get("volumeClaimTemplates") or ():
        claim["kind"], claim["apiVersion"] = "PersistentVolumeClaim", "v1"
        claim["spec"].setdefault("volumeMode", "Filesystem")
        claim["status"].setdefault("phase", "Pending")


@rule.defaults("apps", "daemonsets")
def default_daemon_set(body: Object) -> None:
    # The count is a field of the server's own type, which it shows as an annotation; the author owns that.
    body["metadata"]["annotations"] = {_TEMPLATE_GENERATION: "0", **(body["metadata"].get("annotations") or {})}
    spec = body["spec"]
    default_template(spec.get("template"))
    spec.setdefault("revisionHistoryLimit", 10)
    strategy = spec["updateStrategy"]
    if strategy.setdefault("type", "RollingUpdate") == "RollingUpdate":
        rolling = strategy.setdefault("rollingUpdate", {})
        rolling.setdefault("maxUnavailable", 1)
        rolling.setdefault("maxSurge", 0)


@rule.defaults("apps", "replicasets")
def default_replica_set(body: Object) -> None:
    body["spec"].setdefault("replicas", 1)
    default_template(body["spec"].get("template"))


@rule.defaults("", "replicationcontrollers")
def default_replication_controller(body: Object) -> None:
    spec = body["spec"]
    spec.setdefault("replicas", 1)
    default_template(spec.get("template"))
    labels = ((spec.get("template") or {}).get("metadata") or {}).get("labels")
    if labels:
        spec.setdefault("selector", dict(labels))
        body["metadata"].setdefault("labels", dict(labels))


@rule.defaults("", "podtemplates")
def default_pod_template(body: Object) -> None:
    default_template(body.get("template"))


@rule.creation("apps", "daemonsets")
def count_template(body: Object) -> None:
    _write_count(body, 1)


@rule.update("apps", "daemonsets")
def recount_template(body: Object, old: Object) -> None:
    count = int((old["metadata"].get("annotations") or {}).get(_TEMPLATE_GENERATION, "0"))
    _write_count(body, count + (body["spec"].get("template") != old["spec"].get("template")))


def _write_count(body: Object, count: int) -> None:
    annotations = body["metadata"].get("annotations") or {}
    body["metadata"]["annotations"] = {**annotations, _TEMPLATE_GENERATION: str(count)}


@rule.checks("apps", "deployments", "replicasets")
def replicated_causes(body: Object, old: Object | None) -> Iterator[Cause]:
    spec = body["spec"]
    yield from _spec_causes(spec, "deployment")
    yield from _strategy_causes(spec.get("strategy") or {})
    if old is not None:
        yield from _moved(spec, old["spec"], "selector")


@rule.checks("apps", "daemonsets")
def daemon_set_causes(body: Object, old: Object | None) -> Iterator[Cause]:
    spec = body["spec"]
    if old is not None:
        yield from _moved(spec, old["spec"], "selector")
    yield from _selector_causes(spec, "daemonset", wanted=False)
    yield from _template_causes(spec)


@rule.checks("apps", "statefulsets")
def stateful_set_causes(body: Object, old: Object | None) -> Iterator[Cause]:
    spec = body["spec"]
    if spec.get("podManagementPolicy") not in ("OrderedReady", "Parallel"):
        yield invalid("spec.podManagementPolicy", spec["podManagementPolicy"], "must be 'OrderedReady' or 'Parallel'")
    strategy = spec["updateStrategy"].get("type")
    if strategy not in ("RollingUpdate", "OnDelete"):
        value = {"Type": strategy, "RollingUpdate": spec["updateStrategy"].get("rollingUpdate")}
        yield invalid("spec.updateStrategy", value, "must be 'RollingUpdate' or 'OnDelete'")
    rolling = spec["updateStrategy"].get("rollingUpdate")
    if strategy == "OnDelete" and rolling is not None:
        value = {"Partition": rolling.get("partition"), "MaxUnavailable": rolling.get("maxUnavailable")}
        yield invalid("spec.updateStrategy.rollingUpdate", value, "only allowed for updateStrategy 'RollingUpdate'")
    yield from _spec_causes(spec, "statefulset")
    if old is not None:
        for name in ("selector", "volumeClaimTemplates", "serviceName", "podManagementPolicy"):
            yield from _moved(spec, old["spec"], name)


@rule.checks("", "replicationcontrollers")
def replication_controller_causes(body: Object, old: Object | None) -> Iterator[Cause]:
    spec = body["spec"]
    yield from _replica_causes(spec)
    if not spec.get("selector"):
        yield required("spec.selector")
    template = spec.get("template")
    if template is None:
        yield required("spec.template")
        return
    yield from label_causes({"matchLabels": spec.get("selector")}, template, "spec.template")
    yield from _template_causes(spec)


@rule.checks("apps", "controllerrevisions")
def revision_causes(body: Object, old: Object | None) -> Iterator[Cause]:
    if old is not None and body.get("data") != old.get("data"):
        yield immutable("data", body.get("data"))


def _spec_causes(spec: Object, word: str) -> Iterator[Cause]:
    yield from _replica_causes(spec)
    yield from _selector_causes(spec, word, wanted=True)
    yield from _template_causes(spec)


def _replica_causes(spec: Object) -> Iterator[Cause]:
    replicas = spec.get("replicas", 0)
    if replicas < 0:
        yield invalid("spec.replicas", replicas, "must be greater than or equal to 0")


def _selector_causes(spec: Object, word: str, *, wanted: bool) -> Iterator[Cause]:
    """wanted: a missing selector is told apart from one that does not match."""
    selector = spec.get("selector")
    if selector is None:
        if wanted:
            yield required("spec.selector")
        yield unmatched((spec["template"].get("metadata") or {}).get("labels") or {}, "spec.template")
    elif not selector:
        yield invalid("spec.selector", selector, f"empty selector is invalid for {word}")
    else:
        yield from label_causes(selector, spec["template"], "spec.template")


def _template_causes(spec: Object) -> Iterator[Cause]:
    path = "spec.template.spec"
    yield from container_causes(spec["template"]["spec"], path)
    yield from restart_causes(spec["template"]["spec"], path, ("Always",))


def _strategy_causes(strategy: Object) -> Iterator[Cause]:
    rolling = strategy.get("rollingUpdate")
    if strategy.get("type") == "Recreate" and rolling is not None:
        why = "may not be specified when strategy `type` is 'Recreate'"
        yield forbidden("spec.strategy.rollingUpdate", why)
    elif rolling is not None and all(rolling.get(name) in (0, "0%") for name in ("maxSurge", "maxUnavailable")):
        why = "may not be 0 when `maxSurge` is 0"
        yield invalid("spec.strategy.rollingUpdate.maxUnavailable", rolling["maxUnavailable"], why)


def _moved(spec: Object, old: Object, name: str) -> Iterator[Cause]:
    if spec.get(name) != old.get(name):
        yield immutable(f"spec.{name}", spec.get(name))
