"""A browser without a window, spoken to over its debugging protocol (Chrome DevTools Protocol 1.3)."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import itertools
import shutil
import tempfile
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import aiohttp

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
START_SECONDS = 30.0
_FLAGS = (
    "--headless=new",
    "--no-sandbox",  # CI is root, and what is shown is ours
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--no-first-run",
    "--hide-scrollbars",
    "--force-color-profile=srgb",
    "--remote-debugging-port=0",
)


def find() -> str | None:
    """Path of the program; None where there is none."""
    return next((found for name in NAMES if (found := shutil.which(name))), None)


class Browser:
    """Runs within its context."""

    def __init__(self) -> None:
        self._stack = contextlib.AsyncExitStack()
        self._numbers = itertools.count(1)
        self._waiting: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self._pages: dict[str, Page] = {}

    async def __aenter__(self) -> Self:
        program = find()
        if program is None:
            raise RuntimeError(f"no browser found ({', '.join(NAMES)}): on Debian, apt-get install chromium")
        profile = Path(self._stack.enter_context(tempfile.TemporaryDirectory(ignore_cleanup_errors=True)))
        process = await asyncio.create_subprocess_exec(
            program,
            *_FLAGS,
            f"--user-data-dir={profile}",
            "about:blank",
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.DEVNULL,
        )
        self._stack.push_async_callback(_end, process)
        url = await _address(profile / "DevToolsActivePort", process)
        session = await self._stack.enter_async_context(aiohttp.ClientSession())
        self._socket = await self._stack.enter_async_context(session.ws_connect(url, max_msg_size=0))
        listening = asyncio.create_task(self._listen())
        self._stack.callback(listening.cancel)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._stack.aclose()

    async def open(self, url: str, *, width: int, height: int = 900, dark: bool = False) -> Page:
        """A new page, once it is loaded."""
        target = (await self.send("Target.createTarget", url="about:blank"))["targetId"]
        session = (await self.send("Target.attachToTarget", targetId=target, flatten=True))["sessionId"]
        page = self._pages[session] = Page(self, session)
        for domain in ("Page", "Runtime", "Log", "Network"):
            await page.send(f"{domain}.enable")
        await page.send(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=width < 600,
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        await page.send("Emulation.setEmulatedMedia", features=[scheme])
        await page.send("Page.navigate", url=url)
        async with asyncio.timeout(START_SECONDS):
            await page.loaded.wait()
        return page

    async def send(self, method: str, *, session: str = "", **parameters: Any) -> dict[str, Any]:
        """Raises RuntimeError for what the browser refuses."""
        number = next(self._numbers)
        answer = self._waiting[number] = asyncio.get_running_loop().create_future()
        message = {"id": number, "method": method, "params": parameters}
        await self._socket.send_json(message | ({"sessionId": session} if session else {}))
        async with asyncio.timeout(START_SECONDS):
            found = await answer
        if "error" in found:
            raise RuntimeError(f"{method}: {found['error']['message']}")
        result: dict[str, Any] = found["result"]
        return result

    async def _listen(self) -> None:
        async for message in self._socket:
            found = message.json()
            if "id" in found:
                self._waiting.pop(found["id"]).set_result(found)
            elif found.get("sessionId") in self._pages:
                self._pages[found["sessionId"]].hear(found["method"], found["params"])


class Page:
    """troubles: what went wrong on it, in the browser's words. requests: URLs that it asked for."""

    def __init__(self, browser: Browser, session: str) -> None:
        self._browser = browser
        self._session = session
        self.loaded = asyncio.Event()
        self.troubles: list[str] = []
        self.requests: list[str] = []

    def hear(self, event: str, told: dict[str, Any]) -> None:
        if event == "Page.loadEventFired":
            self.loaded.set()
        elif event == "Runtime.exceptionThrown":
            details = told["exceptionDetails"]
            self.troubles.append(details.get("exception", {}).get("description", details["text"]))
        elif event == "Log.entryAdded":
            self.troubles.append(told["entry"]["text"])
        elif event == "Page.javascriptDialogOpening":
            self.troubles.append(f"a dialog: {told['message']}")
        elif event == "Network.requestWillBeSent":
            self.requests.append(told["request"]["url"])

    async def send(self, method: str, **parameters: Any) -> dict[str, Any]:
        return await self._browser.send(method, session=self._session, **parameters)

    async def evaluate(self, expression: str) -> Any:
        """The value of JavaScript. Raises RuntimeError where it throws."""
        found = await self.send("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in found:
            raise RuntimeError(found["exceptionDetails"]["exception"]["description"])
        return found["result"].get("value")

    async def press(self, key: str) -> None:
        """One key, by its name in the DOM."""
        text = {"text": key} if len(key) == 1 else {}
        await self.send("Input.dispatchKeyEvent", type="keyDown", key=key, **text)
        await self.send("Input.dispatchKeyEvent", type="keyUp", key=key)

    async def drag(self, x: float, y: float, to_x: float) -> None:
        """Sideways, with the left button."""
        for kind, at in (("mousePressed", x), ("mouseMoved", (x + to_x) / 2), ("mouseMoved", to_x)):
            await self.send("Input.dispatchMouseEvent", type=kind, x=at, y=y, button="left", buttons=1, clickCount=1)
        await self.send("Input.dispatchMouseEvent", type="mouseReleased", x=to_x, y=y, button="left", clickCount=1)

    async def point(self, x: float, y: float) -> None:
        await self.send("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)

    async def screenshot(self) -> bytes:
        """All of the page, PNG."""
        size = (await self.send("Page.getLayoutMetrics"))["cssContentSize"]
        clip = {"x": 0, "y": 0, "width": size["width"], "height": size["height"], "scale": 1}
        found = await self.send("Page.captureScreenshot", captureBeyondViewport=True, clip=clip)
        return base64.b64decode(found["data"])

    async def pdf(self) -> bytes:
        found = await self.send("Page.printToPDF", printBackground=False)
        return base64.b64decode(found["data"])


async def _address(file: Path, process: asyncio.subprocess.Process) -> str:
    """Where it listens, which it writes once it does."""
    async with asyncio.timeout(START_SECONDS):
        while True:
            if process.returncode is not None:
                raise RuntimeError(f"the browser ended with {process.returncode} at its start")
            if address := _written(file):
                return address
            await asyncio.sleep(0.05)


def _written(file: Path) -> str:
    lines = file.read_text().splitlines() if file.exists() else []
    return f"ws://127.0.0.1:{lines[0]}{lines[1]}" if len(lines) == 2 else ""


async def _end(process: asyncio.subprocess.Process) -> None:
    if process.returncode is None:
        process.terminate()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(10):
                await process.wait()
    if process.returncode is None:
        process.kill()
        await process.wait()
