"""A request as the server understands it: path, verb and options."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Final
from urllib.parse import unquote_plus

import msgspec

from fleet.devcluster.causes import Cause
from fleet.devcluster.wire import statuses
from fleet.devcluster.wire.gonumbers import NumberError, go_quoted, parse_int
from fleet.devcluster.wire.identity import ADMIN, Identity
from shards.objects import Resource

Query = Sequence[tuple[str, str]]

UNREADABLE: Final = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
"""What decoding a body of a client may raise: no JSON, no text, or nested without end."""
BODY_LIMIT = 3 * 1024 * 1024
"""The real server's limit on a request body, in bytes."""

MANAGER_LIMIT = 128
"""Bytes of a field manager's name that are taken from a User-Agent."""

_NAMESPACE_SUBRESOURCES = ("status", "finalize")
TRUE = ("1", "t", "T", "true", "TRUE", "True")
"""What Go reads as true."""
_FALSE = ("0", "false")
_HEXADECIMAL = frozenset("0123456789abcdefABCDEF")


class Target(msgspec.Struct, frozen=True):
    """What a path names. name "": the collection. namespace "": all of them, or a cluster-scoped resource."""

    resource: Resource
    namespace: str = ""
    name: str = ""
    subresource: str = ""

    @staticmethod
    def parse(path: str) -> Target | None:
        """None where the path is none of an object or a collection."""
        head, _, name = path.rpartition("/")
        collection = _collection(head) if name else None
        if collection is not None:
            return Target(collection.resource, collection.namespace, name)
        return _target(path)


@lru_cache(maxsize=4096)
def _collection(path: str) -> Target | None:
    """Of a collection in a namespace, below which there are names; None for any other path."""
    found = None if path.endswith("/") else _target(path)
    named = found is None or not found.namespace or found.name or found.subresource
    return None if named else found


@lru_cache(maxsize=4096)
def _target(path: str) -> Target | None:
    if path.startswith("//"):
        return None
    parts = path.strip("/").split("/")
    if parts[0] == "api" and len(parts) > 2:
        group, version, rest = "", parts[1], parts[2:]
    elif parts[0] == "apis" and len(parts) > 3 and parts[1]:
        group, version, rest = parts[1], parts[2], parts[3:]
    else:
        return None
    namespace = ""
    within = rest[0] == "namespaces" and len(rest) > 2
    if within and not (group == "" and len(rest) == 3 and rest[2] in _NAMESPACE_SUBRESOURCES):
        namespace, rest = rest[1], rest[2:]
    if len(rest) > 3:
        return None
    plural, name, subresource = (*rest, "", "")[:3]
    return Target(_resource(group, version, plural), namespace, name, subresource)


@lru_cache(maxsize=4096)
def _resource(group: str, version: str, plural: str) -> Resource:
    return Resource(group, version, plural)


def parse_query(raw: str) -> list[tuple[str, str]]:
    """The parameters of a raw query string as Go's net/url reads them: a pair that is no pair is left out."""
    if not raw:
        return []
    pairs = []
    for part in raw.split("&"):
        if not part or ";" in part:
            continue
        name, _, value = part.partition("=")
        if "%" in part or "+" in part:
            if has_bad_escape(part):
                continue
            name, value = unquote_plus(name), unquote_plus(value)
        pairs.append((name, value))
    return pairs


def has_bad_escape(text: str) -> bool:
    """Whether a percent sign is not followed by two hexadecimal digits."""
    return any(len(rest) < 2 or not set(rest[:2]) <= _HEXADECIMAL for rest in text.split("%")[1:])


