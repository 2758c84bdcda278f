from __future__ import annotations

import pytest

from tests.scenarios.transcript import Block, TranscriptError, blocks, rewritten

TEXT = """\
# What this is about.

start a
start b
----
a starts
b starts

# More prose.
show owners
----

show map
----
version 1
"""


def test_a_text_is_read_as_blocks() -> None:
    assert blocks(TEXT) == [
        Block(3, ("start a", "start b"), "a starts\nb starts"),
        Block(10, ("show owners",), ""),
        Block(13, ("show map",), "version 1"),
    ]


def test_a_rewrite_changes_what_is_said_and_nothing_else() -> None:
    same = {block.line: block.expected for block in blocks(TEXT)}
    assert rewritten(TEXT, lambda block: same[block.line]) == TEXT

    other = rewritten(TEXT, lambda block: f"{len(block.commands)} commands\nwere given")
    assert [block.expected for block in blocks(other)] == [
        "2 commands\nwere given",
        "1 commands\nwere given",
        "1 commands\nwere given",
    ]
    assert [line for line in other.splitlines() if line.startswith("#")] == ["# What this is about.", "# More prose."]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [("start a\n\n----\n", "line 1: no ----"), ("# x\n----\nsaid\n", "line 2: ---- without a command")],
)
def test_what_is_no_transcript_is_refused_with_its_line(text: str, sentence: str) -> None:
    with pytest.raises(TranscriptError, match=sentence):
        blocks(text)
