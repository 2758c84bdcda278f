"""Lists: selection, pages, and what a resourceVersion means to them. Pure."""

from __future__ import annotations

import base64
import binascii
from dataclasses import dataclass
from itertools import islice
from typing import Any

import msgspec

from fleet.devcluster import statuses
from fleet.devcluster.listoptions import EXACT, version_of
from fleet.devcluster.requests import Request
from fleet.devcluster.resources import ResourceType
from fleet.devcluster.selectors import Filter
from fleet.devcluster.storage import HistoryGone, Storage, Stored, Table

LIST_TOO_OLD = "The resourceVersion for the provided list is too old."
CONTINUE_TOO_OLD = (
    "The provided continue parameter is too old to display a consistent list result. You can start a new list without "
    "the continue parameter, or use the continue token in this response to retrieve the remainder of the results. "
    "Continuing with the provided token results in an inconsistent list - objects that were created, modified, or "
    "deleted between the time the first chunk was returned and now may show up in the list."
)


class _Continue(msgspec.Struct):
    """Content of a continue token. rv: the list's version, -1 for an inconsistent rest. start: the last key sent."""

    rv: int
    start: str
    v: str = "meta.k8s.io/v1"

    def encode(self) -> str:
        return base64.urlsafe_b64encode(msgspec.json.encode(self)).rstrip(b"=").decode()

    @classmethod
    def decode(cls, token: str) -> _Continue:
        """Raises StatusError 400."""
        try:
            return msgspec.json.decode(base64.urlsafe_b64decode(token + "=" * (-len(token) % 4)), type=cls)
        except (binascii.Error, msgspec.DecodeError, ValueError) as error:
            raise statuses.bad_request(f"invalid continue token: continue key is not valid: {error}") from None


@dataclass(frozen=True, slots=True)
class _View:
    """A table at one version, and where the page begins."""

    table: Table
    version: int
    after: str = ""


def _view(table: Table, storage: Storage, request: Request) -> _View:
    token = request.option("continue")
    if token:
        where = _Continue.decode(token)
        if where.rv < 0:
            return _View(table, storage.version, where.start)
        try:
            return _View(table.at(where.rv), where.rv, where.start)
        except HistoryGone:
            rest = _Continue(-1, where.start).encode()
            raise statuses.expired(CONTINUE_TOO_OLD, continue_token=rest) from None
    version = version_of(request)
    match = request.option("resourceVersionMatch")
    if version and (match == EXACT or (not match and request.number("limit"))):
        try:
            return _View(table.at(version), version)
        except HistoryGone:
            raise statuses.expired(LIST_TOO_OLD) from None
    return _View(table, storage.version)


def list_answer(table: Table, storage: Storage, wanted: Filter, request: Request) -> bytes:
    """The encoded list. The version that the request names has been reached. Raises StatusError."""
    view = _view(table, storage, request)
    cached = request.option("resourceVersion") == "0" and not request.option("continue")
    limit = 0 if cached else request.number("limit")
    selected = (each for each in view.table.scan(wanted.prefix, view.after) if wanted.admits(each))
    metadata: dict[str, Any] = {"resourceVersion": str(view.version)}
    items = list(islice(selected, limit)) if limit else list(selected)
    if limit and len(items) == limit and next(selected, None) is not None:
        metadata["continue"] = _Continue(view.version, items[-1].key).encode()
        if wanted.everything:
            metadata["remainingItemCount"] = sum(1 for _ in view.table.scan(wanted.prefix, items[-1].key))
    if wanted.shard is not None and not table.kind.custom:
        metadata["shardInfo"] = {"selector": str(wanted.shard)}
    return encoded_list(table.kind, items, metadata)


def encoded_list(kind: ResourceType, items: list[Stored], metadata: dict[str, Any]) -> bytes:
    """Items of built-in resources carry no kind and apiVersion, those of custom ones do, as on the real server."""
    head = (
        f'{{"kind":"{kind.kind}List","apiVersion":"{kind.resource.api_version}","metadata":'.encode()
        + msgspec.json.encode(metadata)
        + b',"items":['
    )
    if kind.custom:
        return head + b",".join(each.raw for each in items) + b"]}"
    skipped = len(kind.head)
    return head + b",".join(b"{" + each.raw[skipped:] for each in items) + b"]}"
