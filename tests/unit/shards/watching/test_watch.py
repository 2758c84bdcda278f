"""The list-and-watch machine."""

from __future__ import annotations

import random
from collections.abc import Callable

import msgspec
import pytest

from shards.errors import ApiError, ShardError, Unreachable, api_error
from shards.watching.listing import StreamOverdue
from shards.watching.watch import Mode, WatchMachine
from shards.watching.watch_requests import CheckHistory, ListPage, ListStream, Request, WatchFrom
from shards.watching.wire import MalformedStream, Page

FILTER = ("shardSelector", "shardRange(...)")
LONG = 60.0
"""A watch that lasted this long was a healthy one."""

AS_NEW = ("resourceVersion", "100"), ("resourceVersionMatch", "NotOlderThan")
FIRST_PAGE = ListPage((FILTER, ("limit", "500")), first=True)
NOT_OLDER = ListPage((FILTER, ("limit", "500"), *AS_NEW), first=True, fresh=False)


def stream_of(*version: tuple[str, str], fresh: bool) -> ListStream:
    watch = ("watch", "true"), ("allowWatchBookmarks", "true"), ("sendInitialEvents", "true")
    return ListStream((FILTER, *watch, *version, ("timeoutSeconds", "300")), fresh)


STREAM = stream_of(("resourceVersionMatch", "NotOlderThan"), fresh=True)
STREAM_NOT_OLDER = stream_of(*AS_NEW, fresh=False)


class Least(random.Random):
    """Every draw is the lower end, so that delays are exact."""

    def uniform(self, a: float, b: float) -> float:
        return a

    def randint(self, a: int, b: int) -> int:
        return a


def machine(rng: random.Random | None = None) -> WatchMachine:
    return WatchMachine([FILTER], rng or Least())


def page(version: str = "100", following: str = "") -> Page:
    return Page([], b"", version, following)


def watching(version: str = "100") -> WatchMachine:
    made = machine()
    assert made.page(page(version))
    return made


def gone() -> ApiError:
    return api_error(410, "Expired", "too old resource version")


def busy(status: int = 429, seconds: float | None = None) -> ApiError:
    return api_error(status, "TooManyRequests", "", retry_after_seconds=seconds)


def next_request(of: WatchMachine) -> Request:
    return of.request()[0]


def delay(of: WatchMachine) -> float:
    return of.request()[1]


class TestRequests:
    def test_a_list_is_consistent_and_in_pages(self) -> None:
        assert machine().request() == (ListPage((FILTER, ("limit", "500")), first=True), 0.0)

    def test_every_page_repeats_the_filter_and_names_the_token(self) -> None:
        made = machine()
        assert not made.page(page(following="t1"))
        assert next_request(made) == ListPage((FILTER, ("limit", "500"), ("continue", "t1")), first=False)

    def test_a_watch_begins_at_the_lists_version_with_bookmarks_and_a_random_end(self) -> None:
        assert next_request(watching("100")) == WatchFrom(
            (
                FILTER,
                ("watch", "true"),
                ("allowWatchBookmarks", "true"),
                ("resourceVersion", "100"),
                ("timeoutSeconds", "300"),
            ),
            "100",
        )
        spread = WatchMachine([], random.Random(1))
        spread.page(page())
        seconds = {int(dict(next_request(spread).query)["timeoutSeconds"]) for _ in range(200)}
        assert min(seconds) >= 300
        assert max(seconds) <= 600
        assert len(seconds) > 50

    def test_nothing_is_complete_before_the_last_page(self) -> None:
        made = machine()
        made.page(page(following="t1"))
        assert not made.complete
        assert made.version == ""
        made.page(page("120"))
        assert made.complete
        assert made.version == "120"

    def test_a_list_can_be_asked_for_at_any_time(self) -> None:
        made = watching()
        made.list_again()
        assert made.request() == (ListPage((FILTER, ("limit", "500")), first=True), 0.0)
        assert made.complete


