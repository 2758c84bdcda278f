from __future__ import annotations

import pytest

from fleet.devcluster.decoding.syntax import syntax_fault


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("", "unexpected end of JSON input"),
        ("nope", "invalid character 'o' in literal null (expecting 'u')"),
        ("tru", "invalid character ' ' in literal true (expecting 'e')"),
        ("1.", "invalid character ' ' after decimal point in numeric literal"),
        ('{"a" 1}', "invalid character '1' after object key"),
        ('{"a":1 "b":2}', "invalid character '\"' after object key:value pair"),
        ("[1 2]", "invalid character '2' after array element"),
        ('{"a":"\\x"}', "invalid character 'x' in string escape code"),
        ('{"a":1} x', "invalid character 'x' after top-level value"),
        ("{'a':1}", "invalid character '\\'' looking for beginning of object key string"),
    ],
)
def test_a_text_that_is_no_json_fails_in_the_words_of_go(text: str, fault: str) -> None:
    assert syntax_fault(text.encode()) == fault


def test_json_has_no_fault() -> None:
    assert syntax_fault(b' {"a": [1, -2.5e3, "\\u00e9", true, null, {}]} ') == ""
