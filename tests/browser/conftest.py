"""One browser for all tests, and pages of stories on paper."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from pathlib import Path

import pytest
import pytest_asyncio

from chaos.reports.page import page_of
from chaos.reports.story import Story
from tests.browser.chromium import Browser, Page

Shown = Callable[..., Awaitable[Page]]


@pytest_asyncio.fixture(loop_scope="session", scope="session")
async def browser() -> AsyncIterator[Browser]:
    async with Browser() as running:
        yield running


@pytest.fixture
def shown(browser: Browser, tmp_path: Path) -> Shown:
    """Opens the page of stories as a file: `await shown(stories, width=390, dark=True)`."""

    async def show(stories: Sequence[Story], *, width: int = 1280, dark: bool = False) -> Page:
        file = tmp_path / "report.html"
        file.write_text(page_of(stories), encoding="utf-8")
        return await browser.open(file.as_uri(), width=width, dark=dark)

    return show
