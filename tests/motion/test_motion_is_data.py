"""Motions, states and systems are data: read by threads, sent to other processes, freed when forgotten.

What is read is the same to the last bit wherever it is read, and whatever ran before.
"""

import functools
import gc
import multiprocessing
import pickle
import subprocess
import sys
import threading
import weakref
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import dalembert as da

MADE_WITH = {
    "default": {},
    "partition": {"formulation": da.MinimalKane()},
    "feedback": {"formulation": da.NullSpace(), "drift": da.Baumgarte()},
    "energy kept": {"drift": da.Yoon()},
    "implicit": {"integrator": da.Radau()},
    "pseudo-speeds": {"integrator": da.IDA(form=da.PseudoSpeeds())},
}
ARRAYS = ("q", "u", "udot", "multipliers")


def compile_pendulum():
    model = da.Model("pendulum")
    x, y = model.coordinates("x y")
    model.speeds("vx vy")
    L, m, g, c = model.parameters(L=1.0, m=2.0, g=9.81, c=0.1)
    model.particle("P", mass=m, position=[x, y])
    model.gravity([0, -g])
    model.generalized_force({x: -c * x.diff(), y: -c * y.diff()})
    model.constrain(x**2 + y**2 - L**2, name="rod")
    return model.compile()


@functools.cache
def pendulum():
    return compile_pendulum()


def start(system, x=0.8, y=-0.6):
    return system.initial({"x": x}, guess={"y": y})


@functools.cache
def swing(name):
    return pendulum().simulate(start(pendulum()), 2.0, **MADE_WITH[name])


@functools.cache
def bounces():
    """A ball that bounces: a sequence of motions with their occurrences."""
    model = da.Model("ball")
    (y,) = model.coordinates("y")
    (v,) = model.speeds("v")
    (g,) = model.parameters(g=9.81)
    model.particle("P", mass=1, position=[0, y])
    model.gravity([0, -g])
    system = model.compile()
    bounce = da.Event(y, direction=-1, then={v: -0.8 * v}, name="bounce")
    return system.simulate(system.initial({y: 1.0, v: 0.0}), 1.5, events=[bounce])


def fresh(motion):
    """The motion with nothing computed from it yet."""
    return replace(motion)


def same(one, other):
    """Whether two states or motions are equal to the last bit."""
    return all(np.array_equal(getattr(one, name), getattr(other, name)) for name in ARRAYS)


def read(motion):
    """What needs native code, as it is found by whoever opens the motion: words and arrays."""
    at = motion.at(0.7)
    arrays = [*(getattr(at, name) for name in ARRAYS), motion.udot, motion.multipliers, motion.reactions, motion.energy]
    words = [str(motion.certificate), motion.method, *map(str, motion.events)]
    return words, arrays, len(motion.plot().axes)


def simulate_with(system, state, mass):
    return system.simulate(state, 1.0, parameters={"m": mass})


@pytest.fixture(scope="module")
def workers():
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        yield pool


# -- processes ---------------------------------------------------------------------------------------------------------


def test_a_motion_reads_alike_in_another_process(workers):
    motions = [*(fresh(swing(name)) for name in MADE_WITH), fresh(bounces())]
    for motion, (words, arrays, axes) in zip(motions, workers.map(read, motions), strict=True):
        here_words, here, here_axes = read(motion)
        assert (words, axes) == (here_words, here_axes)
        for mine, theirs in zip(here, arrays, strict=True):
            np.testing.assert_array_equal(mine, theirs)


def test_processes_share_out_simulations(workers):
    system, masses = pendulum(), [1.0, 2.0, 3.0, 4.0]
    run = functools.partial(simulate_with, system, start(system))
    for mass, motion in zip(masses, workers.map(run, masses), strict=True):
        here = run(mass)
        assert same(motion, here)
        assert str(motion.certificate) == str(here.certificate)


@pytest.mark.parametrize("name", MADE_WITH)
def test_a_copy_through_a_pickle_is_the_same(name):
    motion = swing(name)
    motion.certificate  # noqa: B018 - what was computed does not travel
    copy = pickle.loads(pickle.dumps(motion))
    assert not {"certificate", "evaluation"} & vars(copy).keys()
    assert same(copy, motion)
    assert same(copy.at(1.1), motion.at(1.1))
    assert str(copy.certificate) == str(motion.certificate)


def test_states_certificates_and_occurrences_survive_a_pickle():
    motion = bounces()
    state, certificate, events = pickle.loads(pickle.dumps((motion.at(0.3), motion.certificate, motion.events)))
    assert same(state, motion.at(0.3))
    assert str(certificate) == str(motion.certificate)
    assert events.watched == ("bounce",)
    assert [o.energy_lost for o in events] == [o.energy_lost for o in motion.events]


