"""`normal` as users call it: for tensors of means and deviations, or as a factory."""

from __future__ import annotations

from typing import Any

from dovetail_dispatcher import overridable
from dovetail_kernel import Layout, TensorBase

from ..._generated import functions as aten
from ..data.dtype_arguments import as_dtype
from .factory import finished
from .sizes import shape_of


@overridable
def normal(
    mean: Any = 0.0,
    std: Any = 1.0,
    size: object = None,
    *,
    generator: object = None,
    out: Any = None,
    dtype: Any = None,
    layout: Layout | None = None,
    device: Any = None,
    pin_memory: bool | None = None,
    requires_grad: bool = False,
) -> Any:
    """Return numbers drawn from normal distributions.

    Parameters
    ----------
    mean, std
        Means and standard deviations: tensors, which broadcast, or numbers.
    size
        The shape of the result, if both are numbers.
    generator
        Source of the random numbers; default: the generator of the device.
    out
        A tensor to write the result into.
    dtype, layout, device, pin_memory, requires_grad
        Options for the result if `size` is passed; as for `zeros`.

    Returns
    -------
    Tensor
        Tensor of the dtype of `mean`, or of `std` if `mean` is a number.

    Raises
    ------
    TypeError
        If there is neither a tensor nor a size, or both.
    RuntimeError
        For a negative standard deviation.
    """
    if isinstance(mean, TensorBase) or isinstance(std, TensorBase):
        if size is not None:
            raise TypeError(
                "normal() received an invalid combination of arguments: the size of the result is "
                "that of the tensors. Leave size out."
            )
        return aten.normal(mean, std, generator=generator, out=out)
    if size is None:
        raise TypeError(
            "normal() received an invalid combination of arguments: mean and std are numbers, "
            "and there is no size. Give size=, or a tensor."
        )
    if out is not None:
        dtype, device = out.dtype if dtype is None else dtype, device or out.device
    made = aten.normal_float_float(
        mean,
        std,
        shape_of("normal", (size,), None),
        generator=generator,
        dtype=as_dtype(dtype, "normal"),
        layout=layout,
        device=device,
        pin_memory=pin_memory,
    )
    return finished(made, requires_grad, out, "normal")
