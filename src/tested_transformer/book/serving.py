"""Who sits where when a server writes for many: each call of the model writes a token for every seat that is taken."""

from collections.abc import Sequence
from typing import NamedTuple


class Ride(NamedTuple):
    """One answer at work: who asked, in which seat, its first call, and the one after its last."""

    who: int
    seat: int
    start: int
    end: int


def in_groups(lengths: Sequence[int], seats: int) -> list[Ride]:
    """As many answers as there are seats begin together; the next group waits for the longest of them."""
    rides, start = [], 0
    for first in range(0, len(lengths), seats):
        group = lengths[first : first + seats]
        rides += [
            Ride(first + seat, seat, start, start + n) for seat, n in enumerate(group)
        ]
        start += max(group)
    return rides


def one_by_one(lengths: Sequence[int], seats: int) -> list[Ride]:
    """Whoever is next takes a seat as soon as one is free."""
    rides, free = [], [0] * seats
    for who, n in enumerate(lengths):
        seat = free.index(min(free))
        rides.append(Ride(who, seat, free[seat], free[seat] + n))
        free[seat] += n
    return rides


def calls(rides: Sequence[Ride]) -> int:
    """How many calls all of it takes."""
    return max(ride.end for ride in rides)


def taken(rides: Sequence[Ride], seats: int) -> float:
    """The part of all seats, over all calls, in which a token was written."""
    return sum(ride.end - ride.start for ride in rides) / (seats * calls(rides))
