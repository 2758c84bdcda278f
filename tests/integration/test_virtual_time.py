"""The product's own code on virtual time: the same requests at the same times in every process."""

from __future__ import annotations

import asyncio
import hashlib
import os
import subprocess
import sys
from collections import Counter

from fleet.devcluster.recording.journal import decode_lines, encode_lines
from shards.testing.virtual_time import run_virtually
from tests.integration.idle_fleet import MEMBERS, SHARDS
from tests.integration.pods import ROOT
from tests.integration.small_fleet import WEBSITES, SmallFleet, website
from tests.integration.test_ownership import status_writer

OBJECTS = 20


async def eventful() -> bytes:
    """The journal of a fleet that starts, reconciles, loses a member without a word, and idles a minute."""
    fleet = SmallFleet(status_writer, shards=SHARDS)
    await fleet.start(*MEMBERS)
    await fleet.all_open()
    for number in range(OBJECTS):
        await fleet.client.create(WEBSITES, "default", website(f"site-{number}"))
    await fleet.crash(MEMBERS[0])
    await asyncio.sleep(60)
    assert len(fleet.open_ranges()) == SHARDS
    await fleet.stop()
    assert fleet.server.recorder is not None
    return encode_lines(fleet.server.recorder.entries)


def digest() -> str:
    return hashlib.sha256(run_virtually(eventful())).hexdigest()


def digest_in_a_process(hash_seed: int) -> str:
    command = [sys.executable, "-c", "from tests.integration.test_virtual_time import digest; print(digest())"]
    environment = {**os.environ, "PYTHONHASHSEED": str(hash_seed)}
    run = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True)
    return run.stdout.strip()


def test_a_whole_fleet_makes_the_same_requests_in_every_process() -> None:
    assert digest_in_a_process(1) == digest_in_a_process(2)


def test_what_is_recorded_is_all_that_happened() -> None:
    entries = list(decode_lines(run_virtually(eventful())))
    statuses = Counter(entry.name for entry in entries if entry.subresource == "status" and entry.succeeded)
    assert statuses == dict.fromkeys((f"site-{number}" for number in range(OBJECTS)), 1)
    assert entries[-1].time > 60
