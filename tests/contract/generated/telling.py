"""Operations as Python that plays them again."""

from __future__ import annotations

from dataclasses import MISSING, fields

from tests.contract.generated.operations import Operation, Options


def told(operations: list[Operation]) -> str:
    """As Python that plays them again."""
    return "[\n" + "".join(f"    {_call(operation)},\n" for operation in operations) + "]"


def _call(value: Operation | Options) -> str:
    """A constructor call without the arguments that are as they are by default."""
    given = []
    for each in fields(value):
        found = getattr(value, each.name)
        default = each.default_factory() if each.default_factory is not MISSING else each.default
        if found != default:
            given.append(f"{each.name}={_call(found) if isinstance(found, Options) else repr(found)}")
    return f"{type(value).__name__}({', '.join(given)})"
