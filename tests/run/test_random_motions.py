"""Random models against an independent route: no false OK, and hardly ever a false alarm."""

import numpy as np
import pytest
from random_motions import random_tree, reference, system_of

T_END = 1.0
RIGHT, WRONG = 1e-7, 1e-5  # radians: a default run is right to 1e-9 where the motion does not amplify errors


def judged(seed):
    """What became of a seed: "ok", "false ok", "false alarm", "refused" (not OK, rightly), "" if not judged."""
    tree = random_tree(seed)
    if tree is None:
        return ""
    fine, coarse = reference(tree, T_END), reference(tree, T_END, rtol=1e-9)
    if not np.abs(fine - coarse).max() < 0.1 * RIGHT:  # near a singular position: the reference is in doubt itself
        return ""
    system, state = system_of(tree)
    motion = system.simulate(state, T_END)
    reached = len(motion) and motion.t[-1] == T_END
    error = np.abs(motion.q[-1] - fine).max() if reached else np.inf
    if motion.certificate.ok:
        return "ok" if error < WRONG else "false ok"
    return "false alarm" if error < RIGHT else "refused"


def counted(seeds):
    found = {seed: judged(seed) for seed in seeds}
    assert not [seed for seed, verdict in found.items() if verdict == "false ok"]
    return [verdict for verdict in found.values() if verdict], found


def test_random_mechanisms_are_right_or_not_ok():
    verdicts, found = counted(range(30))
    assert len(verdicts) > 20
    assert "false alarm" not in verdicts, found


@pytest.mark.slow
@pytest.mark.parametrize("first", range(1000, 2000, 100))
def test_a_thousand_random_mechanisms(first):
    verdicts, found = counted(range(first, first + 100))
    assert len(verdicts) > 65
    assert verdicts.count("false alarm") <= 0.01 * len(verdicts), found
