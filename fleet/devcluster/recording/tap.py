"""Records what clients are given, and what a server that is not ours answered."""

from __future__ import annotations

import msgspec

from fleet.devcluster.recording.asked import dry_run
from fleet.devcluster.recording.journal import Level, Shown
from fleet.devcluster.recording.recorder import Recorder
from fleet.devcluster.storage.storage import Stored, object_key
from fleet.devcluster.wire.answers import Answer, EventStream
from fleet.devcluster.wire.requests import UNREADABLE, Request, Target, verb_of
from shards.objects import Meta, Resource
from shards.watching.wire import LineSplitter


class _Item(msgspec.Struct, frozen=True):
    metadata: Meta = Meta()


class _ListMeta(msgspec.Struct, rename="camel", frozen=True):
    resource_version: str = ""
    continue_: str = msgspec.field(name="continue", default="")


class _List(msgspec.Struct):
    metadata: _ListMeta = _ListMeta()
    items: list[_Item] = []


class _Event(msgspec.Struct):
    type: str
    object: _Item


class _Details(msgspec.Struct):
    uid: str = ""


class _Answered(msgspec.Struct):
    kind: str = ""
    metadata: Meta = Meta()
    details: _Details | None = None


_LISTS = msgspec.json.Decoder(_List)
_EVENTS = msgspec.json.Decoder(_Event)
_ANSWERS = msgspec.json.Decoder(_Answered)


def tap(recorder: Recorder | None, request: Request, answer: Answer) -> Answer:
    """The answer to pass on. It belongs outside the faults: a client is given what the faults let through.

    Below level DELIVERIES nothing happens, and nothing is paid.
    """
    if recorder is None or recorder.level < Level.DELIVERIES or request.method != "GET":
        return answer
    target = Target.parse(request.path)
    if target is None or not 200 <= answer.status < 300:
        return answer
    if answer.stream is not None:
        answer.stream = TappedStream(answer.stream, recorder, request.user_agent, target.resource)
    elif verb_of(request, target) == "list":
        recorder.listed(target, request, _shown(answer.body))
    return answer


def exchange(recorder: Recorder | None, request: Request, answer: Answer) -> None:
    """Records a request and its answer, where the server does not do so itself: a proxy in front of a real one.

    It belongs inside the faults, as the server's own record does: what was carried out is told, lost answer or not.
    Called in the order of the answers, which among writes that overlapped need not be that of the commits. What was
    removed is told by what the answer says: a Status, or an object that is doomed and that nothing holds. Dry runs
    write nothing, and are not told.
    """
    target = Target.parse(request.path)
    if recorder is None or target is None or (request.method != "GET" and dry_run(request)):
        return
    verb = verb_of(request, target)
    stored, removed = _answered(target, verb, answer)
    recorder.record(
        verb,
        target.resource,
        namespace=target.namespace,
        name=target.name,
        subresource=target.subresource,
        status=answer.status,
        user_agent=request.user_agent,
        stored=stored,
        removed=removed,
        request=request,
        retry_after=answer.retry_after,
    )


def _answered(target: Target, verb: str, answer: Answer) -> tuple[Stored | None, bool]:
    """The object that the answer tells of, and whether it is gone."""
    if not 200 <= answer.status < 300 or verb in ("list", "watch", "deletecollection") or not answer.body:
        return None, False
    try:
        found = _ANSWERS.decode(answer.body)
    except UNREADABLE:
        return None, False
    if found.kind == "Status":
        uid = found.details.uid if found.details is not None else ""
        meta = Meta(name=target.name, namespace=target.namespace, uid=uid)
        return Stored(object_key(target.namespace, target.name), 0, answer.body, meta), verb == "delete"
    meta = found.metadata
    version = int(meta.resource_version) if meta.resource_version.isdecimal() else 0
    held = msgspec.json.decode(answer.body)["metadata"].get("finalizers") if meta.deletion_timestamp else None
    gone = verb in ("delete", "update", "patch") and bool(meta.deletion_timestamp) and not held
    return Stored(object_key(meta.namespace, meta.name), version, answer.body, meta), gone


def _shown(body: bytes) -> Shown:
    try:
        found = _LISTS.decode(body)
    except UNREADABLE:
        return Shown(type="LIST", complete=False)
    objects = {each.metadata.uid: each.metadata.resource_version for each in found.items}
    return Shown(
        type="LIST",
        version=found.metadata.resource_version,
        complete=not found.metadata.continue_,
        objects=objects,
    )


class TappedStream:
    """A watch whose events are recorded as the client takes them; an `EventStream`."""

    __slots__ = ("_lines", "_recorder", "_resource", "_stream", "_user_agent")

    def __init__(self, stream: EventStream, recorder: Recorder, user_agent: str, resource: Resource) -> None:
        self._stream = stream
        self._recorder = recorder
        self._user_agent = user_agent
        self._resource = resource
        self._lines = LineSplitter()

    async def read(self) -> bytes:
        chunk = await self._stream.read()
        # A fault may cut a line at any byte; what is never completed was never understood.
        for line in self._lines.feed(chunk):
            self._record(line)
        return chunk

    def interrupt(self) -> None:
        self._stream.interrupt()

    def close(self) -> None:
        self._stream.close()

    def _record(self, line: bytes) -> None:
        try:
            event = _EVENTS.decode(line)
        except UNREADABLE:
            return
        meta = event.object.metadata
        shown = Shown(type=event.type, version=meta.resource_version)
        self._recorder.delivered(self._user_agent, self._resource, shown, meta)