class TestResumeVersion:
    def test_it_follows_events_and_bookmarks_and_is_never_lowered(self) -> None:
        made = watching("100")
        made.event_version("105")
        made.event_version("95")
        made.bookmark("107")
        made.ended(LONG)
        assert made.version == "107"
        assert dict(next_request(made).query)["resourceVersion"] == "107"

    def test_it_survives_any_number_of_quiet_watches(self) -> None:
        made = watching("100")
        for _ in range(5):
            made.ended(LONG)
            assert dict(next_request(made).query)["resourceVersion"] == "100"

    def test_a_list_may_lower_it(self) -> None:
        made = watching("100")
        made.list_again()
        made.page(page("50"))
        assert made.version == "50"

    def test_a_bookmark_from_the_past_makes_it_ask_for_the_servers_version(self) -> None:
        made = watching("100")
        with pytest.raises(Unreachable, match="behind 100") as caught:
            made.bookmark("90")
        made.failed(caught.value, LONG)
        assert isinstance(next_request(made), CheckHistory)

    @pytest.mark.parametrize("version", ["", "0", "None", "007", "-1", "٣"])
    def test_a_list_whose_version_cannot_be_compared_is_refused(self, version: str) -> None:
        with pytest.raises(MalformedStream, match="cannot be compared"):
            machine().page(page(version))


class TestLostHistory:
    @pytest.mark.parametrize("lasted", [0.0, LONG])
    def test_410_makes_a_list_at_once_that_is_as_new_as_the_view(self, lasted: float) -> None:
        made = watching()
        made.failed(gone(), lasted)
        request, seconds = made.request()
        assert request == NOT_OLDER
        assert seconds < 0.2
        assert not made.complete

    def test_410_again_before_anything_was_healthy_makes_a_consistent_list(self) -> None:
        made = watching()
        made.failed(gone(), LONG)
        made.page(page("150"))
        made.failed(gone(), 0.0)
        assert next_request(made) == FIRST_PAGE

    @pytest.mark.parametrize(
        "error",
        [
            gone(),
            api_error(504, "Timeout", "Too large resource version", cause="ResourceVersionTooLarge"),
            api_error(400),
            api_error(500),
            MalformedStream("cut"),
        ],
        ids=str,
    )
    def test_a_server_that_does_not_have_that_version_is_asked_for_a_consistent_list(self, error: ShardError) -> None:
        made = watching()
        made.failed(gone(), LONG)
        made.failed(error)
        assert next_request(made) == FIRST_PAGE
        assert 0.8 <= delay(made) <= 2.0

    @pytest.mark.parametrize("error", [busy(), busy(503), api_error(403), Unreachable("reset")], ids=str)
    def test_a_server_that_is_busy_is_asked_for_the_same_list_again(self, error: ShardError) -> None:
        made = watching()
        made.failed(gone(), LONG)
        for _ in range(5):
            made.failed(error)
        assert next_request(made) == NOT_OLDER

    def test_an_answer_that_is_older_than_it_was_to_be_is_not_believed(self) -> None:
        made = watching()
        made.failed(gone(), LONG)
        with pytest.raises(MalformedStream, match="was to be at 100") as caught:
            made.page(page("99", following="t"))
        made.failed(caught.value)
        assert next_request(made) == FIRST_PAGE
        made.page(page("99"))
        assert made.complete

    def test_a_list_that_somebody_asks_for_is_consistent(self) -> None:
        made = watching()
        made.failed(gone(), LONG)
        assert not made.fresh
        made.list_again()
        assert made.fresh
        assert made.request() == (FIRST_PAGE, 0.0)

    def test_410_on_every_watch_is_no_hot_loop_and_leaves_the_view_blind_for_five_seconds_at_most(self) -> None:
        made = watching()
        delays = []
        for _ in range(6):
            made.failed(gone())
            delays.append(delay(made))
            made.page(page())
        assert delays == [0.0, 1.6, 3.2, 5.0, 5.0, 5.0]

    def test_a_server_that_is_behind_and_asks_for_a_second_each_time_is_not_listed_every_second(self) -> None:
        behind = api_error(504, "Timeout", "x", cause="ResourceVersionTooLarge", retry_after_seconds=1)
        made = watching()
        delays = []
        for _ in range(6):
            made.failed(behind)
            delays.append(delay(made))
            made.page(page())
        assert delays == [0.0, 1.6, 3.2, 5.0, 5.0, 5.0]

    @pytest.mark.parametrize(
        "error",
        [
            api_error(504, "Timeout", "Too large resource version", cause="ResourceVersionTooLarge"),
            api_error(504, "Timeout", "Too large resource version: 363787743, current: 363787000"),
        ],
        ids=["with cause", "text only"],
    )
    def test_a_server_that_is_behind_is_listed_anew(self, error: ApiError) -> None:
        made = watching()
        made.failed(error)
        assert made.request() == (ListPage((FILTER, ("limit", "500")), first=True), 0.0)

    def test_a_resource_that_was_removed_is_listed_when_it_is_back(self) -> None:
        made = watching()
        made.failed(api_error(404))
        assert isinstance(next_request(made), ListPage)

    @pytest.mark.parametrize("make", [lambda: api_error(500), lambda: MalformedStream("cut")], ids=["500", "malformed"])
    def test_a_watch_that_fails_without_progress_three_times_is_given_up(self, make: Callable[[], ShardError]) -> None:
        made = watching()
        for _ in range(2):
            made.failed(make())
            assert isinstance(next_request(made), WatchFrom)
        made.failed(make())
        assert isinstance(next_request(made), ListPage)

    def test_progress_between_two_failures_keeps_the_version(self) -> None:
        made = watching()
        for version in ("101", "102", "103", "104"):
            made.failed(api_error(500))
            made.event_version(version)
        assert isinstance(next_request(made), WatchFrom)


