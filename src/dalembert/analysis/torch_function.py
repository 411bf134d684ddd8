"""Outputs of a motion as a function of PyTorch, with the exact derivative of `MotionFunction.with_jacobian`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike

from dalembert.errors import OptionError


class Differentiable(Protocol):
    """Outputs (nt, n) as a function of values (k,), alone or with their Jacobian (nt, n, k)."""

    def __call__(self, values: ArrayLike) -> np.ndarray: ...

    def with_jacobian(self, values: ArrayLike) -> tuple[np.ndarray, np.ndarray]: ...


def torch_function(function: Differentiable) -> Callable[[Any], Any]:
    """The function of a tensor of values (k,) that returns a tensor (nt, n) on the same device.

    The Jacobian J (nt, n, k) is computed with the value if a derivative will be asked for, and handed on as J^T w to
    `backward`. There is no second derivative: PyTorch raises if one is asked for.
    """
    import torch
    from torch.autograd.function import once_differentiable

    class Evaluated(torch.autograd.Function):
        @staticmethod
        def forward(context: Any, values: Any) -> Any:
            theta = values.detach().cpu().numpy()
            if not context.needs_input_grad[0]:
                return torch.from_numpy(function(theta)).to(values.device)
            y, J = function.with_jacobian(theta)
            context.save_for_backward(torch.from_numpy(J).to(values.device))
            return torch.from_numpy(y).to(values.device)

        @staticmethod
        @once_differentiable
        def backward(context: Any, weights: Any) -> Any:
            (J,) = context.saved_tensors
            return torch.einsum("tn,tnk->k", weights, J)

    def outputs(values: Any) -> Any:
        if values.dtype != torch.float64:
            raise OptionError(f"a motion takes 64-bit numbers, got {values.dtype}; write values.double()")
        return Evaluated.apply(values)

    return outputs
