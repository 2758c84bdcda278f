"""Bodies: packed and unpacked unchanged, small in memory, with a dictionary that is renewed when it stops paying."""

from __future__ import annotations

import random
import sys
import time

import msgspec
import pytest

from shards.stores import bodies
from shards.stores.bodies import LARGE_BYTES, PLAIN_BYTES, SAMPLES, WINDOW, Bodies, Body, Codec, trained


def widget(number: int, kind: str = "Widget") -> bytes:
    """About 600 bytes, like its siblings but for names and numbers."""
    rng = random.Random(number)
    fields = {f"{kind.lower()}Field{index}": f"{kind}-value-{index}" for index in range(12)}
    metadata = {"name": f"{kind}-{number}", "uid": f"{rng.getrandbits(128):032x}", "resourceVersion": str(number)}
    return msgspec.json.encode({"apiVersion": f"{kind}.dev/v1", "kind": kind, "metadata": metadata, "spec": fields})


def noise(number: int, size: int = 600) -> bytes:
    return random.Random(number).randbytes(size)


def kept(keeping: Bodies, raws: list[bytes]) -> list[Body]:
    made = []
    for raw in raws:
        body = Body()
        keeping.keep(body, raw)
        made.append(body)
    return made


def test_every_body_comes_back_as_it_went_in_whatever_its_size_and_kind() -> None:
    raws = [widget(number) for number in range(SAMPLES * 2)]
    raws += [b"", b"{}", b"x" * (PLAIN_BYTES - 1), noise(1), noise(2, LARGE_BYTES * 3), b"y" * LARGE_BYTES * 4]
    keeping = Bodies()
    assert [body.raw for body in kept(keeping, raws)] == raws
    assert keeping.trained == 1


def test_a_short_body_is_kept_as_it_is() -> None:
    raw = widget(1)[: PLAIN_BYTES - 1]
    keeping = Bodies()
    kept(keeping, [widget(number) for number in range(SAMPLES)])
    body = Body()
    keeping.keep(body, raw)
    assert body.blob is raw


def test_a_large_body_does_not_wait_for_a_dictionary() -> None:
    (body,) = kept(Bodies(), [b"y" * (LARGE_BYTES + 1)])
    assert len(body.blob) < 100


def test_bodies_that_came_before_the_dictionary_are_packed_once_it_is_there() -> None:
    keeping = Bodies()
    made = kept(keeping, [widget(number) for number in range(SAMPLES)])
    assert max(len(body.blob) for body in made) < len(widget(1)) / 4
    assert keeping._waiting == []


def test_a_packed_body_takes_as_much_memory_as_its_bytes() -> None:
    # The library's own result is the front of a buffer that is as large as the worst case.
    made = kept(Bodies(), [widget(number) for number in range(SAMPLES + 8)])
    empty = sys.getsizeof(b"")
    assert all(sys.getsizeof(body.blob) == empty + len(body.blob) for body in made)


def test_bodies_of_megabytes_do_not_wait_until_there_are_256() -> None:
    keeping = Bodies()
    kept(keeping, [noise(number, LARGE_BYTES) for number in range(bodies.SAMPLE_BYTES // LARGE_BYTES)])
    assert keeping._waiting == []


def test_a_dictionary_that_stops_paying_is_replaced_and_old_bodies_stay_readable() -> None:
    keeping = Bodies()
    first = [widget(number) for number in range(SAMPLES + WINDOW)]
    old = kept(keeping, first)
    others = [widget(number, "Gadget") for number in range(WINDOW * 2 + SAMPLES)]
    new = kept(keeping, others)
    assert keeping.trained == 2
    assert len(new[-1].blob) < len(new[0].blob) / 2
    assert [body.raw for body in old] == first
    assert [body.raw for body in new] == others


def test_a_dictionary_of_the_wrong_bodies_is_noticed_at_once() -> None:
    """A list in order of namespace: the first 256 are one tenant's, and all the rest another's."""
    keeping = Bodies()
    kept(keeping, [widget(number) for number in range(SAMPLES)])
    others = kept(keeping, [widget(number, "Gadget") for number in range(WINDOW + SAMPLES + 1)])
    assert keeping.trained == 2
    assert len(others[-1].blob) < len(others[0].blob) / 2


def test_a_dictionary_lives_as_long_as_a_body_needs_it() -> None:
    keeping = Bodies()
    old = kept(keeping, [widget(number) for number in range(SAMPLES + WINDOW)])
    codec = old[0].codec
    kept(keeping, [widget(number, "Gadget") for number in range(WINDOW * 2 + SAMPLES)])
    held = sys.getrefcount(codec)
    assert held == len(old) + 2  # the bodies, this variable, the argument


def test_where_no_dictionary_helps_the_one_in_use_stays_and_training_does_not_go_on_for_ever() -> None:
    keeping = Bodies()
    kept(keeping, [widget(number) for number in range(SAMPLES + WINDOW)])
    kept(keeping, [noise(number) for number in range(WINDOW * 8)])
    assert (keeping.trained, keeping.refused) == (1, 1)


@pytest.mark.parametrize("raws", [[b"a" * 400] * 20, [bytes([n]) * 400 for n in range(16)], [noise(1)]])
def test_bodies_that_make_no_dictionary_are_packed_without_one(raws: list[bytes]) -> None:
    codec = trained(raws)
    assert [codec.unpack(codec.pack(raw)) for raw in raws] == raws


def test_a_retired_codec_still_unpacks() -> None:
    codec = Codec()
    packed = codec.pack(b"a" * 400)
    codec.retire()
    assert codec.unpack(packed) == b"a" * 400


def test_the_step_that_trains_is_short() -> None:
    keeping = Bodies()
    longest = 0.0
    for number in range(SAMPLES + 1):
        body, raw = Body(), widget(number)
        began = time.thread_time()
        keeping.keep(body, raw)
        longest = max(longest, time.thread_time() - began)
    assert keeping.trained == 1
    assert longest < 0.05  # ten times what it takes here
