"""What an error of the API server tells, which goes to logs, and what it keeps for its author."""

from __future__ import annotations

import pytest

from shards.errors import Invalid

WORD = "hunter2"


@pytest.mark.parametrize(
    ("message", "told"),
    [
        (f'spec.a: Invalid value: "{WORD}": must be longer', "spec.a: Invalid value: …: must be longer"),
        (f'spec.a: Invalid value: "a\\"{WORD}": no', "spec.a: Invalid value: …: no"),
        (
            f'[a: Unsupported value: "{WORD}": supported values: "x", b: Duplicate value: "{WORD}"]',
            '[a: Unsupported value: …: supported values: "x", b: Duplicate value: …]',
        ),
        (f'a: Invalid value: {{"b": "{WORD}"}}: no', "a: Invalid value: …"),
        (
            f'a: Invalid value: "x": no, b: Invalid value: map[c:{WORD}]: no',
            "a: Invalid value: …: no, b: Invalid value: …",
        ),
        (f'a: Invalid value: "cut off {WORD}', "a: Invalid value: …"),
        ("a: Required value", "a: Required value"),
    ],
)
def test_a_quoted_value_is_in_no_text_of_the_error_and_in_its_message(message: str, told: str) -> None:
    error = Invalid(422, "Invalid", message)
    assert str(error) == f"422 Invalid: {told}"
    assert WORD not in repr(error)
    assert error.message == message
