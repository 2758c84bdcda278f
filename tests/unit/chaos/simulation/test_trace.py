from __future__ import annotations

import hashlib

from chaos.simulation.trace import Trace, line


def test_a_line_has_seconds_and_a_sentence() -> None:
    assert line(12.3456, "a/1 starts") == "   12.346  a/1 starts"


def test_the_digest_is_that_of_the_lines_and_their_ends() -> None:
    lines: list[str] = []
    trace = Trace(lambda at, sentence: lines.append(line(at, sentence)))
    trace(0.5, "a/1 starts")
    trace(1.0, "b/1 starts")

    assert trace.digest == hashlib.sha256("".join(f"{each}\n" for each in lines).encode()).hexdigest()
