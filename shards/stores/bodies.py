"""The bodies of objects as bytes in memory: compressed with a dictionary that was trained on bodies of the same kind.

This package's only door to zstandard. Nothing here is safe for several threads: one `Bodies` belongs to one event loop.
Stores of one resource may share one, and with it the dictionary.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import zstandard

PLAIN_BYTES = 300
"""Shorter bodies are kept as they are: a frame costs more than it saves (python.md 6.4)."""

LARGE_BYTES = 16 * 1024
"""Longer ones need no dictionary, and are no samples for one: a few would fill it."""

LEVEL = 1
DICTIONARY_BYTES = 32 * 1024
SAMPLES = 256
"""Bodies a dictionary is trained on. More take longer and save less than a percent."""

SAMPLE_BYTES = 512 * 1024
"""Training stops to gather here, however few bodies there are, so that it takes milliseconds."""

FEW_SAMPLES = 16
"""Fewer do not make a dictionary."""

WINDOW = 2_048
"""Bodies between two looks at the ratio."""

WORSE = 1.25
"""A dictionary stops paying when bodies come out that much larger, by their own size, than those of its trial."""

BETTER = 0.9
"""Another one takes its place when it makes the same bodies at least that much smaller."""


class Codec:
    """One way to compress. dictionary None: without. What it packed, only it can unpack."""

    __slots__ = ("_compressor", "_decompressor", "_dictionary")

    def __init__(self, dictionary: zstandard.ZstdCompressionDict | None = None) -> None:
        self._dictionary = dictionary
        self._compressor: zstandard.ZstdCompressor | None = None
        self._decompressor = zstandard.ZstdDecompressor(dict_data=dictionary)

    def pack(self, raw: bytes) -> bytes:
        if self._compressor is None:
            self._compressor = zstandard.ZstdCompressor(LEVEL, self._dictionary, write_dict_id=False)
        # The library returns a large buffer of which only the front is used: a copy is as long as it says.
        return bytes(memoryview(self._compressor.compress(raw)))

    def unpack(self, packed: bytes) -> bytes:
        return self._decompressor.decompress(packed)

    def retire(self) -> None:
        """It will pack nothing any more: what only that needs is freed."""
        self._compressor = None


class Body(msgspec.Struct, gc=False):
    """One object's JSON in memory. Mutable: it waits uncompressed for the first dictionary. codec None: as it came."""

    blob: bytes = b""
    codec: Codec | None = None

    @property
    def raw(self) -> bytes:
        """The JSON."""
        return self.blob if self.codec is None else self.codec.unpack(self.blob)


class _Window:
    """How large bodies come out: one look at the live ratio. expected: what a dictionary's trial promised."""

    __slots__ = ("count", "expected", "packed", "raw")

    def __init__(self, expected: float = 1.0) -> None:
        self.expected = expected
        self.start()

    def start(self) -> None:
        self.count = self.raw = self.packed = 0

    def pays(self, raw: int, packed: int) -> bool:
        """Takes one body in. False where a window has ended that was too bad."""
        self.count += 1
        self.raw += raw
        self.packed += packed
        if self.count < WINDOW:
            return True
        ratio = self.packed / self.raw
        self.start()
        return ratio <= self.expected * WORSE


class Bodies:
    """Packs bodies, and trains dictionaries when there is enough to train on, or the present one stops paying.

    Training takes a few milliseconds (`make bench-store` measures the longest step), so it happens in the step that
    brings the last sample. Until the first dictionary, bodies stay as they are.
    trained: dictionaries that were taken into use. refused: those that were not better than the one in use.
    """

    def __init__(self) -> None:
        self.trained = 0
        self.refused = 0
        self._plain = Codec()
        self._codec: Codec | None = None
        self._waiting: list[Body] = []
        """Bodies that wait for the first dictionary, and are what it is trained on."""
        self._samples: list[bytes] | None = []
        """Bodies for the next dictionary; None while none is wanted."""
        self._sample_bytes = 0
        self._window = _Window()

    def keep(self, body: Body, raw: bytes) -> None:
        """Puts `raw` into `body`. raw: its own bytes, not a slice of a larger buffer."""
        size = len(raw)
        if size < PLAIN_BYTES:
            body.blob, body.codec = raw, None
            return
        if size > LARGE_BYTES:
            body.blob, body.codec = self._plain.pack(raw), self._plain
            return
        codec = self._codec
        if codec is None:
            body.blob, body.codec = raw, None
            self._waiting.append(body)
        else:
            body.blob, body.codec = codec.pack(raw), codec
            if not self._window.pays(size, len(body.blob)) and self._samples is None:
                self._samples = []
        if self._samples is not None:
            self._gather(self._samples, raw)

    def _gather(self, samples: list[bytes], raw: bytes) -> None:
        samples.append(raw)
        self._sample_bytes += len(raw)
        if len(samples) >= SAMPLES or (self._sample_bytes >= SAMPLE_BYTES and len(samples) >= FEW_SAMPLES):
            self._samples, self._sample_bytes = None, 0
            self._train(samples)

    def _train(self, samples: list[bytes]) -> None:
        # A fifth is kept apart: on what it was trained on, every dictionary looks good.
        trial, lessons = samples[::5], [each for index, each in enumerate(samples) if index % 5]
        codec = trained(lessons)
        before = self._codec
        ratio = _ratio(codec, trial)
        if before is not None and ratio > (now := _ratio(before, trial)) * BETTER:
            # The bodies have changed, and no dictionary helps: what this one does now is its measure from here on.
            self.refused += 1
            codec.retire()
            self._window = _Window(now)
            return
        self.trained += 1
        if before is not None:
            before.retire()
        self._codec = codec
        self._window = _Window(ratio)
        waiting, self._waiting = self._waiting, []
        for body in waiting:
            if body.codec is None:
                body.blob, body.codec = codec.pack(body.blob), codec


def trained(samples: Sequence[bytes]) -> Codec:
    """A codec with a dictionary out of these bodies; without one where they do not make one."""
    try:
        # Segments as long as a body and a coarse index: as good on objects as the search for the best, and 20 times
        # as fast (docs/decisions/0010).
        dictionary = zstandard.train_dictionary(
            DICTIONARY_BYTES, list(samples), k=1024, d=8, f=16, accel=4, level=LEVEL
        )
    except zstandard.ZstdError:
        return Codec()
    return Codec(dictionary)


def _ratio(codec: Codec, bodies: Sequence[bytes]) -> float:
    return sum(len(codec.pack(each)) for each in bodies) / sum(map(len, bodies))
