"""Compiling many parts: interrupted at any moment, refused where memory does not suffice, shown as it goes on."""

import signal

import numpy as np
import pytest

import dalembert as da
from dalembert import free_memory
from dalembert.equations import compile_progress


def rods(n):
    model = da.Model("rods")
    model.gravity([0, -9.81])
    last, end = model.ground, [0.0, 0.0]
    for k in range(n):
        body = model.body(f"B{k}", mass=1.0, inertia=0.01)
        model.joints.revolute(f"J{k}", model.marker(last, end), model.marker(body, [-0.05, 0.0]))
        last, end = body, [0.05, 0.0]
    return model


GUESS = {f"B{k}_x": 0.1 * k + 0.05 for k in range(60)}


def interrupt(verb, seconds):
    """Ctrl-C after so many seconds of a verb, done again if it is quicker.

    It comes again every half second: one that falls into a destructor is shown and lost by Python itself.
    """
    alarm = signal.signal(signal.SIGALRM, lambda *_: signal.raise_signal(signal.SIGINT))
    interruption = signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.setitimer(signal.ITIMER_REAL, seconds, 0.5)
    try:
        for _ in range(100):
            verb()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, alarm)
        signal.signal(signal.SIGINT, interruption)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # in a destructor
@pytest.mark.parametrize("seconds", [0.01, 0.05, 0.1])
def test_after_an_interruption_everything_is_made_anew(seconds):
    expected = rods(60).compile().initial(guess=GUESS)
    model = rods(60)
    with pytest.raises(KeyboardInterrupt):
        interrupt(model.compile, seconds)
    system = model.compile()
    with pytest.raises(KeyboardInterrupt):
        interrupt(lambda: model.compile().initial(guess=GUESS), seconds)
    state = system.initial(guess=GUESS)
    np.testing.assert_array_equal(state.q, expected.q)
    np.testing.assert_array_equal(state.udot, expected.udot)


def test_a_model_too_large_for_the_memory_is_refused_with_the_estimate(monkeypatch):
    model = rods(3)
    monkeypatch.setattr(free_memory, "free_memory", lambda: 10_000)
    monkeypatch.setattr(free_memory, "NEGLIGIBLE", 0)  # what is asked for is little
    with pytest.raises(
        da.OutOfMemoryError, match=r"`rods` with 9 coordinates and 6 constraints would need about .* GB"
    ):
        model.compile()


def test_room_is_asked_for_again_once_the_operations_are_counted(monkeypatch):
    asked = []
    monkeypatch.setattr(compile_progress, "check_memory", lambda needed, *_: asked.append(needed))
    rods(3).compile()
    assert asked[0] == compile_progress.PER_UNKNOWN * (9 + 9 + 6)
    assert asked[1] > asked[0]


def test_an_interruption_lost_in_a_step_ends_compiling_at_the_next(monkeypatch):
    def lose(*_):
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
        return []

    monkeypatch.setattr("dalembert.equations.compile.check_statement", lose)
    with pytest.raises(KeyboardInterrupt):
        rods(3).compile()


def test_a_motion_too_long_for_the_memory_is_refused_with_the_estimate(monkeypatch):
    system = rods(2).compile()
    state = system.initial(guess={name: GUESS[name] for name in ("B0_x", "B1_x")})
    monkeypatch.setattr(free_memory, "free_memory", lambda: 100_000)
    monkeypatch.setattr(free_memory, "NEGLIGIBLE", 0)  # what is asked for is little
    with pytest.raises(da.OutOfMemoryError, match=r"1000 times would need about .* fewer times") as refused:
        system.simulate(state, 1.0, t_eval=np.linspace(0, 1, 1000))
    assert refused.value.needed == 8 * 1000 * (1 + 6 + 2 * 6 + 4)
    assert system.simulate(state, 0.1, t_eval=[0.1]).success


def test_free_memory_is_what_is_left_of_the_smaller_limit(tmp_path, monkeypatch):
    for name, text in (("_MEMINFO", "MemTotal: 9 kB\nMemAvailable: 7 kB\n"), ("_LIMIT", "5000\n"), ("_USED", "1000\n")):
        (tmp_path / name).write_text(text)
        monkeypatch.setattr(free_memory, name, tmp_path / name)
    assert free_memory.free_memory() == 4000
    (tmp_path / "_LIMIT").write_text("max\n")
    assert free_memory.free_memory() == 7 * 1024


def test_every_step_is_told(monkeypatch):
    told = []

    class Listening(compile_progress.CompileProgress):
        def __call__(self, step):
            super().__call__(step)
            told.append(step)

    monkeypatch.setattr("dalembert.equations.compile.CompileProgress", Listening)
    rods(2).compile()
    assert tuple(told) == compile_progress.STEPS


def test_a_bar_appears_for_somebody_who_waits(monkeypatch):
    monkeypatch.setattr(compile_progress, "QUIET_SECONDS", 0.0)
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    progress = compile_progress.CompileProgress("rods", lambda: None)
    progress("dynamics")
    task = progress._bar.tasks[0]
    progress.close()
    assert task.description == "compiling rods: dynamics"
    assert task.completed == compile_progress.STEPS.index("dynamics")
