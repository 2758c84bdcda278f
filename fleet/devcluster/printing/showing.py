"""Turns answers into the representation that a request accepts: the last step before a door."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
import yaml

from fleet.devcluster.kinds.resources import CUSTOM_RESOURCE_DEFINITIONS, ResourceType
from fleet.devcluster.printing.accept import PARTIAL, PARTIAL_LIST, TABLE, YAML, Representation, not_acceptable
from fleet.devcluster.printing.custom import CustomTable
from fleet.devcluster.printing.durations import Ages
from fleet.devcluster.printing.partial import Envelope, envelopes, partial_list, partial_object
from fleet.devcluster.printing.tables import TablePrinter, check_include
from fleet.devcluster.storage.storage import Storage
from fleet.devcluster.wire.answers import Answer, EventStream
from fleet.devcluster.wire.requests import Request
from fleet.devcluster.wire.statuses import StatusError

_SCALE = {"kind": "Scale", "apiVersion": "autoscaling/v1"}


class Showing:
    """Shows the answers of one server. wall_seconds: since 1970, for ages."""

    def __init__(self, storage: Storage, wall_seconds: Callable[[], float]) -> None:
        self._storage = storage
        self._wall_seconds = wall_seconds
        self._custom: dict[tuple[str, str, int], CustomTable] = {}

    def show(self, answer: Answer, request: Request, wanted: Representation, kind: ResourceType) -> Answer:
        """Changes the answer in place. Raises StatusError 400 and 406, with the answer's stream closed."""
        try:
            self._show(answer, request, wanted, kind)
        except StatusError:
            if answer.stream is not None:
                answer.stream.close()
            raise
        return answer

    @staticmethod
    def as_yaml(answer: Answer, wanted: Representation) -> Answer:
        """Of something that has no other form than itself."""
        if wanted.media_type == YAML:
            show_as_yaml(answer)
        return answer

    def _show(self, answer: Answer, request: Request, wanted: Representation, kind: ResourceType) -> None:
        if wanted.kind == TABLE:
            check_include(request.option("includeObject"))
        if answer.stream is not None:
            # An event is no list: the real server logs that it cannot be shown as one, and sends it as it is.
            if wanted.kind not in ("", PARTIAL_LIST):
                answer.stream = ShownStream(answer.stream, self._event_shown(request, wanted, kind))
            return
        if wanted.kind:
            envelope = envelopes.decode(answer.body)
            if envelope.kind != "Status":
                answer.body = self._whole(answer.body, envelope, request, wanted, kind)
        if wanted.media_type == YAML:
            show_as_yaml(answer)

    def _whole(
        self, body: bytes, envelope: Envelope, request: Request, wanted: Representation, kind: ResourceType
    ) -> bytes:
        listing = bool(bytes(envelope.items)) and envelope.kind.endswith("List")
        if wanted.kind == TABLE:
            ages, decoded = Ages(self._wall_seconds()), msgspec.json.decode(body)
            table = self._printer(request, wanted, kind, envelope.kind)
            return msgspec.json.encode(table.of_list(decoded, ages) if listing else table.of_object(decoded, ages))
        if kind.custom and wanted.kind == PARTIAL_LIST and not listing:
            raise StatusError(500, "", "content is not a list")
        if listing is not (wanted.kind == PARTIAL_LIST):
            found = f"a list ({_go_type(kind)}List)" if listing else f"not a list ({_go_type(kind)})"
            raise not_acceptable(f"you requested {wanted.kind}, but the requested object is {found}")
        return partial_list(envelope, wanted.version) if listing else partial_object(envelope.metadata, wanted.version)

    def _event_shown(
        self, request: Request, wanted: Representation, kind: ResourceType
    ) -> Callable[[msgspec.Raw, bool], bytes]:
        """A function of (object of an event, whether it is the first)."""
        if wanted.kind == PARTIAL:
            return lambda raw, first: partial_object(envelopes.decode(raw).metadata, wanted.version)
        table = self._printer(request, wanted, kind, kind.kind)

        def shown(raw: msgspec.Raw, first: bool) -> bytes:
            obj = msgspec.json.decode(raw)
            return msgspec.json.encode(table.of_object(obj, Ages(self._wall_seconds()), headers=first))

        return shown

    def _printer(self, request: Request, wanted: Representation, kind: ResourceType, found: str) -> TablePrinter:
        include = request.option("includeObject")
        if found == "Scale":
            return TablePrinter.built_in(_SCALE, "scale", wanted.version, include)
        head = {"kind": kind.kind, "apiVersion": kind.resource.api_version}
        if not kind.custom:
            return TablePrinter.built_in(head, kind.resource.plural, wanted.version, include)
        return TablePrinter.custom(head, self._custom_table(kind), wanted.version, include)

    def _custom_table(self, kind: ResourceType) -> CustomTable:
        name = f"{kind.resource.plural}.{kind.resource.group}"
        stored = self._storage.table(CUSTOM_RESOURCE_DEFINITIONS).objects.get(name)
        if stored is None:
            return CustomTable.of({"spec": {}}, kind.resource.version)
        key = (stored.meta.uid, kind.resource.version, stored.version)
        if key not in self._custom:
            self._custom[key] = CustomTable.of(stored.decode(), kind.resource.version)
        return self._custom[key]


class _Event(msgspec.Struct):
    type: str
    object: msgspec.Raw


_events = msgspec.json.Decoder(_Event)


class ShownStream:
    """A watch whose objects are shown in another way. Errors stay what they are."""

    def __init__(self, stream: EventStream, shown: Callable[[msgspec.Raw, bool], bytes]) -> None:
        self._stream = stream
        self._shown = shown
        self._first = True

    async def read(self) -> bytes:
        """Whole lines. Raises what the stream behind it raises."""
        return b"".join(self._line(line) for line in (await self._stream.read()).splitlines())

    def _line(self, line: bytes) -> bytes:
        event = _events.decode(line)
        if event.type == "ERROR":
            return line + b"\n"
        shown, self._first = self._shown(event.object, self._first), False
        return b'{"type":"' + event.type.encode() + b'","object":' + shown + b"}\n"

    def interrupt(self) -> None:
        self._stream.interrupt()

    def close(self) -> None:
        self._stream.close()


def show_as_yaml(answer: Answer) -> None:
    """Changes an answer in JSON, in place."""
    dumped = yaml.dump(msgspec.json.decode(answer.body), Dumper=yaml.CSafeDumper, allow_unicode=True)
    answer.body, answer.content_type = dumped.encode(), YAML


def failed_answer(request: Request, error: StatusError) -> Answer:
    """A failure in JSON, or in YAML where the client asks for that first."""
    answer = Answer.failed(error)
    if not error.text and request.accept.startswith(YAML):
        show_as_yaml(answer)
    return answer


def _go_type(kind: ResourceType) -> str:
    """The type of an object in the real server, which its messages name."""
    if kind.custom:
        return "*unstructured.Unstructured"
    package = kind.resource.group.partition(".")[0]
    return f"*{'core' if package in ('', 'events') else package}.{kind.kind}"
