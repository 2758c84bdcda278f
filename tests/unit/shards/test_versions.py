"""Resource versions: compared as numbers of any length, within one resource, and never guessed about."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shards.objects import Resource
from shards.versions import Incomparable, Version, at_least, comparable, includes, newest, version_key

PODS = Resource("", "v1", "pods")
PAGES = Resource("", "v1", "configmaps")

numbers = st.integers(min_value=1, max_value=10**40) | st.integers(min_value=1, max_value=300)
others = st.sampled_from(
    ["0", "00", "01", "-1", "+1", "1.5", "1e3", "abc", "12a", " 1", "1 ", "\uff11", "\u00b2", "0x1f"]
)


class TestTheText:
    @given(numbers, numbers)
    def test_it_compares_as_the_number_does(self, one: int, other: int) -> None:
        assert at_least(str(one), str(other)) == (one >= other)
        assert includes(str(one), str(other)) == (one >= other)
        assert (version_key(str(one)) < version_key(str(other))) == (one < other)
        assert newest(str(one), "", str(other)) == str(max(one, other))

    @given(st.lists(numbers, min_size=1))
    def test_sorting_by_key_sorts_the_numbers(self, drawn: list[int]) -> None:
        assert sorted(map(str, drawn), key=version_key) == list(map(str, sorted(drawn)))

    def test_it_may_be_longer_than_any_integer_that_python_reads(self) -> None:
        longest = "9" * 5_000
        assert at_least("1" + "0" * 5_000, longest)
        assert not at_least(longest, "1" + "0" * 5_000)
        assert newest("7", longest) == longest

    @given(others, numbers)
    def test_what_is_no_such_number_is_never_compared(self, odd: str, number: int) -> None:
        assert not comparable(odd)
        for attempt in (at_least, newest):
            for pair in ((odd, str(number)), (str(number), odd)):
                with pytest.raises(Incomparable, match="not a resource version"):
                    attempt(*pair)
        with pytest.raises(Incomparable):
            newest(odd)

    @given(others, numbers)
    def test_a_gate_takes_it_for_itself_only(self, odd: str, number: int) -> None:
        assert includes(odd, odd)
        assert not includes(odd, str(number))
        assert not includes(str(number), odd)

    def test_nothing_is_older_than_everything_and_includes_nothing(self) -> None:
        assert not comparable("")
        assert not at_least("", "1")
        assert not includes("", "1")
        assert not includes("", "")
        assert newest("", "") == ""


class TestTheType:
    @given(numbers, numbers)
    def test_versions_of_one_resource_are_ordered_as_their_numbers(self, one: int, other: int) -> None:
        left, right = Version(PODS, str(one)), Version(PODS, str(other))
        assert (left < right, left <= right, left > right, left >= right, left == right) == (
            one < other,
            one <= other,
            one > other,
            one >= other,
            one == other,
        )
        assert left.includes(right) == (one >= other)

    @given(numbers, numbers)
    def test_versions_of_two_resources_are_refused(self, one: int, other: int) -> None:
        left, right = Version(PODS, str(one)), Version(PAGES, str(other))
        assert left != right
        for compare in (Version.__lt__, Version.__le__, Version.__gt__, Version.__ge__, Version.includes):
            with pytest.raises(Incomparable, match="say nothing about"):
                compare(left, right)

    def test_nothing_yet_is_older_than_everything(self) -> None:
        assert Version(PODS, "") < Version(PODS, "1")
        assert Version(PODS, "1") >= Version(PODS, "")

    def test_a_form_that_nobody_can_order_equals_itself_and_is_never_newer(self) -> None:
        odd, number = Version(PODS, "v7"), Version(PODS, "7")
        assert odd.includes(Version(PODS, "v7"))
        assert not odd.includes(number)
        assert not number.includes(odd)
        with pytest.raises(Incomparable):
            assert odd < number
