"""An interruption that was swallowed is raised at the next check; nothing else is."""

import signal
import threading

import pytest

from dalembert.interrupts import noticed_interrupts


def swallow():
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)


def test_an_interruption_that_was_swallowed_comes_again():
    before = signal.getsignal(signal.SIGINT)
    with noticed_interrupts() as check:
        check()
        swallow()
        with pytest.raises(KeyboardInterrupt):
            check()
    assert signal.getsignal(signal.SIGINT) is before


def test_an_error_that_follows_an_interruption_is_one():
    def interrupted():
        swallow()
        raise SystemError("returned a result with an exception set")

    with pytest.raises(KeyboardInterrupt) as raised, noticed_interrupts():
        interrupted()
    assert isinstance(raised.value.__context__, SystemError)


def test_other_errors_are_left_alone():
    with pytest.raises(ValueError, match="no square"), noticed_interrupts():
        raise ValueError("no square")


def test_a_handler_that_goes_on_is_left_alone():
    seen = []
    before = signal.signal(signal.SIGINT, lambda *_: seen.append("asked"))
    try:
        with noticed_interrupts() as check:
            signal.raise_signal(signal.SIGINT)
            check()
    finally:
        signal.signal(signal.SIGINT, before)
    assert seen == ["asked"]


def test_other_threads_check_nothing():
    before, handlers = signal.getsignal(signal.SIGINT), []

    def compile_elsewhere():
        with noticed_interrupts() as check:
            check()
            handlers.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=compile_elsewhere)
    thread.start()
    thread.join()
    assert handlers == [before]