# -- threads -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["default", "partition"])
def test_threads_find_the_states_that_one_thread_finds(name):
    motion, times = swing(name), np.random.default_rng(5).uniform(0.0, 2.0, 1000)
    alone = [motion.at(t) for t in times]
    with ThreadPoolExecutor(8) as pool:
        for found in pool.map(lambda _: [motion.at(t) for t in times], range(8)):
            assert all(map(same, alone, found))


@pytest.mark.parametrize("name", MADE_WITH)
def test_threads_that_evaluate_a_motion_at_once_see_the_same(name):
    alone = fresh(swing(name))
    for _ in range(10):
        motion, together = fresh(alone), threading.Barrier(8)

        def look(_, motion=motion, together=together):
            together.wait()
            return motion.reactions, motion.udot, str(motion.certificate)

        with ThreadPoolExecutor(8) as pool:
            for reactions, udot, certificate in pool.map(look, range(8)):
                np.testing.assert_array_equal(reactions, alone.reactions)
                np.testing.assert_array_equal(udot, alone.udot)
                assert certificate == str(alone.certificate)


# -- nothing depends on what ran before --------------------------------------------------------------------------------


@pytest.mark.parametrize("formulation", [da.MinimalKane(), da.NonminimalKane(), da.NullSpace()], ids=repr)
def test_a_run_does_not_depend_on_earlier_runs(formulation):
    first, second = compile_pendulum(), compile_pendulum()
    second.simulate(start(second, 0.6, -0.8), 0.1, formulation=formulation)  # there, the other speed is dependent
    motions = [system.simulate(start(system), 2.0, formulation=formulation) for system in (first, second)]
    choices = [[choice.dependent for _, choice in motion.facts.choices] for motion in motions]
    assert choices[0][0] == (() if isinstance(formulation, da.NullSpace) else (0,))
    assert choices[0] == choices[1]
    assert same(*motions)


def test_all_constraints_are_taken_over_from_earlier_runs_only_where_they_would_be_chosen():
    first, second = compile_pendulum(), compile_pendulum()
    second.simulate(start(second, 0.6, -0.8), 0.1)
    motions = [system.simulate(start(system), 2.0) for system in (first, second)]
    assert motions[0].facts.choices == motions[1].facts.choices
    assert same(*motions)


def test_each_sample_is_solved_with_the_partition_that_served_there():
    system = pendulum()
    state = start(system)
    long = system.simulate(state, 2.0, formulation=da.MinimalKane())
    assert len(long.facts.choices) > 1
    until = long.facts.choices[1][0]
    short = system.simulate(state, (0.0, 0.5 * until), formulation=da.MinimalKane())
    count = len(short) - 1  # its last step is cut short
    assert len(short.facts.choices) == 1
    assert count > 1
    np.testing.assert_array_equal(long.t[:count], short.t[:count])
    np.testing.assert_array_equal(long.udot[:count], short.udot[:count])
    np.testing.assert_array_equal(long.evaluation.condition[:count], short.evaluation.condition[:count])


def test_a_state_between_samples_does_not_depend_on_what_else_is_asked_for():
    motion = swing("partition")
    times = np.linspace(0.0, 2.0, 40)
    together = motion.resampled(times)
    for k, t in enumerate(times):
        np.testing.assert_array_equal(motion.at(t).q, together.q[k])
        np.testing.assert_array_equal(motion.at(t).u, together.u[k])


# -- lifetime ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", MADE_WITH)
def test_a_system_is_freed_with_its_last_motion(name):
    system = compile_pendulum()
    motion = system.simulate(start(system), 0.5, events=[] if name == "pseudo-speeds" else [da.Event("y")])
    motion = system.simulate(start(system), 0.5, **MADE_WITH[name])
    assert motion.certificate.ok
    watched, kernels = weakref.ref(system), weakref.ref(system.kernels)
    del system, motion
    gc.collect()
    assert watched() is None
    assert kernels() is None


MEMORY = """
import sys
sys.path.insert(0, {tests!r})
from pathlib import Path
from test_motion_is_data import compile_pendulum, start

def used():
    pages, maps = Path("/proc/self/statm").read_text().split()[1], Path("/proc/self/maps").read_text()
    return int(pages) * 4, maps.count(chr(10))

for count in range({warm} + {models}):
    if count == {warm}:
        before = used()
    system = compile_pendulum()
    system.simulate(start(system), 0.1).certificate
print(*(after - first for after, first in zip(used(), before)))
"""


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="memory is read from /proc")
@pytest.mark.parametrize("models", [80, pytest.param(1000, marks=pytest.mark.slow)])
def test_memory_does_not_grow_with_models_that_were_dropped(models):
    script = MEMORY.format(tests=str(Path(__file__).parent), warm=20, models=models)
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    kilobytes, maps = map(int, run.stdout.split())
    assert kilobytes < 50 * min(models, 200)  # one that stays takes more than 500
    assert maps < min(models, 200)  # one that stays has more than ten
