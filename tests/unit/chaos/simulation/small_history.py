"""A history in which everything happens that a simulation loop can do, told line by line."""

from __future__ import annotations

import asyncio
from functools import partial
from random import Random

from chaos.simulation.collector import collector_off
from chaos.simulation.loop import SimulationLoop
from chaos.simulation.process import Process, current_process


class SmallHistory:
    """Processes that pass words on over a network, are paused, killed and started anew, on clocks that drift."""

    def __init__(self, seed: int) -> None:
        self.rng = Random(seed)
        self.loop = SimulationLoop(Random(seed + 1))
        self.lines: list[str] = []
        self.processes: dict[str, Process] = {}
        self.letters: dict[str, asyncio.Queue[str]] = {}

    def say(self, text: str) -> None:
        process = current_process()
        label = "nobody" if process is None else process.label
        if process is None or process.alive:
            self.lines.append(f"{self.loop.now:.6f} {label} {text}")

    def start(self, name: str) -> None:
        old = self.processes.get(name)
        count = 1 if old is None else int(old.label.split("/")[1]) + 1
        clock = None if old is None else old.clock
        process = self.processes[name] = Process(name, count, self.loop, Random(self.rng.random()), clock=clock)
        self.letters[name] = asyncio.Queue()
        process.spawn(self.live(name, self.letters[name]))

    async def live(self, name: str, letters: asyncio.Queue[str]) -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(self.listen(letters))
            group.create_task(self.write(name))

    async def listen(self, letters: asyncio.Queue[str]) -> None:
        try:
            while True:
                async with asyncio.timeout(0.065):
                    self.say(await letters.get())
        except TimeoutError:
            self.say("hears nothing")
            raise ValueError("silence") from None
        finally:
            await asyncio.sleep(0)
            self.say("stops listening")

    async def write(self, name: str) -> None:
        for number in range(1000):
            for to in sorted({"a", "b", "c"} - {name}):
                self.loop.at(self.loop.now + self.rng.choice((0.0, 0.01, 0.02)), self.arrive, to, f"{name}{number}")
            await asyncio.sleep(0.05)

    def arrive(self, to: str, text: str) -> None:
        self.letters[to].put_nowait(text)

    def strike(self) -> None:
        name = self.rng.choice("abc")
        process = self.processes[name]
        what = self.rng.choice(("pause", "kill", "drift"))
        self.say(f"{what} {name}")
        match what:
            case "pause":
                process.pause()
                self.loop.at(self.loop.now + 0.3, process.resume)
            case "kill":
                process.kill()
                self.loop.at(self.loop.now + 0.1, partial(self.start, name))
            case _:
                process.run_at(self.rng.uniform(0.8, 1.2))

    def told(self) -> list[str]:
        with collector_off():
            return self._told()

    def _told(self) -> list[str]:
        for name in "abc":
            self.start(name)
        for number in range(10):
            self.loop.at(0.2 + number * 0.2, self.strike)
        self.loop.run_until(3)
        self.loop.close()
        return [*self.lines, *(f"{each.at:.6f} {each.what}" for each in self.loop.troubles)]
