"""Content negotiation: from an Accept header to a representation. Pure.

Source: apiserver, pkg/endpoints/handlers/negotiation; go-restful looks at the header first, for built-in resources.
Protobuf and CBOR are not written: a client that takes nothing else gets 406, one that takes JSON as well gets JSON.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from fleet.devcluster.wire.statuses import StatusError

JSON = "application/json"
YAML = "application/yaml"
PROTOBUF = "application/vnd.kubernetes.protobuf"
_MEDIA_TYPES = (JSON, YAML, PROTOBUF)
_STREAMS = (f"{JSON};stream=watch", f"{PROTOBUF};stream=watch")
_META = ("meta.k8s.io/v1", "meta.k8s.io/v1beta1")
TABLE = "Table"
PARTIAL = "PartialObjectMetadata"
PARTIAL_LIST = "PartialObjectMetadataList"


@dataclass(frozen=True, slots=True)
class Representation:
    """How an answer is to be shown. kind "": the object itself. version: "meta.k8s.io/v1" or its beta."""

    media_type: str = JSON
    kind: str = ""
    version: str = ""


PLAIN = Representation()


def not_acceptable(message: str) -> StatusError:
    """406 of an answer that cannot be shown in the way that was asked for."""
    return StatusError(406, "NotAcceptable", message)


@lru_cache(maxsize=512)
def representation_of(accept: str, *, watch: bool, listing: bool, built_in: bool) -> Representation:
    """listing: a GET of a collection. Raises StatusError 406."""
    if built_in and accept:
        _check_route(accept, listing=listing)
    for media_type, parameters in _clauses(accept):
        found = _matching(media_type, parameters)
        if found is None:
            continue
        if watch and found.media_type == YAML:
            raise not_acceptable(f"only the following media types are accepted: {', '.join(_STREAMS)}")
        return found
    raise not_acceptable(f"only the following media types are accepted: {', '.join(_MEDIA_TYPES)}")


def check_json(accept: str) -> None:
    """Of a path that answers JSON alone. Raises StatusError 406."""
    if accept and not _names_one_of(accept, (JSON,)):
        raise _no_route((JSON,))


def _check_route(accept: str, *, listing: bool) -> None:
    produced = _MEDIA_TYPES + _STREAMS if listing else _MEDIA_TYPES
    if not _names_one_of(accept, produced):
        raise _no_route(produced)


def _no_route(produced: tuple[str, ...]) -> StatusError:
    message = f"406: Not Acceptable\n\nAvailable representations: {', '.join(produced)}"
    return StatusError(406, "NotAcceptable", message, details={})


def _names_one_of(accept: str, produced: tuple[str, ...]) -> bool:
    names = {clause.partition(";")[0].strip() for clause in accept.split(",")}
    return "*/*" in names or bool(names & set(produced))


def _clauses(accept: str) -> list[tuple[str, dict[str, str]]]:
    """Media types with their parameters, the most wanted first."""
    found = []
    for index, clause in enumerate((accept or "*/*").split(",")):
        media_type, *rest = (part.strip() for part in clause.split(";"))
        parameters = dict(part.partition("=")[::2] for part in rest if part)
        try:
            weight = float(parameters.pop("q", "1"))
        except ValueError:
            weight = 1.0
        found.append((-weight, _vagueness(media_type), index, media_type, parameters))
    return [(media_type, parameters) for *_, media_type, parameters in sorted(found, key=lambda each: each[:3])]


def _vagueness(media_type: str) -> int:
    return 2 if media_type == "*/*" else 1 if media_type.endswith("/*") else 0


def _matching(media_type: str, parameters: dict[str, str]) -> Representation | None:
    """None where this server does not write that."""
    if media_type in ("*/*", "application/*"):
        media_type = JSON
    if media_type not in (JSON, YAML) or parameters.get("stream") not in (None, "", "watch") or parameters.get("sv"):
        return None
    if not any(name in parameters for name in ("as", "g", "v")):
        return Representation(media_type)
    version = f"{parameters.get('g', '')}/{parameters.get('v', '')}"
    if parameters.get("as") not in (TABLE, PARTIAL, PARTIAL_LIST) or version not in _META:
        return None
    return Representation(media_type, parameters["as"], version)
