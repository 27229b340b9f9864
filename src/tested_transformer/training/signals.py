"""Ctrl-C, and the signal by which a machine asks a program to end."""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def on_interrupt(ask: Callable[[], bool]) -> Iterator[None]:
    """Call ask in place of stopping; if that says False, raise KeyboardInterrupt."""

    def handle(number: int, frame: object) -> None:
        if not ask():
            raise KeyboardInterrupt

    if threading.current_thread() is not threading.main_thread():
        yield  # only the main thread hears signals
        return
    before = {s: signal.signal(s, handle) for s in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
