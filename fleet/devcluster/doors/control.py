"""The control endpoint of an embedded server or a fault proxy, under `/-/`.

Doors let loopback in, nobody else, and no page of a browser: see `browsers`. What is posted must say that it is JSON.

GET /-/verdict              the judge's verdict so far, as JSON
GET /-/invariants           what it says about I1 to I27, as text
GET /-/counts               requests by verb, resource and status, as JSON
GET /-/journal?after=SEQ    entries after SEQ as JSON lines; with follow=true the stream goes on until cut
/-/faults                   see `fleet.devcluster.faults.endpoint`
/-/storage                  see `fleet.devcluster.doors.stored`
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from itertools import islice

import msgspec

from fleet.devcluster.doors import stored
from fleet.devcluster.faults import Faults, endpoint
from fleet.devcluster.judging.judge import Judge
from fleet.devcluster.judging.report import table
from fleet.devcluster.recording.journal import Entry, encode_lines
from fleet.devcluster.recording.recorder import Recorder
from fleet.devcluster.storage.storage import Storage
from fleet.devcluster.wire.answers import Answer, Interrupted

PREFIX = "/-/"
_PLAIN = "text/plain; charset=utf-8"
_DIGITS = 18
_ENTRIES = 5000
"""Of a journal that are encoded at once: a long one must not keep the loop from everything else."""


class Control:
    """Follows a recorder, where there is one, from its first entry on. storage: of an embedded server."""

    def __init__(self, recorder: Recorder | None, faults: Faults, storage: Storage | None = None) -> None:
        self.recorder = recorder
        self.faults = faults
        self._stored = stored.Stored(storage, recorder)
        self._judge = Judge(with_notes=False)
        if recorder is not None:
            for entry in recorder.entries:
                self._judge.hear(entry)
            recorder.listeners.append(self._judge.hear)

    def close(self) -> None:
        if self.recorder is not None:
            self.recorder.listeners.remove(self._judge.hear)

    def answer(self, method: str, path: str, query: Mapping[str, str], body: bytes | None) -> Answer:
        """The answer to a request whose path begins with PREFIX."""
        if path == endpoint.PATH or path.startswith(f"{endpoint.PATH}/"):
            return endpoint.answer(self.faults, method, path, body)
        if path.startswith(stored.PATH):
            return self._stored.answer(method, path)
        if self.recorder is None:
            return Answer(404, b"no recorder", _PLAIN)
        if method != "GET":
            return Answer(404, b"GET only", _PLAIN)
        if path == "/-/journal":
            after = query.get("after", "0")
            if not after.isdecimal() or len(after) > _DIGITS:
                return Answer(400, b"after: the sequence number of an entry", _PLAIN)
            lines = JournalStream(self.recorder, int(after), follow=query.get("follow") == "true")
            return Answer(200, b"", "application/jsonlines", stream=lines)
        if path == "/-/verdict":
            return Answer(200, self._judge.verdict().encode())
        if path == "/-/invariants":
            return Answer(200, table(self._judge.verdict()).encode(), _PLAIN)
        if path == "/-/counts":
            return Answer(200, _counts(self.recorder))
        return Answer(404, f"nothing at {path}".encode(), _PLAIN)


class JournalStream:
    """The entries of a recorder as an `EventStream` of JSON lines."""

    def __init__(self, recorder: Recorder, after: int, *, follow: bool) -> None:
        """after: the sequence number of the last entry that is not shown. follow: goes on with what happens."""
        self._recorder = recorder
        self._after = after
        self._follow = follow
        self._arrived = asyncio.Event()
        self._interrupted = False
        self._closed = False
        recorder.listeners.append(self._notice)

    async def read(self) -> bytes:
        while not self._closed:
            self._arrived.clear()
            entries = list(islice(self._recorder.after(self._after), _ENTRIES))
            if entries:
                self._after = entries[-1].seq
                return encode_lines(entries)
            if not self._follow:
                return b""
            await self._arrived.wait()
            if self._interrupted:
                self._interrupted = False
                raise Interrupted
        return b""

    def interrupt(self) -> None:
        self._interrupted = not self._arrived.is_set()
        self._arrived.set()

    def close(self) -> None:
        if not self._closed:
            self._closed = True
            self._recorder.listeners.remove(self._notice)
            self._arrived.set()

    def _notice(self, entry: Entry) -> None:
        self._arrived.set()


def refused(status: int, why: str) -> Answer:
    """In the form in which the endpoint tells all its errors."""
    return Answer(status, msgspec.json.encode({"field": "", "error": why}))


def _counts(recorder: Recorder) -> bytes:
    rows = [
        {"verb": verb, "resource": resource, "status": status, "count": count}
        for (verb, resource, status), count in sorted(recorder.counts.items())
    ]
    return msgspec.json.encode(rows)
