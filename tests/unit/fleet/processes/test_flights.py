"""What a worker had in flight outlives it, whatever ends it."""

from __future__ import annotations

import os
import signal
import tracemalloc

from fleet.processes.flights import FLIGHTS_BYTES, SLOT_BYTES, SLOTS, Death, DeathBook, Flight, Flights, shared_flights
from shards.objects import Key

SHOP = Key("team-a", "shop", "4a1c2e68-0f7e-4d1b-9f7a-3f6b2a1c0d9e")
CLUSTER = Key("", "root", "u-2")
LONGEST = Key("n" * 63, "o" * 253, "4a1c2e68-0f7e-4d1b-9f7a-3f6b2a1c0d9e")


def test_what_ran_when_a_process_was_killed_is_known_and_what_had_ended_is_not() -> None:
    mine, other = shared_flights(2)
    if (pid := os.fork()) == 0:
        mine.begins("websites", SHOP, 4, 12.5)
        mine.ended(mine.begins("websites", CLUSTER, 1, 13.0), cancelled=False)
        mine.begins("jobs", LONGEST, 0, 14.0)
        os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(pid, 0)
    assert mine.read() == (Flight("websites", SHOP, 4, 12.5), Flight("jobs", LONGEST, 0, 14.0))
    assert other.read() == ()


def test_after_a_clear_nothing_is_left() -> None:
    [flights] = shared_flights(1)
    flights.begins("websites", SHOP, 4, 12.5)
    flights.counted()
    flights.clear()
    assert (flights.read(), flights.are_counted) == ((), False)


def test_slots_are_used_again_and_more_than_there_are_cost_nothing_but_the_memory_of_them() -> None:
    [flights] = shared_flights(1)
    numbers = [flights.begins("websites", SHOP, 1, float(n)) for n in range(SLOTS + 2)]
    assert numbers[-2:] == [-1, -1]
    for number in numbers:
        flights.ended(number, cancelled=False)
    assert flights.read() == ()
    assert flights.begins("websites", SHOP, 1, 1.0) >= 0


def test_memory_that_a_dying_child_has_spoilt_costs_its_supervisor_nothing() -> None:
    memory = memoryview(bytearray(FLIGHTS_BYTES))
    flights = Flights(memory)
    flights.begins("websites", SHOP, 4, 12.5)
    flights.begins("websites", CLUSTER, 1, 13.0)
    flights.begins("jobs", Key("", "two\nlines", "u"), 1, 14.0)
    texts = FLIGHTS_BYTES - SLOTS * SLOT_BYTES
    memory[texts : texts + SLOT_BYTES] = b"\xff" * SLOT_BYTES
    assert flights.read() == (Flight("websites", CLUSTER, 1, 13.0),)
    memory[:] = b"\xff" * FLIGHTS_BYTES
    book = DeathBook(flights)
    book.died("w#1", "SIGSEGV", "", 1.0)
    assert (book.for_the_next(), flights.read()) == ((), ())


def test_a_text_that_no_slot_holds_is_not_remembered_in_part() -> None:
    [flights] = shared_flights(1)
    assert flights.begins("websites", Key("ns", "x" * 2000, "u"), 1, 1.0) == -1
    assert flights.read() == ()


def test_what_others_cancelled_stays_on_record_only_where_memory_was_short() -> None:
    [flights] = shared_flights(1)
    flights.ended(flights.begins("websites", SHOP, 1, 1.0), cancelled=True)
    assert flights.read() == ()
    flights.keep_cancelled = True
    flights.ended(flights.begins("websites", SHOP, 1, 1.0), cancelled=True)
    flights.ended(flights.begins("websites", CLUSTER, 1, 2.0), cancelled=False)
    assert flights.read() == (Flight("websites", SHOP, 1, 1.0),)


def test_remembering_leaves_no_memory_behind() -> None:
    [flights] = shared_flights(1)
    for _ in range(10):
        flights.ended(flights.begins("websites", SHOP, 1, 1.0), cancelled=False)
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    for _ in range(1000):
        flights.ended(flights.begins("websites", SHOP, 1, 1.0), cancelled=False)
    grown = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    assert grown < 1000


def death(*keys: Key, name: str = "w#1", ended: str = "SIGSEGV", at: float = 100.0) -> Death:
    return Death(name, tuple(Flight("websites", key, 1, 1.0) for key in keys), ended, "", at)


class TestTheBook:
    def test_an_end_with_nothing_in_flight_is_nobodys_fault(self) -> None:
        [flights] = shared_flights(1)
        book = DeathBook(flights)
        book.died("w#1", "exit code 0", "", 100.0)
        assert book.for_the_next() == ()

    def test_deaths_are_told_until_somebody_has_counted_them(self) -> None:
        [flights] = shared_flights(1)
        book = DeathBook(flights)
        flights.begins("websites", SHOP, 1, 1.0)
        book.died("w#1", "SIGSEGV", "", 100.0)
        assert book.for_the_next() == (death(SHOP),)
        flights.begins("websites", CLUSTER, 1, 1.0)  # it dies again before it has counted
        book.died("w#2", "SIGKILL", "", 101.0)
        assert book.for_the_next() == (death(SHOP), death(CLUSTER, name="w#2", ended="SIGKILL", at=101.0))
        flights.counted()
        flights.begins("websites", SHOP, 1, 1.0)
        book.died("w#3", "SIGABRT", "", 102.0)
        assert book.for_the_next() == (death(SHOP, name="w#3", ended="SIGABRT", at=102.0),)
        flights.counted()
        book.died("w#4", "exit code 0", "", 103.0)
        assert book.for_the_next() == ()
