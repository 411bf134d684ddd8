"""Chains of many bodies on joints, and N-four-bars written as expressions: seconds from the model to the first motion.

Bodies have absolute coordinates: an angle in the plane, Euler parameters in space. They start stretched out along x, at
rest, and fall for 10 ms, which takes two or three steps: what is measured is what comes before the first of them. Every
case runs in a process of its own with an empty cache of object code; processor time is measured. All modules are
imported before: where Python may not keep compiled modules, compiling them again would count as a part of every stage.
The chain of 10,000 bodies takes too long to be among these: `python -m benchmarks.bodies_large planar 10000`.
"""

from __future__ import annotations

import importlib
import json
import pkgutil
import resource
import sys
import time
from collections.abc import Iterator

from benchmarks.measure import Figure, empty_cache, run_apart

CHAINS = {("planar", 1000): "< 3", ("revolute", 1000): "< 3", ("spherical", 1000): "< 3"}
FOUR_BARS = {10: "< 0.5", 20: "< 0.5", 40: "< 0.5"}  # after what SymPy takes to state them
SPAN = 0.01


def run() -> Iterator[Figure]:
    """Processor seconds of statement, compile, initial state and first run; of four-bars without the statement."""
    for (kind, n), target in CHAINS.items():
        found = _apart(kind, str(n))
        yield Figure("bodies_large", f"{n} bodies, {kind}", sum(found["stages"].values()), "s", target, _told(found))
    for n, target in FOUR_BARS.items():
        found = _apart("four_bar", str(n))
        after = sum(seconds for stage, seconds in found["stages"].items() if stage != "statement")
        yield Figure("bodies_large", f"{n}-four-bar, after SymPy", after, "s", target, _told(found))


def _apart(*arguments: str) -> dict:
    with empty_cache() as environment:
        return json.loads(run_apart("bodies_large", *arguments, environment=environment))


def _told(found: dict) -> str:
    stages = "; ".join(f"{stage} {seconds:.2f}" for stage, seconds in found["stages"].items())
    return f"{stages}; {found['megabytes']} MB"


def time_stages(kind: str, n: int) -> dict:
    """Processor seconds of every stage, and the peak of memory."""
    import dalembert as da
    from dalembert.problems.n_four_bar import n_four_bar

    for module in pkgutil.walk_packages(da.__path__, "dalembert."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    da.LagrangeMultipliers(), da.Projection()  # loads the engine
    clock = [time.process_time()]
    problem = n_four_bar(n) if kind == "four_bar" else None
    model = problem.build() if problem else chain(kind, n)
    clock.append(time.process_time())
    system = model.compile()
    clock.append(time.process_time())
    state = problem.state(system) if problem else system.initial(guess={f"B{k}_x": k + 0.5 for k in range(n)})
    clock.append(time.process_time())
    motion = system.simulate(state, SPAN, t_eval=[0.0, SPAN])
    clock.append(time.process_time())
    if not motion.certificate.ok:
        raise RuntimeError(str(motion.certificate))
    stages = ("statement", "compile", "initial", "first run")
    seconds = {stage: clock[k + 1] - clock[k] for k, stage in enumerate(stages)}
    return {"stages": seconds, "megabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024}


def chain(kind, n):
    """A chain of n bodies of unit length on revolute joints in the plane, or on revolute or spherical ones in space."""
    import dalembert as da

    model = da.Model(f"chain of {n} bodies")
    (g,) = model.parameters(g=9.81)
    planar = kind == "planar"
    rest = [0.0] if planar else [0.0, 0.0]
    model.gravity([*rest, -g])
    axis = {"axis": [0.0, 1.0, 0.0]} if kind == "revolute" else {}
    join = model.joints.spherical if kind == "spherical" else model.joints.revolute
    before = model.marker(model.ground, [0.0, *rest], **axis)
    for k in range(n):
        body = model.body(f"B{k}", mass=1.0, inertia=1 / 12 if planar else [0.01, 1 / 12, 1 / 12])
        join(f"J{k}", before, model.marker(body, [-0.5, *rest], **axis))
        before = model.marker(body, [0.5, *rest], **axis)
    return model


if __name__ == "__main__":
    sys.stdout.write(json.dumps(time_stages(sys.argv[1], int(sys.argv[2]))) + "\n")
