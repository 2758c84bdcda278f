"""Histograms that cost little: for what is observed once for every key. A door to prometheus_client."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence

from prometheus_client import CollectorRegistry
from prometheus_client.core import HistogramMetricFamily
from prometheus_client.registry import Collector
from prometheus_client.utils import floatToGoString


class Observations:
    """One series of a `LoopHistogram`."""

    __slots__ = ("_bounds", "counts", "total")

    def __init__(self, bounds: Sequence[float]) -> None:
        self._bounds = bounds
        self.counts = [0] * (len(bounds) + 1)
        self.total = 0.0

    def observe(self, value: float) -> None:
        self.counts[bisect_left(self._bounds, value)] += 1
        self.total += value


class LoopHistogram(Collector):
    """A histogram that is written from one event loop only.

    Without the library's locks, and with a search in place of its walk over all buckets: three of these are written for
    every key.
    """

    def __init__(
        self,
        name: str,
        documentation: str,
        labels: Sequence[str],
        buckets: Sequence[float],
        registry: CollectorRegistry,
    ) -> None:
        """buckets: upper bounds, ascending, without the infinite one."""
        self._name, self._documentation, self._labels = name, documentation, labels
        self._bounds = tuple(buckets)
        self._series: dict[tuple[str, ...], Observations] = {}
        registry.register(self)

    def labels(self, *values: str) -> Observations:
        found = self._series.get(values)
        if found is None:
            assert len(values) == len(self._labels), f"{self._name} has labels {self._labels}"
            found = self._series[values] = Observations(self._bounds)
        return found

    def describe(self) -> list[HistogramMetricFamily]:
        return [HistogramMetricFamily(self._name, self._documentation, labels=self._labels)]

    def collect(self) -> Iterator[HistogramMetricFamily]:
        [family] = self.describe()
        texts = [*map(floatToGoString, self._bounds), "+Inf"]
        for values, series in self._series.items():
            below, buckets = 0, []
            for text, count in zip(texts, series.counts, strict=True):
                below += count
                buckets.append((text, float(below)))
            family.add_metric(values, buckets, series.total)
        yield family
