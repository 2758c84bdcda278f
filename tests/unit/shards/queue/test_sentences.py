"""What people are told of errors and waits, and what they are not."""

from __future__ import annotations

import pytest

from shards.errors import Conflict, Forbidden, Invalid, TerminalError
from shards.queue.sentences import TEXT_LENGTH, clause, sentence

PASSWORD = "s3cr3t-value"


def raised(error: Exception) -> Exception:
    try:
        raise error
    except Exception as caught:
        return caught


TOLD = {
    "an author's own exception: its type and place": (raised(ValueError(f"bad: {PASSWORD}")), "ValueError at test_"),
    "one with the value in its type's text": (raised(KeyError(PASSWORD)), "KeyError at test_sentences.py:"),
    "a value that a server refused": (
        Invalid(422, "Invalid", f'Widget "w" is invalid: spec.token: Invalid value: "{PASSWORD}": too short'),
        'Invalid: 422 Invalid: Widget "w" is invalid: spec.token: Invalid value',
    ),
    "whatever a server says of a Secret": (
        Conflict(409, "Conflict", f'Operation cannot be fulfilled on secrets "s": {PASSWORD}'),
        "Conflict: 409 Conflict",
    ),
    "a permission": (
        Forbidden(403, "Forbidden", 'widgets is forbidden: User "u" cannot list'),
        'Forbidden: 403 Forbidden: widgets is forbidden: User "u" cannot list',
    ),
    "a timeout": (TimeoutError(), "took too long"),
}


@pytest.mark.parametrize(("error", "text"), TOLD.values(), ids=TOLD)
def test_no_value_of_an_object_is_told(error: Exception, text: str) -> None:
    assert sentence(error).startswith(text)
    assert PASSWORD not in sentence(error)


def test_what_is_told_is_one_short_line() -> None:
    text = sentence(TerminalError("first\nsecond " + "x" * 500))
    assert text.startswith("TerminalError: first second x")
    assert len(text) == TEXT_LENGTH
    assert "\n" not in text


def test_a_reason_is_one_line_and_not_endless() -> None:
    assert clause(ValueError("one\n  two")) == "one two"
    assert len(clause("x" * 1000)) == TEXT_LENGTH
