"""The control endpoint of an embedded server, under `/-/`, for `fleet dev` and experiments. Loopback only.

GET /-/verdict              the judge's verdict so far, as JSON
GET /-/counts               requests by verb, resource and status, as JSON
GET /-/journal?after=SEQ    entries after SEQ as JSON lines; with follow=true the stream goes on until cut
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping

import msgspec

from fleet.devcluster.journal import Entry, encode_lines
from fleet.devcluster.judge import Judge
from fleet.devcluster.recorder import Recorder


class Control:
    """Follows a recorder from its first entry on."""

    def __init__(self, recorder: Recorder) -> None:
        self.recorder = recorder
        self._judge = Judge()
        for entry in recorder.entries:
            self._judge.hear(entry)
        recorder.listeners.append(self._judge.hear)

    def close(self) -> None:
        self.recorder.listeners.remove(self._judge.hear)

    def document(self, path: str) -> bytes | None:
        """The JSON at a path; None where there is none."""
        if path == "/-/verdict":
            return self._judge.verdict().encode()
        if path == "/-/counts":
            rows = [
                {"verb": verb, "resource": resource, "status": status, "count": count}
                for (verb, resource, status), count in sorted(self.recorder.counts.items())
            ]
            return msgspec.json.encode(rows)
        return None

    async def journal(self, query: Mapping[str, str]) -> AsyncIterator[bytes]:
        """JSON lines. Raises ValueError for an `after` that is no number."""
        after = int(query.get("after", "0"))
        follow = query.get("follow") == "true"
        arrived = asyncio.Event()

        def notice(entry: Entry) -> None:
            arrived.set()

        self.recorder.listeners.append(notice)
        try:
            while True:
                arrived.clear()
                entries = list(self.recorder.after(after))
                if entries:
                    after = entries[-1].seq
                    yield encode_lines(entries)
                elif not follow:
                    return
                else:
                    await arrived.wait()
        finally:
            self.recorder.listeners.remove(notice)
