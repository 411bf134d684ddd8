"""What is made from a system is shared by equal systems out of pickles, and forgotten with the last of them."""

import gc
import pickle
import weakref
from dataclasses import replace

import casadi as ca
import numpy as np
import pytest
from sympy.physics.mechanics import dynamicsymbols

import dalembert as da
from dalembert import problems
from dalembert.equations import kernels


@pytest.fixture(scope="module")
def system():
    return replace(problems.get("four_bar").build().compile(), name="of these tests alone")


def copy(system):
    return pickle.loads(pickle.dumps(system))


def test_a_system_out_of_a_pickle_shares_the_kernels_of_its_original(system):
    assert copy(system).kernels is system.kernels
    assert copy(copy(system)).kernels is system.kernels


def test_equal_systems_out_of_pickles_share_kernels_without_an_original():
    one, other = (pickle.dumps(problems.get("four_bar").build().compile()) for _ in range(2))
    gc.collect()
    assert pickle.loads(one).kernels is pickle.loads(other).kernels


@pytest.mark.parametrize("change", [{"name": "another"}, {"parameter_defaults": (0.8, 2.0, 1.0, 2.0, 1.0, 1.62)}])
def test_systems_that_differ_do_not_share_kernels(system, change):
    other = replace(system, **change)
    assert other.kernels is not system.kernels
    assert copy(other).kernels is not copy(system).kernels


def test_functions_are_read_when_they_are_needed(system, monkeypatch):
    text = pickle.dumps(replace(system, name="read late"))
    gc.collect()
    read = []
    deserialize = ca.Function.deserialize
    monkeypatch.setattr(ca.Function, "deserialize", lambda text: read.append(text) or deserialize(text))
    late = pickle.loads(text)
    assert late.curved == 0
    assert set(late.functions) == set(system.functions)
    assert not read
    at = (0.0, np.ones(3), np.ones(3))
    assert late.energy(*at) == system.energy(*at)
    assert len(read) == 1


def test_only_a_few_kernels_outlive_their_systems(system):
    known = [weakref.ref(copy(replace(system, name=f"number {k}")).kernels) for k in range(kernels.RECENT + 3)]
    gc.collect()
    assert [ref() is not None for ref in known] == [False] * 3 + [True] * kernels.RECENT


def test_what_is_kept_is_made_once():
    made = kernels.Kernels({})
    calls = []
    for _ in range(2):
        assert made.kept("a key", lambda: calls.append(None)) is None
    assert len(calls) == 1


def test_only_the_last_things_without_number_stay(monkeypatch):
    monkeypatch.setattr(kernels, "LATELY", 3)
    made, calls = kernels.Kernels({}), []
    for key in "abcadea":  # `a` is asked for again before three others have come
        assert made.lately(key, lambda key=key: calls.append(key) or key.upper()) == key.upper()
    assert calls == [*"abcde"]
    assert [made.lately_known(key) for key in "abcde"] == ["A", None, None, "D", "E"]


def with_event(system, state, level):
    system.simulate(state, 0.02, events=[da.Event(dynamicsymbols("q1") - level)])


def with_output(system, state, factor):
    outputs = [factor * dynamicsymbols("q1")]
    system.sweep({"la": [0.8, 0.801]}, 0.02, given={"q1": 0.5}, guess=problems.get("four_bar").guess, outputs=outputs)


def with_cost(system, state, factor):
    system.gradient(da.Final(factor * dynamicsymbols("q1")), state, 0.02, to=["la"])


@pytest.mark.parametrize("use", [with_event, with_output, with_cost])
def test_machine_code_of_expressions_does_not_pile_up(use, monkeypatch):
    """Each kernel takes two memory maps, of which a process has 65,530 at most."""
    problem = problems.get("four_bar")
    system = problem.build().compile()
    state, alive = problem.state(system), weakref.WeakSet()
    monkeypatch.setattr(kernels, "LATELY", 4)
    compile_kernel = kernels.compile_kernel

    def noted(function, **options):
        kernel = compile_kernel(function, **options)
        alive.add(kernel)
        return kernel

    use(system, state, 0.1)
    monkeypatch.setattr(kernels, "compile_kernel", noted)
    for k in range(12):
        use(system, state, 0.2 + k)
    gc.collect()
    assert 0 < len(alive) <= kernels.LATELY


@pytest.mark.parametrize("name", ["four_bar", "car", "appell_hamel", "asymmetric_top", "closed_chain_5"])
def test_functions_out_of_a_pickle_are_those_of_the_original(name):
    """Instruction by instruction, so that machine code made of one is found for the other."""
    functions = problems.get(name).build().compile().functions
    made = {key: function.serialize() for key, function in functions.items()}
    assert {key: function.serialize() for key, function in copy(functions).items()} == made
