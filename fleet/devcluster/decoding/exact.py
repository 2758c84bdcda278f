"""Types under which a body decodes at once, where the real server's decoder would leave it as it is. Pure.

Whatever the decoder would complain of, drop or change does not fit such a type, and is left to `GoType.read`; so are
some values that are fine but rarely written that way.
"""

from __future__ import annotations

from typing import Annotated, Any, Final, TypedDict

import msgspec

from fleet.devcluster.decoding.gotypes import GoType
from fleet.devcluster.decoding.pairs import is_whole

_BASE64 = r"\A(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?\Z"
_SECONDS = r"\A[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}"
_QUANTITY = r"\A[0-9]+(?:\.[0-9]+)?(?:[mkMGTPE]|[KMGTPE]i)?\Z"

_NOTHING: Final[Any] = Annotated[str, msgspec.Meta(pattern=r"(?!)")]
"""Of a type within itself: no value fits."""
_PRESENT: Final[Any] = bool | int | float | str | list[Any] | dict[str, Any]
"""Anything but null, which a struct drops."""
_INT32: Final[Any] = Annotated[int, msgspec.Meta(ge=-(2**31), le=2**31 - 1)]
_SCALARS: Final[dict[str, Any]] = {
    "string": str,
    "bool": bool,
    "float64": int | float,
    "int32": _INT32,
    "int64": Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)],
    "intorstring": _INT32 | str,
    "quantity": Annotated[str, msgspec.Meta(pattern=_QUANTITY)],
    "bytes": Annotated[str, msgspec.Meta(pattern=_BASE64)],
    "time": Annotated[str, msgspec.Meta(pattern=rf"{_SECONDS}Z\Z")],
    "microtime": Annotated[str, msgspec.Meta(pattern=rf"{_SECONDS}\.[0-9]{{6}}Z\Z")],
}


class Exact:
    """Decodes the bodies of one Go type that need no second look."""

    __slots__ = ("_decoder",)

    def __init__(self, go_type: GoType) -> None:
        self._decoder = msgspec.json.Decoder(_Types().of(go_type))

    def decode(self, raw: bytes) -> dict[str, Any] | None:
        """None for a body that must be read with care: not JSON, of a wrong type, with unknown or repeated fields."""
        try:
            body: dict[str, Any] = self._decoder.decode(raw)
        except (msgspec.DecodeError, RecursionError):
            return None
        return body if is_whole(raw, body) else None


class _Types:
    """The types for msgspec of Go types; each is made once."""

    def __init__(self) -> None:
        self._made: dict[GoType, Any] = {}

    def of(self, go_type: GoType) -> Any:
        kind = go_type.kind
        if kind == "struct":
            return self._struct(go_type)
        if kind in ("map", "list"):
            inner = go_type.item
            item = Any if inner is None or inner.kind == "any" else self.of(inner)
            return dict[str, item] if kind == "map" else list[item]  # type: ignore[valid-type]
        return _PRESENT if kind == "any" else _SCALARS[kind]

    def _struct(self, go_type: GoType) -> Any:
        found = self._made.get(go_type)
        if found is None:
            self._made[go_type] = _NOTHING
            fields = {name: self.of(inner) for name, inner in go_type.fields.items()}
            found = self._made[go_type] = TypedDict(go_type.struct, fields, total=False)  # type: ignore[operator]
        return found