class TestSameWatchAgain:
    @pytest.mark.parametrize("status", [429, 503])
    def test_a_busy_server_is_asked_for_the_same_watch_when_it_said(self, status: int) -> None:
        made = watching("100")
        for _ in range(20):
            made.failed(busy(status, 7.0))
            request, seconds = made.request()
            assert isinstance(request, WatchFrom)
            assert request.version == "100"
            assert seconds == 7.0

    @pytest.mark.parametrize("error", [busy(), api_error(401), api_error(403), api_error(502), api_error(504)], ids=str)
    def test_answers_that_say_nothing_about_the_version_keep_it(self, error: ApiError) -> None:
        made = watching("100")
        for _ in range(10):
            made.failed(error)
        assert isinstance(next_request(made), WatchFrom)

    def test_a_broken_connection_is_followed_by_a_look_at_the_servers_version(self) -> None:
        made = watching("100")
        made.failed(Unreachable("silent"), LONG)
        assert next_request(made) == CheckHistory((FILTER, ("limit", "1")))
        made.checked("130")
        assert next_request(made) == watching("100").request()[0]

    def test_a_server_that_was_restored_from_a_backup_is_listed_anew(self) -> None:
        made = watching("100")
        made.failed(Unreachable("reset"), LONG)
        made.checked("60")
        assert isinstance(next_request(made), ListPage)
        assert not made.complete
        made.page(page("60"))
        assert made.version == "60"

    def test_the_look_is_repeated_while_the_server_is_away(self) -> None:
        made = watching("100")
        for _ in range(5):
            made.failed(Unreachable("refused"))
            assert isinstance(next_request(made), CheckHistory)


class TestBackoff:
    def test_it_doubles_to_half_a_minute_and_begins_again_after_a_healthy_watch(self) -> None:
        made = watching()
        seen = []
        for _ in range(8):
            made.failed(busy())
            seen.append(delay(made))
        assert seen == [0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 30.0, 30.0]
        made.ended(LONG)
        assert delay(made) == 0.0
        made.failed(busy())
        assert delay(made) == 0.8

    def test_a_watch_that_ends_at_once_counts_as_failed(self) -> None:
        made = watching()
        made.ended(0.01)
        made.ended(0.01)
        assert delay(made) == 1.6

    def test_a_list_alone_does_not_begin_it_again(self) -> None:
        made = watching()
        made.failed(busy())
        made.list_again()
        made.page(page())
        made.failed(busy())
        assert delay(made) == 1.6

    def test_jitter_at_most_doubles_a_delay_and_stays_below_the_limit(self) -> None:
        delays = []
        for seed in range(300):
            made = machine(random.Random(seed))
            made.failed(busy())
            delays.append(delay(made))
        assert 0.8 <= min(delays) < 0.9
        assert 1.5 < max(delays) <= 1.6
        for _ in range(2000):
            made.failed(busy())
        assert delay(made) <= 30.0

    def test_watches_that_broke_together_do_not_come_back_together(self) -> None:
        delays = set()
        for seed in range(50):
            made = machine(random.Random(seed))
            made.page(page())
            made.failed(Unreachable("reset"), LONG)
            delays.add(delay(made))
        assert len(delays) == 50
        assert max(delays) <= 0.1


