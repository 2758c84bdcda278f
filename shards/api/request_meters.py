"""What a process counts of its requests to the API server."""

from __future__ import annotations

from urllib.parse import urlsplit

from shards.clock import Clock, boot_seconds
from shards.metrics import RequestMetrics

NO_ANSWER = "<error>"
"""client-go's code of a request without an answer."""


class _Series:
    """What one kind of request with one outcome is counted in."""

    __slots__ = ("count", "received_bytes", "seconds", "sent_bytes")

    def __init__(self, metrics: RequestMetrics, method: str, status: int, host: str) -> None:
        code = str(status) if status else NO_ANSWER
        self.count = metrics.requests.labels(code, method, host).inc
        self.seconds = metrics.seconds.labels(method, host, code)
        self.sent_bytes = metrics.sent_bytes.labels(method, host)
        self.received_bytes = metrics.received_bytes.labels(method, host)


class RequestMeters:
    """Request metrics with their labels looked up once; without effect where there are none.

    host: URL of the API server. Labels are methods, codes and that one host, so that their number is bounded.
    """

    def __init__(self, metrics: RequestMetrics | None = None, host: str = "", now: Clock = boot_seconds) -> None:
        """now: seconds; what a request lasts is measured with it, and nothing else."""
        self.now = now
        self._metrics = metrics
        self._host = urlsplit(host).netloc or host
        self._series: dict[tuple[str, int], _Series] = {}

    def exchanged(self, method: str, status: int, began: float, sent_bytes: int, received_bytes: int = 0) -> None:
        """A request has ended. status: 0 without an answer. began: as `now` said."""
        if self._metrics is None:
            return
        series = self._series.get((method, status))
        if series is None:
            series = self._series[method, status] = _Series(self._metrics, method, status, self._host)
        series.count()
        series.seconds.observe(self.now() - began)
        series.sent_bytes.observe(sent_bytes)
        if status:
            series.received_bytes.observe(received_bytes)

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
