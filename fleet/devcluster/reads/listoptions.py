"""Query parameters of list and watch: what they select, and which of them exclude each other. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from fleet.devcluster.causes import Cause
from fleet.devcluster.kinds.resources import ResourceType
from fleet.devcluster.reads.labelselector import SelectorError, parse_labels
from fleet.devcluster.reads.selectors import Filter, parse_fields
from fleet.devcluster.reads.shardselector import ShardSelectorError, parse_shard_selector
from fleet.devcluster.wire import statuses
from fleet.devcluster.wire.gonumbers import NumberError, go_quoted, parse_uint
from fleet.devcluster.wire.requests import Request

EXACT = "Exact"
NOT_OLDER_THAN = "NotOlderThan"
_MATCH = "resourceVersionMatch"
_NAMES = ("metadata.name", "metadata.namespace")
_WITH_CONTINUE = "resourceVersionMatch is forbidden when continue is provided"


def filter_of(kind: ResourceType, namespace: str, request: Request, *, sharded: bool) -> Filter:
    """What a list or watch selects, its other parameters being right as well. Raises StatusError.

    sharded: whether shardSelector is honoured. The order of the refusals is the real server's.
    """
    request.number("timeoutSeconds")
    request.number("limit")
    try:
        labels = parse_labels(request.option("labelSelector"))
        fields = parse_fields(request.option("fieldSelector"))
    except SelectorError as error:
        raise statuses.bad_request(str(error)) from None
    causes = list(_watch_causes(request) if request.flag("watch") else _list_causes(request))
    if causes:
        raise statuses.invalid_options("ListOptions", causes)
    for term in fields:
        of_no_namespace = term.path == "metadata.namespace" and not kind.namespaced and _has_own_fields(kind)
        if of_no_namespace or term.path not in (*_NAMES, *kind.selectable):
            raise statuses.bad_request(_unknown_field(kind, term.path))
    if fields and kind.reshaping is not None:
        names = kind.reshaping.fields
        fields = tuple(replace(term, path=names.get(term.path, term.path)) for term in fields)
    shard = None
    if sharded and request.option("shardSelector"):
        try:
            shard = parse_shard_selector(request.option("shardSelector"))
        except ShardSelectorError as error:
            raise statuses.bad_shard_selector(str(error)) from None
    return Filter(namespace, labels, fields, shard)


def _has_own_fields(kind: ResourceType) -> bool:
    return kind.custom or bool(kind.selectable)


def _unknown_field(kind: ResourceType, path: str) -> str:
    """Resources with selectable fields of their own answer in other words than those without."""
    if _has_own_fields(kind):
        return f"field label not supported: {path}"
    return f'"{path}" is not a known field selector: only "metadata.name", "metadata.namespace"'


def version_of(request: Request, *, single: bool = False) -> int:
    """The resourceVersion parameter as a number, 0 for "". Raises StatusError 400, or 500 on a watch and a get.

    single: of a get.
    """
    text = request.option("resourceVersion")
    if not text:
        return 0
    try:
        return parse_uint(text)
    except NumberError as error:
        message = f"resourceVersion: Invalid value: {go_quoted(text)}: {error}"
        if single or request.flag("watch"):
            raise statuses.StatusError(500, "", message) from None
        raise statuses.bad_request(f"invalid resource version: {message}") from None


def wants_initial_events(request: Request) -> bool:
    """Whether a watch begins with what exists: asked for, or implied by no version or "0"."""
    if request.has("sendInitialEvents"):
        return request.flag("sendInitialEvents")
    return request.option("resourceVersion") in ("", "0")


def _list_causes(request: Request) -> Iterator[Cause]:
    match, version = request.option(_MATCH), request.option("resourceVersion")
    if match:
        if not version:
            yield _forbidden(_MATCH, "resourceVersionMatch is forbidden unless resourceVersion is provided")
        if request.option("continue"):
            yield _forbidden(_MATCH, _WITH_CONTINUE)
        if match not in (EXACT, NOT_OLDER_THAN):
            yield _unsupported(match, (EXACT, NOT_OLDER_THAN, ""))
        if match == EXACT and version == "0":
            yield _forbidden(_MATCH, 'resourceVersionMatch "exact" is forbidden for resourceVersion "0"')
    if request.has("sendInitialEvents"):
        yield _forbidden("sendInitialEvents", "sendInitialEvents is forbidden for list")


def _watch_causes(request: Request) -> Iterator[Cause]:
    match, chosen = request.option(_MATCH), request.has("sendInitialEvents")
    if not chosen and not match and wants_initial_events(request):
        # The server fills both parameters in, and then judges them as if the client had sent them.
        match, chosen = NOT_OLDER_THAN, True
    if chosen and match != NOT_OLDER_THAN:
        yield _forbidden(_MATCH, "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan")
    if match:
        if not chosen:
            yield _forbidden(_MATCH, "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided")
        if match != NOT_OLDER_THAN:
            yield _unsupported(match, (NOT_OLDER_THAN,))
        if request.option("continue"):
            yield _forbidden(_MATCH, _WITH_CONTINUE)


def _forbidden(field: str, why: str) -> Cause:
    return Cause("FieldValueForbidden", f"Forbidden: {why}", field)


def _unsupported(value: str, supported: tuple[str, ...]) -> Cause:
    allowed = ", ".join(f'"{each}"' for each in supported)
    return Cause(
        "FieldValueNotSupported", f"Unsupported value: {go_quoted(value)}: supported values: {allowed}", _MATCH
    )