class Request(msgspec.Struct, eq=False):
    """headers: names in lower case. user: who asks. warnings: sentences for the client, one Warning header each.

    reached: the version that a consistent read must show at least; set by Reading.reach, 0 where it does not matter.
    """

    method: str
    path: str
    query: Query = ()
    body: bytes | None = None
    headers: Mapping[str, str] = {}
    user: Identity = ADMIN
    warnings: list[str] = []
    reached: int = 0

    @property
    def user_agent(self) -> str:
        return self.headers.get("user-agent", "")

    @property
    def content_type(self) -> str:
        return _media_type(self.headers.get("content-type", ""))

    @property
    def accept(self) -> str:
        """The Accept header as it came, "" for none."""
        return self.headers.get("accept", "")

    @property
    def field_manager(self) -> str:
        """Who a write is attributed to: the parameter, else the User-Agent up to its first slash."""
        given = self.option("fieldManager") if self.query else ""
        return given or _manager_of(self.headers.get("user-agent", ""))

    @property
    def field_validation(self) -> str:
        """What becomes of unknown and duplicate fields: Strict, Warn or Ignore. Raises StatusError 422 for others."""
        if not self.query:
            return "Warn"
        if causes := self.validation_causes():
            raise statuses.invalid_options(self._options_kind(), causes)
        return self.option("fieldValidation") or "Warn"

    def validation_causes(self) -> list[Cause]:
        """What is wrong with fieldValidation."""
        value = self.option("fieldValidation")
        if value in ("", "Strict", "Warn", "Ignore"):
            return []
        message = f'Unsupported value: {go_quoted(value)}: supported values: "", "Ignore", "Strict", "Warn"'
        return [Cause("FieldValueNotSupported", message, "fieldValidation")]

    def option(self, name: str, default: str = "") -> str:
        """The first value of a query parameter."""
        for key, value in self.query:
            if key == name:
                return value
        return default

    def flag(self, name: str) -> bool:
        """Whether a query parameter is there and true, which everything is but 0 and false."""
        for key, value in self.query:
            if key == name:
                return value.lower() not in _FALSE
        return False

    def has(self, name: str) -> bool:
        return any(key == name for key, _ in self.query)

    def number(self, name: str) -> int:
        """A whole number that is not negative, 0 where absent or negative. Raises StatusError 400."""
        return max(self.integer(name), 0)

    def integer(self, name: str) -> int:
        """A whole number, 0 where absent. Raises StatusError 400."""
        if not self.query or not self.has(name):
            return 0
        try:
            return parse_int(self.option(name))
        except NumberError as error:
            raise statuses.bad_request(str(error)) from None

    @property
    def dry_run(self) -> bool:
        """Raises StatusError 422 for anything but All."""
        if not self.query:
            return False
        if causes := self.dry_run_causes():
            raise statuses.invalid_options(self._options_kind(), causes)
        return self.has("dryRun")

    def dry_run_causes(self) -> list[Cause]:
        """What is wrong with dryRun, which may be given several times."""
        values = [value for name, value in self.query if name == "dryRun"]
        if all(value == "All" for value in values):
            return []
        message = f'Unsupported value: {msgspec.json.encode(values).decode()}: supported values: "All"'
        return [Cause("FieldValueNotSupported", message, "dryRun")]

    def _options_kind(self) -> str:
        kinds = {"POST": "CreateOptions", "PUT": "UpdateOptions", "PATCH": "PatchOptions", "DELETE": "DeleteOptions"}
        return kinds.get(self.method, "ListOptions")


@lru_cache(maxsize=4096)
def _media_type(content_type: str) -> str:
    """Without its parameters."""
    return content_type.partition(";")[0].strip()


@lru_cache(maxsize=4096)
def _manager_of(user_agent: str) -> str:
    name = user_agent.partition("/")[0]
    if len(name) < MANAGER_LIMIT and name.isascii() and name.isprintable():
        return name
    kept = b""
    for character in name:
        encoded = character.encode()
        if len(kept) + len(encoded) > MANAGER_LIMIT:
            break
        kept += encoded if character.isprintable() else b""
    return kept.decode()


def verb_of(request: Request, target: Target) -> str:
    """As in an audit log."""
    if request.method == "GET":
        return "watch" if request.flag("watch") else "get" if target.name else "list"
    if request.method == "DELETE":
        return "delete" if target.name else "deletecollection"
    return {"POST": "create", "PUT": "update", "PATCH": "patch"}.get(request.method, request.method.lower())


class _Named(msgspec.Struct):
    name: str = ""


class _WithName(msgspec.Struct):
    metadata: _Named


def name_in(body: bytes | None) -> str:
    """Name of the object that a failed create wanted."""
    try:
        return msgspec.json.decode(body or b"", type=_WithName).metadata.name
    except UNREADABLE:
        return ""
