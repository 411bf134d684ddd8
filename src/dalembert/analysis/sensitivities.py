"""`sensitivity`: derivatives of all quantities of a motion, by the chain rule through q, u, u' and la.

A motion that was simulated with `sensitivities` carries S = d(q, u) / d theta. An output h(t, q, u, p, u', la) has

    dh/dtheta = h_q S_q + h_u S_u + h_p dp + h_u' du' + h_la dla

with du' and dla from the equations (`derivatives.EquationDerivatives.response`), only where h contains them.
"""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np

from dalembert.analysis.derivatives import differentiate
from dalembert.analysis.output_gradients import output_function, output_gradients
from dalembert.equations.naming import name_of
from dalembert.errors import DalembertError, UnknownNameError
from dalembert.motion.motion import Motion
from dalembert.motion.outputs import is_expression, spelling
from dalembert.motion.state import State


def sensitivity(motion: Any, output: Any, to: Any) -> np.ndarray:
    """d output / d `to` along a motion or a sequence of motions, (nt,), or (nt, n) if the output has n components."""
    name = name_of(to)
    parts = [_of_segment(part, output, _column(part, name)) for part in motion.segments]
    values = np.concatenate([part[:, :, 0] for part in parts])
    return values[:, 0] if values.shape[1] == 1 else values


def all_sensitivities(motion: Any, output: Any) -> np.ndarray:
    """d output / d theta for every theta of a motion or a sequence of motions, (nt, n, k)."""
    return np.concatenate([_of_segment(part, output, slice(None)) for part in motion.segments])


def check_passed(motion: Any) -> None:
    """Raise `DalembertError` if derivatives met a singular position on their way: they are not carried through it."""
    lost = [passage for passage in motion.certificate.passages if not passage.passed]
    if lost:
        raise DalembertError(
            f"`{motion.system.name}` has no derivatives after t = {lost[0].t:g}: {lost[0]}; end the motion before that"
        )


def _not_carried(motion: Any) -> DalembertError:
    return DalembertError(
        f"this motion of `{motion.system.name}` was simulated without sensitivities; write "
        'system.simulate(..., sensitivities=["m"]) with the parameters and start values of interest'
    )


def _column(motion: Motion, name: str) -> slice:
    if motion.derivatives is None:
        raise _not_carried(motion)
    names, s = motion.derivatives.names, motion.system
    if name not in names and s.trivial_kinematics and name.removesuffix("'") in s.coordinates:
        name = s.speeds[s.coordinates.index(name.removesuffix("'"))]
    if name not in names:
        raise UnknownNameError(name, names, "the sensitivities of this motion")
    k = names.index(name)
    return slice(k, k + 1)


def _of_segment(motion: Motion, output: Any, columns: slice) -> np.ndarray:
    """(nt, n, k) for some columns of the derivatives of one motion."""
    s, d = motion.system, motion.derivatives
    if d is None:
        raise _not_carried(motion)
    S = d.S[:, columns].transpose(0, 2, 1)
    name = None if is_expression(output) else spelling(output)
    for names, first in ((s.coordinates, 0), (s.speeds, s.nq)):
        if name in names:
            k = first + names.index(name)
            return S[:, k : k + 1]
    dp = s.parameter_directions(motion.parameters, d.columns)[:, columns]
    changes = np.concatenate([S, np.broadcast_to(dp, (len(S), *dp.shape))], axis=1)
    labels, function = output_function(s, output)
    if _reads_rates(function, s.nu + s.nc):
        return _with_rates(motion, output, changes)
    y = np.hstack([motion.t[:, None], motion.q, motion.u, np.broadcast_to(motion.parameters, (len(S), len(dp))),
                   np.zeros((len(S), s.nu + s.nc))])  # fmt: skip
    Y = function(y.T).full().reshape(len(labels), len(S), -1).transpose(1, 0, 2)
    return Y[:, :, 1 : 1 + changes.shape[1]] @ changes


def _reads_rates(function: ca.Function, count: int) -> bool:
    """Whether a gradient has entries in u' or la, or itself contains them."""
    first = function.size2_out(0) - count
    patterns = (function.sparsity_out(0), function.jac_sparsity(0, 0))
    return any(column >= first for pattern in patterns for column in pattern.get_col())


def _with_rates(motion: Motion, output: Any, changes: np.ndarray) -> np.ndarray:
    """The chain rule through u' and la, sample by sample."""
    s, rows = motion.system, []
    for k, t in enumerate(motion.t):
        here = (motion.q[k], motion.u[k], motion.udot[k], motion.multipliers[k], motion.parameters)
        d = differentiate(State(s, float(t), *here))
        response = d.response(changes[k])
        Y = output_gradients(d, [output], response)[1]
        rows.append(Y[:, 1:] @ np.vstack([changes[k], response.udot, response.la]))
    return np.array(rows)
