"""What operators order their fleet to do."""

from __future__ import annotations

from typing import Any

from chaos.targets.ownership import owned_ranges
from chaos.targets.running import RUNNING
from chaos.targets.target import Target, TargetFailed
from fleet.records.controls import Controls, Order, controls_text, parse_controls
from fleet.records.document import created_document
from fleet.records.object_names import CONFIG_MAPS
from fleet.records.record import Document, DocumentName
from shards.errors import NotFound

LOOK_SECONDS = 0.1


def drain(pod: str, timeout_seconds: float = 20.0, target: Target = RUNNING) -> dict[str, Any]:
    """As `fleet drain --wait` does it: all ranges of a pod move to others. Raises TargetFailed where it had none, and
    where it has some still after that time."""
    before = _owned(target, pod)
    if not before:
        raise TargetFailed(f"the pod {pod} owns no range that could move away")
    _order(target, pod)
    began = target.now()
    while left := _owned(target, pod):
        if target.now() >= began + timeout_seconds:
            raise TargetFailed(f"the pod {pod} owns {left} ranges still, after {timeout_seconds:g} seconds")
        target.sleep(LOOK_SECONDS)
    return {"pod": pod, "moved": before, "seconds": round(target.now() - began, 3)}


def _owned(target: Target, pod: str) -> int:
    owned = owned_ranges(target.evidence.verdict(), target.pods.ends)
    return sum(owned.get(member, 0) for member, (where, _) in target.pods.members().items() if where == pod)


def _order(target: Target, pod: str) -> None:
    namespace, name = target.names.namespace, target.names.document(DocumentName.CONTROLS)
    order = Order(by="chaos", why="an experiment")
    try:
        found = target.api.get(CONFIG_MAPS, namespace, name)
    except NotFound:
        text = controls_text(Controls().drain(pod, order))
        document = created_document(target.names, Document(DocumentName.CONTROLS, text, ""))
        target.api.create(CONFIG_MAPS, namespace, document)
        return
    (key, text), *_ = found["data"].items()
    change = {"data": {key: controls_text(parse_controls(text).drain(pod, order))}}
    target.api.patch(CONFIG_MAPS, namespace, name, change)
