"""Workspace of a generalized-alpha step, with the values remembered from the steps before."""

from __future__ import annotations

from dalembert.native.intrinsics import record_at
from dalembert.native.types import floats, ints
from dalembert.run.integrators.divided import Divided


class AlphaWork(Divided):
    """Kernels, blocks, memory and parameters of a generalized-alpha method."""

    _fields_ = (
        *ints("kinematics_kernel balance_kernel jacobian_kernel length"),  # length of x
        # Blocks: the argument (x, u', la) at the end of the step; x at its middle; q', q'_q, C there; residuals and
        # their Jacobian; the matrix of q1; dq for increments (p, eta); Y; the Newton matrix, its right-hand side and
        # the scales of its rows and columns; residual of q1; s.
        *ints("argument middle kinematics balance derivative fold slope normals matrix right row_scale column_scale"),
        *ints("gap average"),
        # a, u', la at the start and at the end, la one step before; the states these belong to; u' of the index-1
        # equations at the start and one step before; errors of position and of u; row orders of the two matrices
        # (integers).
        *ints("a_old v_old la_old la_before a_start a_new v_new la_new z_old z_new rate rate_before errors"),
        *ints("order fold_order"),
        # Over nonzeros: the Newton matrix (0: dense), what its kernel reads (weights, x at the middle, the argument and
        # a vector behind it), and the kernel of M times that vector.
        *ints("newton_matrix request product_kernel"),
        # Times the stored vectors belong to, the steps they were made with, the step of the matrix at hand (0: none).
        *floats("t_old t_new h_old h_new h_matrix"),
        # The power at a fourth time, and how far that is before the start of the last step (0: none).
        *floats("power_before h_before power_inside"),
        *floats("alpha_m alpha_f beta gamma error_q error_u"),
        # The impulse of an unknown of a law that counts as 1 in the error test; 0 if no law determines one.
        *floats("impulse"),
    )


alpha_work = record_at(AlphaWork)
