from __future__ import annotations

import pytest

from fleet.devcluster.schemas.patterns import PatternError, compiled


@pytest.mark.parametrize(
    ("pattern", "text", "matches"),
    [
        ("^a$", "a", True),
        ("^a$", "a\n", False),
        ("[[:alpha:]]+$", "ab", True),
        ("^[$]$", "$", True),
        (r"^\d$", "٣", False),
        (r"^\$\z", "$", True),
        ("[]a]", "]", True),
    ],
)
def test_a_pattern_means_what_it_means_in_go(pattern: str, text: str, matches: bool) -> None:
    assert bool(compiled(pattern).search(text)) is matches


@pytest.mark.parametrize(
    ("pattern", "fault"),
    [
        ("(?=x)", "error parsing regexp: invalid or unsupported Perl syntax: `(?=`"),
        (r"(a)\1", r"error parsing regexp: invalid escape sequence: `\1`"),
        ("(a", "error parsing regexp: missing closing ): `(a`"),
        ("[a", "error parsing regexp: missing closing ]: `[a`"),
    ],
)
def test_what_go_has_not_is_refused_in_its_words(pattern: str, fault: str) -> None:
    with pytest.raises(PatternError) as caught:
        compiled(pattern)
    assert str(caught.value) == fault
