"""What a process counts of its requests to the API server."""

from __future__ import annotations

from urllib.parse import urlsplit

from shards.clock import Clock, boot_seconds
from shards.metrics import RequestMetrics

NO_ANSWER = "<error>"
"""client-go's code of a request without an answer."""


class RequestMeters:
    """Request metrics with their labels looked up once; without effect where there are none.

    host: URL of the API server. Labels are methods, codes and that one host, so that their number is bounded.
    """

    def __init__(self, metrics: RequestMetrics | None = None, host: str = "", now: Clock = boot_seconds) -> None:
        """now: seconds; what a request lasts is measured with it, and nothing else."""
        self.now = now
        self._metrics = metrics
        self._host = urlsplit(host).netloc or host

    def exchanged(self, method: str, status: int, began: float, sent_bytes: int, received_bytes: int = 0) -> None:
        """A request has ended. status: 0 without an answer. began: as `now` said."""
        if self._metrics is None:
            return
        code = str(status) if status else NO_ANSWER
        self._metrics.requests.labels(code, method, self._host).inc()
        self._metrics.seconds.labels(method, self._host, code).observe(self.now() - began)
        self._metrics.sent_bytes.labels(method, self._host).observe(sent_bytes)
        if status:
            self._metrics.received_bytes.labels(method, self._host).observe(received_bytes)

    def opened(self, status: int) -> None:
        """A watch was answered, by its head. status: 0 without an answer."""
        if self._metrics is not None:
            self._metrics.requests.labels(str(status) if status else NO_ANSWER, "GET", self._host).inc()

    def waited(self, method: str, seconds: float) -> None:
        """A request was let through by the limiter, after so long."""
        if self._metrics is not None:
            self._metrics.waited_seconds.labels(method, self._host).observe(seconds)

    def limited(self, waiting: int, rate: float) -> None:
        """How many requests wait, and how many may be sent per second; 0.0 without a limit."""
        if self._metrics is not None:
            self._metrics.waiting.set(waiting)
            self._metrics.rate_limit.set(rate)


NO_METERS = RequestMeters()
