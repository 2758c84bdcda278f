"""Tells the recorder, where there is one, what became of requests and of the server's own writes."""

from __future__ import annotations

from fleet.devcluster.kinds.resources import ResourceType
from fleet.devcluster.recording.asked import dry_run
from fleet.devcluster.recording.recorder import Recorder
from fleet.devcluster.storage.outcome import Outcome
from fleet.devcluster.storage.storage import Stored
from fleet.devcluster.wire.requests import Request, Target, name_in, verb_of
from fleet.devcluster.wire.statuses import StatusError


class RequestLog:
    """Every method is to be called right after the commit that it tells of, before anything else can commit."""

    def __init__(self, recorder: Recorder | None) -> None:
        self._recorder = recorder

    def answered(
        self,
        verb: str,
        request: Request,
        target: Target,
        status: int,
        stored: Stored | None = None,
        *,
        removed: bool = False,
        retry_after: str = "",
    ) -> None:
        """stored: the object after the request, or its last version where it was removed."""
        if self._recorder is not None:
            self._recorder.record(
                verb,
                target.resource,
                namespace=target.namespace,
                name=target.name,
                subresource=target.subresource,
                status=status,
                user_agent=request.user_agent,
                stored=stored,
                removed=removed,
                request=request,
                retry_after=retry_after,
            )

    def failed(self, request: Request, error: StatusError) -> None:
        """Paths that name no object and no collection are not recorded, nor are writes that were to write nothing."""
        target = Target.parse(request.path)
        if self._recorder is None or target is None or (request.method != "GET" and dry_run(request)):
            return
        verb = verb_of(request, target)
        if verb == "create" and not target.name:
            target = Target(target.resource, target.namespace, name_in(request.body), target.subresource)
        self.answered(verb, request, target, error.code, retry_after=error.retry_after)

    def own_write(self, verb: str, kind: ResourceType, outcome: Outcome, user_agent: str) -> None:
        """A write of the server's own controllers, which make no request."""
        if self._recorder is not None:
            self._recorder.record(
                verb, kind.resource, status=200, user_agent=user_agent, stored=outcome.stored, removed=outcome.removed
            )
