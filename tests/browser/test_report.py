"""The report in a real browser: nothing is loaded, nothing overflows, everything can be reached, nobody's text runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.browser.chromium import Page
from tests.browser.conftest import Shown
from tests.unit.chaos.reports.recorded import failing_story

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.timeout(60)]

CONTRAST = (Path(__file__).parent / "contrast.js").read_text(encoding="utf-8")
HOSTILE = "</script><img src=http://127.0.0.1:9/x onerror=alert(1)><svg onload=alert(2)>\"' onmouseover=alert(3)"
WINDOW = """(() => {
  const [x, , width] = document.querySelector("svg.shards").getAttribute("viewBox").split(" ").map(Number);
  return [x / 1000 - 1, (x + width) / 1000 - 1];
})()"""


async def window(page: Page) -> tuple[float, float]:
    """What the timeline shows, in seconds since the start."""
    began, ended = await page.evaluate(WINDOW)
    return began, ended


async def readout(page: Page) -> str:
    return str(await page.evaluate("document.querySelector('.readout').textContent"))


async def place(page: Page, selector: str) -> dict[str, float]:
    """x, y, width and height on the screen, after it was scrolled there."""
    found: dict[str, float] = await page.evaluate(
        f"""(() => {{
          const each = document.querySelector({selector!r});
          each.scrollIntoView({{block: "center", behavior: "instant"}});
          const box = each.getBoundingClientRect();
          return {{x: box.x, y: box.y, width: box.width, height: box.height}};
        }})()"""
    )
    return found


@pytest.mark.parametrize("shards", [3, 300])
@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
async def test_a_page_fits_and_can_be_read(shown: Shown, shards: int, width: int, dark: bool) -> None:
    page = await shown([failing_story(shards), failing_story(3)], width=width, dark=dark)
    assert page.troubles == []
    assert await page.evaluate("document.documentElement.scrollWidth") <= width
    assert await page.evaluate(CONTRAST) == []
    background = await page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (background == "rgb(255, 255, 255)") != dark


async def test_nothing_is_loaded_beside_the_file_itself(shown: Shown) -> None:
    page = await shown([failing_story()])
    assert [url.rpartition("/")[2] for url in page.requests] == ["report.html"]


async def test_what_somebody_wrote_never_runs(shown: Shown) -> None:
    page = await shown([failing_story(text=HOSTILE, title=HOSTILE), failing_story(text=HOSTILE)])
    await page.evaluate("for (const each of document.querySelectorAll('.goto, [data-member], [data-do]')) each.click()")
    await page.evaluate("document.querySelector('[data-do=all]').click()")
    bars = await place(page, "svg.shards")
    await page.point(bars["x"] + bars["width"] * 0.3, bars["y"] + 5)
    assert "alert(1)" in await readout(page)
    assert page.troubles == []
    assert len(page.requests) == 1
    assert await page.evaluate("document.querySelectorAll('img').length") == 0


async def test_pointing_at_a_bar_tells_who_had_the_shard_and_what_was_wrong(shown: Shown) -> None:
    page = await shown([failing_story()])
    bars = await place(page, "svg.shards")
    began, ended = await window(page)
    await page.point(bars["x"] + (3.0 - began) / (ended - began) * bars["width"], bars["y"] + 5)
    told = await readout(page)
    assert "Shard 0000-5555: a-0 (epoch 2) holds it, and is dead" in told
    assert "from 2.00 to 5.00 s (3.00 s): a-0 was killed" in told
    assert "silence" in told
    assert "nobody worked on 1 of 3 shards" in told


async def test_keys_move_in_time_and_from_shard_to_shard_and_zoom(shown: Shown) -> None:
    page = await shown([failing_story(300)])
    await page.evaluate("document.querySelector('.plots').focus()")
    for key in ("ArrowDown", "ArrowDown", "ArrowRight"):
        await page.press(key)
    assert "Shard 01b4-028f" in await readout(page)
    whole = await window(page)
    await page.press("+")
    near = await window(page)
    assert near[1] - near[0] == pytest.approx((whole[1] - whole[0]) / 2, abs=0.01)
    await page.press("0")
    assert await window(page) == whole


async def test_dragging_sideways_shows_that_time(shown: Shown) -> None:
    page = await shown([failing_story()])
    bars = await place(page, "svg.shards")
    began, ended = await window(page)
    await page.drag(bars["x"] + bars["width"] * 0.25, bars["y"] + 5, bars["x"] + bars["width"] * 0.5)
    first, last = await window(page)
    assert first == pytest.approx(began + (ended - began) * 0.25, abs=0.1)
    assert last == pytest.approx(began + (ended - began) * 0.5, abs=0.1)


async def test_a_gap_in_the_table_leads_to_its_place(shown: Shown) -> None:
    page = await shown([failing_story()])
    await page.evaluate("document.querySelector('.lapses .goto').click()")
    began, ended = await window(page)
    assert began < 2.0 < 5.0 < ended < 10.0
    assert "Shard 0000-5555" in await readout(page)


async def test_one_workers_ranges_can_be_picked_out(shown: Shown) -> None:
    page = await shown([failing_story()])
    await page.evaluate("document.querySelector('[data-member]').click()")
    assert await page.evaluate("document.querySelectorAll('path.of-one').length") == 1
    await page.evaluate("document.querySelector('[data-member]').click()")
    assert await page.evaluate("document.querySelectorAll('path.of-one, path.dim').length") == 0


async def test_without_its_script_the_page_shows_the_same_picture(shown: Shown) -> None:
    page = await shown([failing_story()])
    drawn = await page.evaluate("document.querySelector('svg.shards').innerHTML")
    assert "M3000" in drawn  # the death at two seconds, one second after what is shown first
    assert await page.evaluate("document.querySelectorAll('.axis.top .plot span').length") >= 5


async def test_it_prints_on_white(shown: Shown) -> None:
    page = await shown([failing_story(), failing_story(300)], dark=True)
    assert (await page.pdf()).startswith(b"%PDF")
    await page.send("Emulation.setEmulatedMedia", media="print")
    assert await page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert await page.evaluate("getComputedStyle(document.querySelector('.tools')).display") == "none"
