"""Memory formats of results: which arguments of an operator on images decide whether the channels
of its results come last in memory.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from typing import Any, Final, NamedTuple

from dovetail_kernel import float32

from ..typing import Array, Namespace
from .capabilities import Capabilities
from .geometry.broadcasting import Geometry, elementwise_layout
from .geometry.memory_layout import channels_last_order, has_channels_last, has_order, inverse
from .table import Function


class ResultFormat(NamedTuple):
    """How the memory format of results follows that of arguments.

    Attributes
    ----------
    follows
        Positions of the arguments, one of which in channels_last is enough. All arrays in a list
        have to be.
    results
        How many of the results, from the first on, are in channels_last then; others are in C
        order.
    ndims
        Dimensions of arguments that have this effect.
    in_c_order
        Whether C order goes first for arguments that are contiguous in both, as images of one
        channel are; channels_last follows, without regard to strides of dimensions of one element.
    when
        Predicate of the dtype of the first argument, as a `dovetail_kernel.dtype`, and of all
        arguments, without which results are in C order. None: no condition.
    """

    follows: tuple[int, ...] = (0,)
    results: int = 1
    ndims: tuple[int, ...] = (4, 5)
    in_c_order: bool = False
    when: Callable[..., bool] | None = None

    def gives_channels_last(
        self, geometry: Callable[[Any], Geometry], own: Mapping[Any, object], args: Sequence[Any]
    ) -> bool:
        """Return whether results for `args` are in channels_last.

        Parameters
        ----------
        geometry
            Returns the shape of an array, and its strides in elements.
        own
            Native dtype of an array to `dovetail_kernel.dtype`.
        """

        def is_last(array: Any) -> bool:
            if isinstance(array, list | tuple):
                return all([is_last(each) for each in array])
            ndim = array.ndim
            if ndim not in self.ndims:
                return False
            shape, strides = geometry(array)
            if not self.in_c_order:
                return has_channels_last(shape, strides)
            if has_order(shape, strides, range(ndim)):
                return False
            return has_order(shape, strides, channels_last_order(ndim)) or has_channels_last(
                shape, strides
            )

        if not any([is_last(args[place]) for place in self.follows]):
            return False
        return self.when is None or self.when(own[args[0].dtype], *args)


def _convolves_in_format(
    own: object,
    input: Array,
    weight: Array,
    bias: object,
    stride: Sequence[int],
    padding: object,
    dilation: object,
    transposed: bool,
    output_padding: Sequence[int],
    groups: int,
) -> bool:
    """Return whether PyTorch convolves in channels_last: images always, volumes of single precision
    where its library for them takes over from its own loops, on several threads.
    """
    if input.ndim == 4:
        return True
    rows, columns = weight.shape[-2:]
    is_large = input.shape[0] > 1 or groups > 1 or (rows > 3 and columns > 3)
    if own is not float32 or not is_large:
        return False
    sizes = zip(output_padding, stride, strict=False)
    return not transposed or all([more < step for more, step in sizes])


def _convolution_backward_in_format(
    own: object,
    grad_output: object,
    input: Array,
    weight: Array,
    bias_sizes: object,
    stride: Sequence[int],
    padding: object,
    dilation: object,
    transposed: bool,
    output_padding: Sequence[int],
    groups: int,
    *output_mask: object,
) -> bool:
    return _convolves_in_format(
        own, input, weight, None, stride, padding, dilation, transposed, output_padding, groups
    )


def _is_not_circular(own: object, x: object, pad: object, mode: str, *sizes: object) -> bool:
    return mode != "circular"


_IMAGES: Final = ResultFormat()
_OF_SECOND: Final = ResultFormat((1,))

RESULT_FORMATS: Final[Mapping[str, ResultFormat]] = {
    "convolution": ResultFormat((0, 1), when=_convolves_in_format),
    "convolution_backward": ResultFormat((1, 2), 2, when=_convolution_backward_in_format),
    "max_pool2d_with_indices": ResultFormat(results=2),
    "max_pool3d_with_indices": ResultFormat(results=2),
    "max_pool2d_with_indices_backward": _OF_SECOND,
    "max_pool3d_with_indices_backward": _OF_SECOND,
    "avg_pool2d": ResultFormat(ndims=(4,)),
    "avg_pool2d_backward": ResultFormat((1,), ndims=(4,)),
    "_adaptive_avg_pool2d": ResultFormat(ndims=(4,)),
    "_adaptive_avg_pool2d_backward": ResultFormat((1,), ndims=(4,)),
    "adaptive_max_pool2d": ResultFormat(results=2, ndims=(4,)),
    "adaptive_max_pool2d_backward": ResultFormat((1,), ndims=(4,)),
    "max_unpool2d": ResultFormat(ndims=(4,)),
    "_native_batch_norm_legit_functional": ResultFormat(in_c_order=True),
    "native_batch_norm_backward": _OF_SECOND,
    "native_group_norm": _IMAGES,
    "native_group_norm_backward": _OF_SECOND,
    "constant_pad_nd": _IMAGES,
    "_bordered": ResultFormat(when=_is_not_circular),
    "_bordered_backward": ResultFormat(when=_is_not_circular),
    "pixel_shuffle": ResultFormat(ndims=(4,)),
    "pixel_unshuffle": ResultFormat(ndims=(4,)),
    "channel_shuffle": _IMAGES,
    "cat": _IMAGES,
    **dict.fromkeys(
        (
            *("upsample_nearest2d", "upsample_nearest3d", "upsample_nearest2d_backward"),
            *("_upsample_nearest_exact2d", "_upsample_nearest_exact3d"),
            *("_upsample_nearest_exact2d_backward", "upsample_bilinear2d", "upsample_trilinear3d"),
            *("upsample_bilinear2d_backward", "upsample_trilinear3d_backward"),
            *("upsample_bicubic2d", "_upsample_bilinear2d_aa", "_upsample_bicubic2d_aa"),
            "_upsample_bilinear2d_aa_backward",
        ),
        _IMAGES,
    ),
}
"""The rule of each operator whose results are not always in C order, observed of PyTorch 2.13."""


def in_result_format(
    name: str, kernel: Function, xp: Namespace, capabilities: Capabilities
) -> Function:
    """Return an array kernel whose results are in the memory format that the rule of its operator
    says; any other kernel as it is.
    """
    rule = RESULT_FORMATS.get(name)
    if rule is None:
        return kernel

    def geometry(array: Any) -> Geometry:
        return array.shape, capabilities.strides(array)

    def laid(array: Any, is_last: bool) -> Any:
        if array is None:
            return None
        order = channels_last_order(array.ndim) if is_last else range(array.ndim)
        return _laid_out(array, order, xp, capabilities)

    @wraps(kernel)
    def compute(*args: Any, **kwargs: Any) -> Any:
        made = kernel(*args, **kwargs)
        is_last = rule.gives_channels_last(geometry, capabilities.dtypes, args)
        if not isinstance(made, tuple):
            return laid(made, is_last)
        first, others = made[: rule.results], made[rule.results :]
        return *[laid(each, is_last) for each in first], *others

    if rule.when is None:
        masks = sum([1 << place for place in rule.follows]), sum([1 << n for n in rule.ndims])
        details = (*masks, rule.results, rule.in_c_order)
        setattr(compute, "result_format", details)  # noqa: B010  (as in family.py)
    return compute


IN_ORDER_OF_OPERANDS: Final = frozenset(
    (
        *("add.Tensor", "sub.Tensor", "rsub.Tensor", "remainder.Tensor", "addcmul", "addcdiv"),
        *("elu_backward", "gelu_backward", "hardshrink_backward", "hardsigmoid_backward"),
        *("hardswish_backward", "hardtanh_backward", "leaky_relu_backward", "mish_backward"),
        *("log_sigmoid_backward", "sigmoid_backward", "silu_backward", "softplus_backward"),
        *("softshrink_backward", "tanh_backward", "threshold_backward"),
    )
)
"""Elementwise operators whose kernels compute a part from some operands alone, in the order in
memory of these.
"""


def in_order_of_operands(
    name: str, kernel: Function, xp: Namespace, capabilities: Capabilities
) -> Function:
    """Return a kernel of `IN_ORDER_OF_OPERANDS` whose result lies in memory as if it was computed
    in one loop over all operands; any other kernel as it is.
    """
    if name not in IN_ORDER_OF_OPERANDS:
        return kernel

    @wraps(kernel)
    def compute(*args: Any, **kwargs: Any) -> Any:
        made = kernel(*args, **kwargs)
        operands = [
            (each.shape, capabilities.strides(each)) for each in args if hasattr(each, "ndim")
        ]
        shape, strides = elementwise_layout(operands, first_decides=False)
        order = sorted(range(len(shape)), key=lambda dim: -strides[dim])
        if has_order(shape, capabilities.strides(made), order):
            return made
        return _laid_out(made, order, xp, capabilities)

    return compute


def _laid_out(array: Any, order: Sequence[int], xp: Namespace, capabilities: Capabilities) -> Any:
    """Return an array whose dimensions lie densely in memory in `order`, outermost first."""
    made = capabilities.contiguous(array.transpose(order))
    if 1 in made.shape:  # whose stride is any number, but tells the format of further results
        made = xp.reshape(xp.reshape(made, (-1,)), made.shape)
    return made.transpose(inverse(order))
