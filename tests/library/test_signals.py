"""Ctrl-C during training: once is a request, twice is an order."""

import signal
import threading

import pytest

from tested_transformer.training.signals import on_interrupt


@pytest.fixture(params=[signal.SIGINT, signal.SIGTERM])
def number(request):
    """A signal for which somebody has a handler of their own."""
    before = signal.signal(request.param, lambda *given: None)
    yield request.param
    signal.signal(request.param, before)


def test_the_first_signal_asks_and_the_second_stops(number):
    asked, before = [], signal.getsignal(number)

    def ask():
        asked.append(number)
        return asked == [number]

    def interrupted():
        with on_interrupt(ask):
            signal.raise_signal(number)
            asked.append("still here")
            signal.raise_signal(number)
            asked.append("not here")

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert asked == [number, "still here", number]
    assert signal.getsignal(number) is before, "afterwards all is as it was"


def test_outside_of_the_main_thread_nothing_is_changed():
    seen = []

    def work():
        with on_interrupt(seen.append):
            seen.append("worked")

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == ["worked"]
