"""Transcripts: a text of commands and what comes of them, in the manner of cockroachdb/datadriven.

    # A comment is prose, and so is what it says about the next command.
    start worker a
    pass 3s
    ----
    what the commands say

A block begins with its commands, one a line; `----` separates them from what they said, which ends at the next empty
line. Comments stand between blocks. `rewritten` puts what commands say today into the text; a reviewer reads the diff.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

SEPARATOR = "----"


@dataclass(frozen=True)
class Block:
    """line: of the first command, from 1. expected: without an end of line."""

    line: int
    commands: tuple[str, ...]
    expected: str


class TranscriptError(Exception):
    """The text is no transcript. Names the line."""


def blocks(text: str) -> list[Block]:
    """All blocks, in their order."""
    found: list[Block] = []
    lines = text.splitlines()
    at = 0
    while at < len(lines):
        if not lines[at].strip() or lines[at].startswith("#"):
            at += 1
            continue
        end = next((index for index in range(at, len(lines)) if not lines[index].strip()), len(lines))
        if SEPARATOR not in lines[at:end]:
            raise TranscriptError(f"line {at + 1}: no {SEPARATOR} follows this command")
        middle = lines.index(SEPARATOR, at, end)
        if middle == at:
            raise TranscriptError(f"line {at + 1}: {SEPARATOR} without a command before it")
        found.append(Block(at + 1, tuple(lines[at:middle]), "\n".join(lines[middle + 1 : end])))
        at = end
    return found


def rewritten(text: str, say: Callable[[Block], str]) -> str:
    """The text with what each block says now. say: carries out the commands of a block."""
    lines = text.splitlines()
    written: list[str] = []
    done = 0
    for block in blocks(text):
        first = block.line - 1
        written += lines[done:first]
        written += [*block.commands, SEPARATOR, *say(block).splitlines()]
        done = first + len(block.commands) + 1 + len(block.expected.splitlines())
    return "\n".join([*written, *lines[done:]]) + "\n"
