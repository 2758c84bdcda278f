"""One entry of `x-kubernetes-validations`, compiled. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from cel_expr_python import cel  # type: ignore[import-untyped]

from fleet.devcluster.causes import Cause
from fleet.devcluster.celrules.language import Checker, EvaluationError, NotEvaluatedError, Program, RuleError
from fleet.devcluster.schemas.fieldpaths import field_place
from fleet.devcluster.schemas.values import quoted, shown

_MESSAGE_LIMIT: Final = 5 * 1024


class Rule:
    """error, message_error: why the real server refuses it, "" where it does not. missing, missing_wording: what this
    server lacks to evaluate it, and its messageExpression. optional: whether it runs without an old value as well."""

    def __init__(self, entry: Mapping[str, Any], schema: Mapping[str, Any], checker: Checker) -> None:
        self.text: Final[str] = entry.get("rule", "")
        self.optional: Final = bool(entry.get("optionalOldSelf"))
        self.error = self.message_error = self.missing = self.missing_wording = ""
        self.uses_old = False
        self._message: Final[str] = entry.get("message", "")
        self._reason: Final[str] = entry.get("reason") or "FieldValueInvalid"
        self._place: Final = field_place(entry.get("fieldPath", ""), schema) or ""
        self._program: Program | None = None
        self._wording: Program | None = None
        self._type: Final[str] = schema.get("type", "")
        self._compile(entry.get("messageExpression", ""), checker)

    def _compile(self, wording: str, checker: Checker) -> None:
        try:
            self.uses_old = checker.uses_old(self.text, cel.Type.BOOL, optional=self.optional)
            self._program = Program(self.text, optional=self.optional)
        except RuleError as error:
            fault = str(error)
            self.error = f"cel expression {fault}" if fault.startswith("must evaluate") else fault
            return
        except NotEvaluatedError as error:
            self.missing = str(error)
            return
        if not wording:
            return
        try:
            checker.uses_old(wording, cel.Type.STRING, optional=self.optional)
            self._wording = Program(wording, optional=self.optional)
        except RuleError as error:
            self.message_error = f"messageExpression {error}"
        except NotEvaluatedError as error:
            self.missing_wording = str(error)

    def fault(self, value: Any, seen: Any, old: Any, path: str, *, has_old: bool) -> tuple[Cause, bool] | None:
        """What is wrong with a value, and whether the rule said so itself: only that may be forgiven.

        seen, old: the value and the one before as rules see them.
        """
        if self._program is None:
            return None
        told = (self._message or self.text).strip()
        try:
            if self._program.run(seen, old, has_old=has_old) is True:
                return None
        except EvaluationError as error:
            if error.is_overload:
                supported = "call arguments did not match a supported operator, function or macro signature"
                why = f"'{error}': {supported} for rule: {told}"
            else:
                why = f"{error} evaluating rule: {told}"
            return Cause("FieldValueInvalid", f"Invalid value: {quoted(self._type)}: {why}", path or "<nil>"), False
        detail = self._worded(seen, old, has_old=has_old)
        if not detail:
            detail = told if self._message else f"failed rule: {told}"
        place = path + self._place
        return Cause(self._reason, self._text(value, detail), place.removeprefix(".") or "<nil>"), True

    def _worded(self, seen: Any, old: Any, *, has_old: bool) -> str:
        """ "" when the expression fails, or answers what no message may be."""
        if self._wording is None:
            return ""
        try:
            found = self._wording.run(seen, old, has_old=has_old)
        except EvaluationError:
            return ""
        text = found.strip() if isinstance(found, str) else ""
        return "" if len(text.encode()) > _MESSAGE_LIMIT or "\n" in text else text

    def _text(self, value: Any, detail: str) -> str:
        if self._reason == "FieldValueForbidden":
            return f"Forbidden: {detail}"
        if self._reason == "FieldValueRequired":
            return f"Required value: {detail}"
        plain = "" if self._type in ("object", "array") else f": {shown(value)}"
        if self._reason == "FieldValueDuplicate":
            return f"Duplicate value{plain}"
        return f"Invalid value{plain}: {detail}"
