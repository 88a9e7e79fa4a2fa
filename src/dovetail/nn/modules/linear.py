"""Linear maps."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import dovetail_aten as aten
from dovetail_aten import Tensor
from dovetail_autograd import no_grad
from dovetail_kernel import DeviceLike, restoring
from dovetail_kernel import dtype as DType

from .. import functional as F
from .. import init, parameter
from ..parameter import Parameter, is_lazy
from .lazy import LazyModuleMixin
from .module import Module

__all__ = ["Bilinear", "Identity", "LazyLinear", "Linear"]


class Identity(Module):
    """Return the input; any constructor arguments are ignored."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()

    def forward(self, input: Tensor) -> Tensor:
        return input


class Linear(Module):
    """``input @ weight.T + bias``.

    Parameters
    ----------
    in_features, out_features : int
        Last dimension of the input, ``(*, in_features)``, and of the output, ``(*, out_features)``.
    bias : bool, default True
        Whether to add a bias.
    device, dtype : optional
        Device and dtype of the parameters; default: the default device and dtype.

    Attributes
    ----------
    weight : Parameter
        ``(out_features, in_features)``; both are initialised uniformly within ``± 1 /
        sqrt(in_features)``.
    bias : Parameter or None
        ``(out_features,)``
    """

    weight: Parameter
    bias: Parameter | None

    def __init__(
        self,
        in_features: int,
        out_features: int,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.in_features = in_features
        self.out_features = out_features
        self.weight = Parameter(aten.empty((out_features, in_features), device=device, dtype=dtype))
        self.register_parameter(
            "bias",
            Parameter(aten.empty(out_features, device=device, dtype=dtype)) if bias else None,
        )
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw new initial values."""
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            bound = 1 / math.sqrt(self.in_features) if self.in_features else 0.0
            init.uniform_(self.bias, -bound, bound)

    def forward(self, input: Tensor) -> Tensor:
        own: dict[str, Any] = self._parameters
        try:  # the attributes would come here too, at twice the price
            weight, bias = own["weight"], own["bias"]
        except KeyError:  # something else was put in their place
            weight, bias = self.weight, self.bias
        return F.linear(input, weight, bias)

    def extra_repr(self) -> str:
        return (
            f"in_features={self.in_features}, "
            f"out_features={self.out_features}, "
            f"bias={self.bias is not None}"
        )


class NonDynamicallyQuantizableLinear(Linear):
    """`Linear` by the name that it has within attention."""


class Bilinear(Module):
    """``input1 @ weight[k] @ input2 + bias[k]`` for every output ``k``.

    Parameters
    ----------
    in1_features, in2_features, out_features : int
        Last dimensions of the inputs, ``(*, in1_features)`` and ``(*, in2_features)``, and of the
        output, ``(*, out_features)``.
    bias : bool, default True
        Whether to add a bias.
    device, dtype : optional
        Device and dtype of the parameters; default: the default device and dtype.

    Attributes
    ----------
    weight : Parameter
        ``(out_features, in1_features, in2_features)``; both are initialised uniformly within ``± 1
        / sqrt(in1_features)``.
    bias : Parameter or None
        ``(out_features,)``

    Raises
    ------
    ValueError
        If ``in1_features`` is not greater than 0.
    """

    weight: Parameter
    bias: Parameter | None

    def __init__(
        self,
        in1_features: int,
        in2_features: int,
        out_features: int,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        if in1_features <= 0:
            raise ValueError(f"in1_features must be > 0, but got (in1_features={in1_features})")
        self.in1_features = in1_features
        self.in2_features = in2_features
        self.out_features = out_features
        shape = (out_features, in1_features, in2_features)
        self.weight = Parameter(aten.empty(shape, device=device, dtype=dtype))
        self.register_parameter(
            "bias",
            Parameter(aten.empty(out_features, device=device, dtype=dtype)) if bias else None,
        )
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw new initial values."""
        bound = 1 / math.sqrt(self.weight.size(1))
        init.uniform_(self.weight, -bound, bound)
        if self.bias is not None:
            init.uniform_(self.bias, -bound, bound)

    def forward(self, input1: Tensor, input2: Tensor) -> Tensor:
        return F.bilinear(input1, input2, self.weight, self.bias)

    def extra_repr(self) -> str:
        return (
            f"in1_features={self.in1_features}, in2_features={self.in2_features}, "
            f"out_features={self.out_features}, bias={self.bias is not None}"
        )


class LazyLinear(LazyModuleMixin, Linear):
    """`Linear` whose ``in_features`` is inferred from the first input.

    Parameters
    ----------
    out_features, bias, device, dtype
        As for `Linear`.
    """

    cls_to_become: ClassVar[type[Module] | None] = Linear

    def __init__(
        self,
        out_features: int,
        bias: bool = True,
        device: DeviceLike | None = None,
        dtype: DType | None = None,
    ) -> None:
        super().__init__(0, 0, False)
        made: Any = {"device": device, "dtype": dtype}
        self.weight = parameter.UninitializedParameter(**made)
        self.out_features = out_features
        self.bias = parameter.UninitializedParameter(**made) if bias else None

    def reset_parameters(self) -> None:
        """Draw new initial values, once the parameters are materialized."""
        if not self.has_uninitialized_params() and self.in_features != 0:
            super().reset_parameters()

    @restoring()
    def initialize_parameters(self, input: Tensor) -> None:
        """Materialize the parameters.

        Raises
        ------
        RuntimeError
            If the features of a loaded weight differ from the input.
        """
        features = int(input.shape[-1])
        if is_lazy(self.weight):
            self.in_features = features
            with no_grad():
                self.weight.materialize((self.out_features, features))
                if is_lazy(self.bias):
                    self.bias.materialize((self.out_features,))
            self.reset_parameters()
        elif self.in_features == 0:
            if self.weight.shape[-1] != features:
                raise RuntimeError(
                    f"The in_features inferred from input: {features} is not equal to in_features "
                    f"from self.weight: {self.weight.shape[-1]}. Load another state."
                )
            self.in_features = features