class TestIncompleteLists:
    def test_an_expired_token_begins_the_list_again(self) -> None:
        made = machine()
        made.page(page(following="t1"))
        made.failed(gone())
        assert next_request(made) == NOT_OLDER
        assert made.version == ""

    def test_what_takes_its_place_goes_on_in_pages_that_name_no_version(self) -> None:
        made = machine()
        made.page(page(following="t1"))
        made.failed(gone())
        made.page(page("120", following="t2"))
        assert next_request(made) == ListPage((FILTER, ("limit", "500"), ("continue", "t2")), first=False)
        assert made.page(page("120"))
        assert made.version == "120"

    def test_a_list_whose_tokens_expire_twice_is_fetched_in_one_piece(self) -> None:
        made = machine()
        for _ in range(2):
            made.page(page(following="t1"))
            made.failed(gone())
        assert next_request(made) == STREAM_NOT_OLDER
        made.failed(api_error(422))
        assert next_request(made) == NOT_OLDER._replace(query=(FILTER, *AS_NEW))
        made.page(page())
        made.list_again()
        assert next_request(made) == ListPage((FILTER, ("limit", "500")), first=True)

    @pytest.mark.parametrize("error", [busy(429, 1.0), api_error(500), Unreachable("reset")], ids=str)
    def test_another_failure_repeats_the_page(self, error: ShardError) -> None:
        made = machine()
        made.page(page(following="t1"))
        made.failed(error)
        assert next_request(made) == ListPage((FILTER, ("limit", "500"), ("continue", "t1")), first=False)

    def test_a_token_that_is_refused_again_and_again_begins_the_list_again(self) -> None:
        made = machine()
        made.page(page(following="t1"))
        for _ in range(3):
            assert next_request(made) == ListPage((FILTER, ("limit", "500"), ("continue", "t1")), first=False)
            made.failed(api_error(500))
        assert next_request(made) == ListPage((FILTER, ("limit", "500")), first=True)

    @pytest.mark.parametrize("error", [busy(429, 1.0), Unreachable("reset")], ids=str)
    def test_a_busy_server_keeps_its_token(self, error: ShardError) -> None:
        made = machine()
        made.page(page(following="t1"))
        for _ in range(9):
            made.failed(error)
        assert next_request(made) == ListPage((FILTER, ("limit", "500"), ("continue", "t1")), first=False)

    @pytest.mark.parametrize(
        "error",
        [api_error(400), MalformedStream("cut"), api_error(504, "Timeout", "Too large resource version")],
        ids=str,
    )
    def test_a_token_that_leads_nowhere_begins_the_list_again(self, error: ShardError) -> None:
        made = machine()
        made.page(page(following="t1"))
        made.failed(error)
        assert next_request(made) == ListPage((FILTER, ("limit", "500")), first=True)


class TestPausesAskedFor:
    def test_one_of_nothing_is_no_leave_to_ask_in_a_loop(self) -> None:
        made = watching()
        delays = []
        for _ in range(4):
            made.failed(busy(429, 0.0))
            delays.append(delay(made))
        assert delays == [0.8, 1.6, 3.2, 6.4]

    def test_one_of_a_day_is_not_taken(self) -> None:
        made = machine()
        made.failed(busy(503, 86_400.0))
        assert delay(made) == 60.0


def test_a_view_that_is_not_trusted_is_listed() -> None:
    made = watching()
    made.distrust()
    assert not made.complete
    assert next_request(made) == ListPage((FILTER, ("limit", "500")), first=True)


def streaming() -> WatchMachine:
    return WatchMachine([FILTER], Least(), streams=True)


