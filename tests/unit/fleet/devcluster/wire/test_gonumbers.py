from __future__ import annotations

import pytest

from fleet.devcluster.wire.gonumbers import NumberError, go_quoted, parse_int, parse_uint


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0", 0),
        ("+5", 5),
        ("-5", -5),
        ("007", 7),
        ("9223372036854775807", 2**63 - 1),
        ("-9223372036854775808", -(2**63)),
    ],
)
def test_numbers_are_read_as_go_reads_them(text: str, value: int) -> None:
    assert parse_int(text) == value


@pytest.mark.parametrize("text", ["", " 5", "5 ", "1_0", "1e3", "0x10", "٣", "5\n", "+", "--5", "½"])
def test_what_python_alone_would_read_is_no_number(text: str) -> None:
    with pytest.raises(NumberError, match=r"^strconv\.ParseInt: parsing .*: invalid syntax$"):
        parse_int(text)
    with pytest.raises(NumberError, match=r"^strconv\.ParseUint: parsing .*: invalid syntax$"):
        parse_uint(text)


@pytest.mark.parametrize("text", ["9223372036854775808", "-9223372036854775809", "9" * 5000, "-" + "9" * 5000])
def test_numbers_beyond_64_bits_are_out_of_range(text: str) -> None:
    with pytest.raises(NumberError, match=r": value out of range$"):
        parse_int(text)


def test_a_number_without_a_sign_has_one_bit_more() -> None:
    assert parse_uint("18446744073709551615") == 2**64 - 1
    assert parse_uint("0" * 5000 + "1") == 1
    for text in ("18446744073709551616", "9" * 5000):
        with pytest.raises(NumberError, match=r": value out of range$"):
            parse_uint(text)


def test_texts_are_quoted_as_go_quotes_them() -> None:
    assert go_quoted('a"b\\c\n\x00\x7f\u2028ä\U000e0001') == '"a\\"b\\\\c\\n\\x00\\x7f\\u2028ä\\U000e0001"'
