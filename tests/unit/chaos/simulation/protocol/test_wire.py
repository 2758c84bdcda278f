from __future__ import annotations

from shards.errors import Unreachable
from tests.unit.chaos.simulation.protocol.bench import Bench, bench


def in_doubt(answer: object) -> bool:
    return isinstance(answer, Unreachable) and answer.maybe_applied


def test_a_request_is_carried_out_and_answered() -> None:
    with bench() as world:
        world.send()
        world.advance(0.5)
        assert (world.count, world.answers) == (1, [1])


def test_it_is_the_networks_once_it_was_sent() -> None:
    with bench() as world:
        world.send()
        world.process.kill()
        world.advance(0.5)
        assert (world.count, world.answers) == (1, [])


def test_the_dead_send_nothing() -> None:
    with bench() as world:
        world.process.kill()
        world.send()
        world.advance(0.5)
        assert world.count == 0


def test_a_paused_sender_takes_its_answer_when_it_goes_on() -> None:
    with bench() as world:
        world.send()
        world.process.pause()
        world.advance(0.5)
        assert (world.count, world.answers) == (1, [])
        world.process.resume()
        world.advance(0.0)
        assert world.answers == [1]


def test_a_sender_that_was_paused_for_too_long_may_see_its_time_run_out_first() -> None:
    seen = set()
    with bench() as world:
        for _ in range(20):
            world.send()
            world.process.pause()
            world.advance(2.0)
            world.process.resume()
            world.advance(0.0)
            seen.add(in_doubt(world.answers[-1]))
    assert seen == {True, False}


def test_a_lost_answer_leaves_the_write_in_doubt() -> None:
    with bench() as world:
        world.wire.lost_answers = 1
        world.send()
        world.advance(0.5)
        assert world.count == 1
        assert in_doubt(world.answers[0])
        assert world.hits == {"lost-answers": 1}


def test_a_lost_request_looks_the_same_to_its_sender() -> None:
    with bench() as world:
        world.wire.lost_requests = 1
        world.send()
        world.advance(0.5)
        assert world.count == 0
        assert in_doubt(world.answers[0])


def test_reads_are_neither_lost_nor_late() -> None:
    with bench() as world:
        world.wire.lost_requests = world.wire.lost_answers = world.wire.late = 1
        world.send(write=False)
        world.advance(0.5)
        assert world.answers == [1]


def test_what_lands_late_was_given_up_long_before() -> None:
    with bench() as world:
        world.wire.late, world.wire.late_seconds = 1, 3.0
        world.send()
        world.advance(0.5)
        assert (world.count, in_doubt(world.answers[0])) == (0, True)
        world.process.kill()
        world.advance(3.0)
        assert world.count == 1


def test_nothing_that_is_held_lands_after_the_end() -> None:
    with bench() as world:
        world.wire.late, world.wire.late_seconds = 1, 3.0
        world.send()
        world.advance(0.5)
        world.wire.disarm()
        assert world.count == 1
        world.advance(5.0)
        assert world.count == 1


def cut(world: Bench, *, to_server: bool = True, to_client: bool = True) -> None:
    world.wire.set(to_server=to_server, to_client=to_client, extra_seconds=0.0)


def test_what_does_not_get_through_is_sent_again_until_its_sender_gives_up() -> None:
    with bench() as world:
        cut(world, to_server=False)
        world.send(seconds=1.0)
        world.send(seconds=9.0)
        world.advance(2.0)
        assert (world.count, len(world.answers)) == (0, 1)
        cut(world)
        world.advance(1.0)
        assert (world.count, world.answers[1:]) == (1, [1])


def test_without_a_way_back_it_is_carried_out_and_nobody_hears_of_it() -> None:
    with bench() as world:
        cut(world, to_client=False)
        world.send(seconds=1.0)
        world.advance(2.0)
        assert world.count == 1
        assert in_doubt(world.answers[0])


def test_a_server_that_comes_back_carries_out_what_somebody_waits_for() -> None:
    with bench() as world:
        world.server.brown_out = True
        world.send(seconds=9.0)
        world.advance(2.0)
        assert (world.count, world.answers) == (0, [])
        world.server.brown_out = False
        world.wire.server_is_back()
        world.advance(1.0)
        assert world.answers == [1]


def test_of_what_was_given_up_in_a_brown_out_some_lands_all_the_same() -> None:
    with bench() as world:
        world.server.brown_out = True
        for _ in range(100):
            world.send(seconds=0.5)
        world.advance(2.0)
        world.server.brown_out = False
        world.wire.server_is_back()
        world.advance(1.0)
        assert 10 < world.count < 40


def test_what_arrives_after_its_sender_has_given_up_is_late() -> None:
    with bench() as world:
        world.wire.set(to_server=True, to_client=True, extra_seconds=4.0)
        patient, other = world.send(seconds=20.0), world.send(seconds=0.001)
        world.advance(9.0)
        assert (world.count, patient.late, other.late) == (2, False, True)


def test_a_restored_server_knows_nothing_of_requests_from_before() -> None:
    with bench() as world:
        world.wire.late, world.wire.late_seconds = 1, 1.0
        world.send()
        world.server.restore(0.0)
        world.advance(2.0)
        assert world.count == 0


def test_a_slow_way_takes_longer() -> None:
    with bench() as world:
        world.wire.set(to_server=True, to_client=True, extra_seconds=4.0)
        for _ in range(10):
            world.send(seconds=20.0)
        world.advance(1.0)
        assert len(world.answers) < 10
        world.advance(8.0)
        assert len(world.answers) == 10


def test_senders_measure_on_their_own_clocks() -> None:
    with bench() as world:
        world.process.run_at(0.5)
        cut(world, to_server=False)
        world.send(seconds=1.0)
        world.advance(1.5)
        assert world.answers == []
        world.advance(1.0)
        assert len(world.answers) == 1