class TestListsAsStreams:
    def test_it_is_consistent_and_goes_on_as_a_watch(self) -> None:
        made = streaming()
        assert (next_request(made), made.listing) == (STREAM, True)
        made.streamed("100")
        assert (made.version, made.complete, made.mode) == ("100", True, Mode.WATCH)
        made.event_version("101")
        made.ended(LONG)
        assert isinstance(request := next_request(made), WatchFrom)
        assert request.version == "101"

    @pytest.mark.parametrize("status", [400, 405, 406, 415, 422, 501])
    def test_a_server_that_does_not_know_it_is_asked_for_pages_at_once_and_from_then_on(self, status: int) -> None:
        made = streaming()
        made.failed(api_error(status))
        assert made.request() == (FIRST_PAGE, 0.0)
        made.page(page())
        made.list_again()
        assert next_request(made) == FIRST_PAGE

    def test_a_server_that_never_marks_the_end_is_asked_for_pages_at_once_and_from_then_on(self) -> None:
        made = streaming()
        made.failed(StreamOverdue("no end"))
        assert made.request() == (FIRST_PAGE, 0.0)
        made.page(page())
        made.list_again()
        assert next_request(made) == FIRST_PAGE

    @pytest.mark.parametrize("error", [busy(), Unreachable("cut"), MalformedStream("cut"), gone()], ids=str)
    def test_one_that_breaks_three_times_comes_in_pages_this_time(self, error: ShardError) -> None:
        made = streaming()
        for wait in (0.8, 1.6):
            made.failed(error, LONG)
            assert made.request() == (STREAM, wait)
        made.failed(error, LONG)
        assert made.request() == (FIRST_PAGE, 3.2)
        made.page(page())
        made.list_again()
        assert next_request(made) == STREAM

    def test_a_server_that_is_away_is_not_the_streams_fault(self) -> None:
        made = streaming()
        for _ in range(9):
            made.failed(Unreachable("refused", maybe_applied=False))
        assert next_request(made) == STREAM

    def test_one_that_ends_before_its_mark_has_failed_however_long_it_took(self) -> None:
        made = streaming()
        made.ended(LONG)
        assert made.request() == (STREAM, 0.8)
        assert (made.version, made.complete) == ("", False)

    def test_a_lost_history_is_streamed_anew(self) -> None:
        made = streaming()
        made.streamed("100")
        made.failed(gone(), LONG)
        assert made.request() == (STREAM_NOT_OLDER, 0.0)
        assert not made.complete
        made.failed(api_error(504, "Timeout", "Too large resource version"))
        assert next_request(made) == STREAM

    def test_one_that_is_older_than_it_was_to_be_is_not_believed(self) -> None:
        made = streaming()
        made.streamed("100")
        made.failed(gone(), LONG)
        with pytest.raises(MalformedStream, match="was to be at 100") as caught:
            made.streamed("99")
        made.failed(caught.value)
        assert next_request(made) == STREAM

    def test_its_version_must_be_comparable_too(self) -> None:
        with pytest.raises(MalformedStream):
            streaming().streamed("0")


class TestAudit:
    def test_a_list_follows_after_hours_of_watching_however_they_were_cut(self) -> None:
        made = watching()
        hours = 0.0
        while isinstance(next_request(made), WatchFrom | CheckHistory):
            if made.mode is Mode.CHECK:
                made.checked("100")
                continue
            made.failed(Unreachable("reset"), LONG) if hours % 1 < 0.5 else made.ended(LONG)
            hours += LONG / 3600
        assert hours == pytest.approx(4.0, abs=0.1)
        assert (made.request(), made.complete) == ((FIRST_PAGE, delay(made)), True)

    def test_the_time_is_drawn_and_begins_again_with_every_list(self) -> None:
        made = watching()
        for _ in range(3):
            made.ended(3 * 3600)
            made.list_again()
            made.page(page())
        assert isinstance(next_request(made), WatchFrom)


def test_pages_after_the_first_are_as_many_objects_as_make_two_mebibytes() -> None:
    made = machine()
    kibibyte = 1 << 10

    def limit_after(objects: int, size: int) -> str:
        made.page(Page([msgspec.Raw(b"{}")] * objects, b"", "100", "t1", size=size))
        return dict(next_request(made).query)["limit"]

    assert limit_after(500, 500 * kibibyte) == "2048"
    assert limit_after(500, 500) == "5000"
    assert limit_after(2, 2 * 1024 * kibibyte) == "2"
    assert limit_after(1, 9 * 1024 * kibibyte) == "1"
    made.list_again()
    assert dict(next_request(made).query)["limit"] == "1"
    assert limit_after(500, 500 * kibibyte) == "2048"
    made.list_again()
    assert dict(next_request(made).query)["limit"] == "500"
