"""Readers of what others wrote: no input makes them raise what they do not document, hang, or hold on to memory.

A few seconds here; `make fuzz` goes on for as long as it is told.
"""

from __future__ import annotations

import random
import time

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.fuzz.long import SLOWEST_SECONDS
from tests.fuzz.mutations import DEEP, TOKENS, mutated
from tests.fuzz.readers import LIMIT_BYTES, READERS, Reader

pytestmark = pytest.mark.parametrize("reader", READERS, ids=lambda each: each.name)


def _read(reader: Reader, data: bytes) -> bool:
    """Whether it was accepted."""
    began = time.process_time()
    try:
        reader.read(data)
    except reader.errors:
        return False
    finally:
        assert time.process_time() - began < SLOWEST_SECONDS
    return True


def test_the_examples_are_read(reader: Reader) -> None:
    if reader.name != "lines":  # they are longer than the limit that the fuzzing has
        assert all(_read(reader, example) for example in reader.examples)


@settings(max_examples=150, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.binary(max_size=2 * LIMIT_BYTES))
def test_any_bytes_are_read_or_refused(reader: Reader, data: bytes) -> None:
    _read(reader, data)


@settings(max_examples=400, suppress_health_check=[HealthCheck.too_slow])
@given(seed=st.integers(0, 2**32))
def test_a_changed_example_is_read_or_refused(reader: Reader, seed: int) -> None:
    _read(reader, mutated(random.Random(seed), reader.examples, reader.longest_bytes))


def test_each_value_of_an_example_may_be_anything(reader: Reader) -> None:
    for example in reader.examples:
        for at in [at for at, byte in enumerate(example) if byte == ord(":")]:
            ends = [end for mark in (b",", b"}", b"\n", b"]") if (end := example.find(mark, at)) >= 0]
            for token in (*DEEP, *TOKENS):
                _read(reader, example[: at + 1] + b" " + token + example[min(ends, default=len(example)) :])
