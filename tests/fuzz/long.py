"""Fuzzing for as long as it is told: `python -m tests.fuzz.long --minutes 10 [--reader config]`.

One process a reader, two at a time. Coverage-guided where atheris is installed, else the changes of
`tests.fuzz.mutations` from a seed, which is printed. Ends with 1 where an input was a finding; the input is printed
and kept in `fuzz-findings/`.
"""

from __future__ import annotations

import argparse
import importlib.util
import random
import resource
import signal
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.fuzz.readers import Reader

FINDINGS = Path("fuzz-findings")
SLOWEST_SECONDS = 10
"""CPU time of one input of at most 64 KiB."""
GROWTH_MIB = 64.0
"""What a process may grow by after its first tenth."""
AT_ONCE = 2


class _Hangs(BaseException):
    pass


def _hangs(_signal: int, _frame: FrameType | None) -> None:
    raise _Hangs(f"no end after {SLOWEST_SECONDS} s of CPU time")


def _resident_mib() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024.0


def _read(reader: Reader, data: bytes) -> object:
    """None where the input is refused. Keeps an input that is a finding, and raises what it raised."""
    signal.setitimer(signal.ITIMER_VIRTUAL, SLOWEST_SECONDS)
    try:
        return reader.read(data)
    except reader.errors:
        return None
    except BaseException:
        _keep(reader.name, data)
        raise
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)


def mutate(name: str, minutes: float, seed: int) -> str:
    """Changes examples until the time is over. Answers in one line, or raises what an input raised."""
    from tests.fuzz.mutations import mutated
    from tests.fuzz.readers import READERS

    [reader] = [each for each in READERS if each.name == name]
    rng, began, accepted, read = random.Random(seed), time.monotonic(), 0, 0
    corpus, warm_mib = list(reader.examples), 0.0
    signal.signal(signal.SIGVTALRM, _hangs)
    while (passed := time.monotonic() - began) < minutes * 60.0:
        data = mutated(rng, corpus, reader.longest_bytes)
        if _read(reader, data) is not None:
            accepted += 1
            if rng.random() < 0.02 and len(data) < 8192:
                # What was accepted once is worth changing again; the rest of the corpus makes room for it.
                corpus[len(reader.examples) :] = [*corpus[len(reader.examples) :], data][-200:]
        read += 1
        if not warm_mib and passed > minutes * 6.0:
            warm_mib = _resident_mib()
    grown = _resident_mib() - warm_mib
    if grown > GROWTH_MIB:
        raise MemoryError(f"{name} grew by {grown:.0f} MiB over {read} inputs")
    return f"{name}: {read} inputs in {minutes:g} min, {accepted} accepted, {grown:.1f} MiB grown, seed {seed}"


def guided(name: str, minutes: float) -> None:
    """Coverage-guided, by libFuzzer, which ends the process."""
    import atheris  # type: ignore[import-not-found,import-untyped,unused-ignore]

    # The loader's scanner is left out: with counters in it, it takes twenty times as long.
    parts = ["constructor", "composer", "parser", "resolver"]
    with atheris.instrument_imports(include=["shards", "fleet", *(f"yaml.{part}" for part in parts)]):
        from tests.fuzz.mutations import mutated
        from tests.fuzz.readers import READERS
    [reader] = [each for each in READERS if each.name == name]

    signal.signal(signal.SIGVTALRM, _hangs)

    def one(data: bytes) -> None:
        _read(reader, data)

    def change(data: bytes, size: int, seed: int) -> bytes:
        if seed % 2:
            return bytes(atheris.Mutate(data, size))
        return mutated(random.Random(seed), (data, *reader.examples), min(size, reader.longest_bytes))

    FINDINGS.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as corpus:
        for number, example in enumerate(reader.examples):
            (Path(corpus) / str(number)).write_bytes(example)
        options = [
            f"-max_total_time={int(minutes * 60)}",
            f"-timeout={30 * SLOWEST_SECONDS}",
            f"-max_len={reader.longest_bytes}",
            f"-artifact_prefix={FINDINGS}/",
            "-rss_limit_mb=600",
            "-print_final_stats=1",
        ]
        atheris.Setup(["fuzz", *options, corpus], one, custom_mutator=change)
        atheris.Fuzz()


def _keep(name: str, data: bytes) -> None:
    FINDINGS.mkdir(exist_ok=True)
    file = FINDINGS / f"{name}-{sha256(data).hexdigest()[:12]}"
    file.write_bytes(data)
    print(f"{name}: an input is a finding: {file}: {data[:200]!r}", flush=True)


def _child(name: str, options: argparse.Namespace) -> int:
    command = [sys.executable, "-m", "tests.fuzz.long", "--only", name, "--minutes", str(options.minutes)]
    done = subprocess.run([*command, "--seed", str(options.seed)], capture_output=True, text=True, check=False)
    told = [line for line in (done.stdout + done.stderr).splitlines() if line.strip()]
    shown = told[-25:] if done.returncode else [line for line in told if line.startswith((name, "stat::number_of_ex"))]
    print("\n".join([f"{name}: {'a finding' if done.returncode else 'nothing found'}", *shown]), flush=True)
    return done.returncode


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=10.0, help="per reader")
    parser.add_argument("--reader", help="this one only")
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--only", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.only:
        if importlib.util.find_spec("atheris") is not None:
            guided(options.only, options.minutes)
        else:
            print(mutate(options.only, options.minutes, options.seed))
        return 0
    from tests.fuzz.readers import READERS

    names = [each.name for each in READERS if options.reader in (None, each.name)]
    with ThreadPoolExecutor(AT_ONCE) as pool:
        return max(pool.map(lambda name: _child(name, options), names)) and 1


if __name__ == "__main__":
    sys.exit(main())
