"""Rules as programs: checked against declared types, then run on values. Pure.

The language itself is the library's (cel-cpp); errors are worded as cel-go words them.
"""

from __future__ import annotations

import json
import re
from functools import cache
from typing import Any, Final

from cel_expr_python import cel  # type: ignore[import-untyped]
from cel_expr_python.ext import ext_bindings, ext_optional, ext_strings  # type: ignore[import-untyped]

from fleet.devcluster.celrules.functions import (
    checked_functions,
    evaluated_functions,
    is_about_numbers,
    missing_function,
)
from fleet.devcluster.celrules.messages import Messages

_EXTENSIONS: Final = (ext_optional.ExtOptional(), ext_strings.ExtStrings(), ext_bindings.ExtBindings())
_PREVIOUS: Final = "previous__"
"""Variable of programs: the old value in a list; empty when there is none."""
_OPTIONAL_OLD: Final = f"size({_PREVIOUS}) == 0 ? optional.none() : optional.of({_PREVIOUS}[0])"
_STATUS = re.compile(r"^[A-Z_]+: ")
_OLD_MISSING = re.compile(r"undeclared reference to 'oldSelf['.]")
_KEY = re.compile(r'^Key not found in map : (".*")$', re.DOTALL)
_INDEX = re.compile(r"^Index error: index=(-?\d+) ")
_CONVERSION = re.compile(r"^cannot convert string to (\w+)")
_CONVERSIONS: Final = {
    "String to Duration conversion failed": "google.protobuf.Duration",
    "String to Timestamp conversion failed": "google.protobuf.Timestamp",
}
_REGEXP: Final = "invalid regular expression: "
_NO_OVERLOAD: Final = "no such overload"


class RuleError(ValueError):
    """A rule that is no rule here; the text is what the real server says after its own preface."""


class NotEvaluatedError(ValueError):
    """A rule that the real server evaluates, and this one cannot. The text names the function."""


class EvaluationError(ValueError):
    """A program that failed on a value. The text is cel-go's."""

    @property
    def is_overload(self) -> bool:
        return str(self).startswith(_NO_OVERLOAD)


class Checker:
    """Checks the rules of one node of a schema."""

    def __init__(self, messages: Messages) -> None:
        variables = {"self": messages.type}
        functions = checked_functions()
        pool, extensions = messages.pool, list(_EXTENSIONS)
        self._plain = cel.NewEnv(pool, variables=variables, extensions=extensions, functions=functions)
        old = {**variables, "oldSelf": messages.type}
        self._old = cel.NewEnv(pool, variables=old, extensions=extensions, functions=functions)

    def uses_old(self, expression: str, wanted: cel.Type, *, optional: bool) -> bool:
        """Whether an expression needs oldSelf. wanted: the type of its value. Raises RuleError, NotEvaluatedError."""
        try:
            self._plain.compile(expression)
        except RuntimeError as error:
            if not _OLD_MISSING.search(str(error)):
                return self._judged(expression, error)
        else:
            return self._typed(self._plain, expression, wanted)
        environment = self._plain if optional else self._old
        text = f"cel.bind(oldSelf, optional.of(self), {expression}\n)" if optional else expression
        try:
            environment.compile(text)
        except RuntimeError as error:
            self._judged(expression, error)
            return True
        self._typed(environment, text, wanted)
        return True

    def _judged(self, expression: str, error: RuntimeError) -> bool:
        if is_about_numbers(str(error)):
            return False
        missing = missing_function(expression, str(error))
        if missing:
            raise NotEvaluatedError(missing) from None
        text = str(error).removeprefix("INVALID_ARGUMENT: ").removesuffix(" [INVALID_ARGUMENT]")
        raise RuleError(f"compilation failed: {text}") from None

    def _typed(self, environment: cel.Env, expression: str, wanted: cel.Type) -> bool:
        if environment.compile(expression).return_type() != wanted:
            kind = "bool" if wanted == cel.Type.BOOL else "string"
            raise RuleError(f"must evaluate to a {kind}")
        return False


@cache
def _environment() -> cel.Env:
    dynamic = cel.Type.DYN
    variables = {"self": dynamic, "oldSelf": dynamic, _PREVIOUS: dynamic}
    return cel.NewEnv(variables=variables, extensions=list(_EXTENSIONS), functions=evaluated_functions())


class Program:
    """A checked expression, ready to run on values (see declarations.Declared.value)."""

    def __init__(self, expression: str, *, optional: bool) -> None:
        text = f"cel.bind(oldSelf, {_OPTIONAL_OLD}, {expression}\n)" if optional else expression
        self._expression: Final = _environment().compile(text, disable_check=True)

    def run(self, value: Any, old: Any, *, has_old: bool) -> Any:
        """Raises EvaluationError."""
        data: dict[str, Any] = {"self": value, _PREVIOUS: [old] if has_old else []}
        if has_old:
            data["oldSelf"] = old
        found = self._expression.eval(data=data)
        if found.type() == cel.Type.ERROR:
            raise EvaluationError(_worded(str(found.value())))
        return found.plain_value()


def _worded(text: str) -> str:
    text = _STATUS.sub("", text)
    key, index, conversion = _KEY.match(text), _INDEX.match(text), _CONVERSION.match(text)
    if key:
        return f"no such key: {json.loads(key[1])}"
    if index:
        return f"index out of bounds: {index[1]}"
    if conversion:
        return f"type conversion error from 'string' to '{conversion[1]}'"
    if text in _CONVERSIONS:
        return f"type conversion error from 'string' to '{_CONVERSIONS[text]}'"
    if text.startswith(("No matching overloads found", "Applying SELECT to non-message type")):
        return _NO_OVERLOAD
    if text.startswith(_REGEXP):
        reason, _, part = text.removeprefix(_REGEXP).rpartition(": ")
        return f"error parsing regexp: {reason.replace('missing', 'missing closing')}: `{part}`"
    return "division by zero" if text == "divide by zero" else text
