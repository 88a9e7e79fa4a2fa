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
from .geometry.broadcasting import Geometry, elementwise_order
from .geometry.memory_layout import channels_last_order, has_channels_last, has_order, inverse
from .result_orders import RESULT_ORDERS, GeometryOf, Order
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
        self, geometry: GeometryOf, own: Mapping[Any, object], args: Sequence[Any]
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
            flags = getattr(array, "flags", None)
            if flags is not None and flags.c_contiguous and array.strides[1] > array.strides[-1]:
                return False  # most images, whose strides need not be looked at one by one
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

    def orders(
        self,
        geometry: GeometryOf,
        own: Mapping[Any, object],
        made: Sequence[Any],
        args: Sequence[Any],
    ) -> Sequence[Order | None]:
        """Return the order in memory of each result; None for one that stays as it is."""
        last = self.gives_channels_last(geometry, own, args)
        return [
            None
            if each is None or place >= self.results
            else channels_last_order(each.ndim)
            if last
            else range(each.ndim)
            for place, each in enumerate(made)
        ]


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


def orders_of_results(
    name: str, geometry: GeometryOf, own: Mapping[Any, object]
) -> Callable[[Any, Sequence[Any], Mapping[str, Any]], Sequence[Order | None]] | None:
    """Return the function that returns the order in memory of each result of an operator, by its
    results and arguments: None for a result that stays as it is. None if the operator has no rule.
    """
    rule = RESULT_FORMATS.get(name)
    if rule is not None:
        return lambda made, args, kwargs: rule.orders(geometry, own, made, args)
    order_rule = RESULT_ORDERS.get(name)
    if order_rule is None:
        return None
    return lambda made, args, kwargs: order_rule(geometry, made, *args, **kwargs)


def in_result_format(
    name: str, kernel: Function, xp: Namespace, capabilities: Capabilities
) -> Function:
    """Return an array kernel whose results are in the memory format that the rule of its operator
    says; any other kernel, and one that has the attribute ``lays_out``, as it is.
    """

    def geometry(array: Any) -> Geometry:
        return array.shape, capabilities.strides(array)

    orders = orders_of_results(name, geometry, capabilities.dtypes)
    if orders is None or getattr(kernel, "lays_out", False):
        return kernel

    def laid(array: Any, order: Order | None) -> Any:
        if order is None or array.ndim < 2 or getattr(array, "strides", None) is None:
            return array
        return laid_out(array, order, xp, capabilities)

    @wraps(kernel)
    def compute(*args: Any, **kwargs: Any) -> Any:
        made = kernel(*args, **kwargs)
        if not isinstance(made, tuple):
            return made if made.ndim < 2 else laid(made, orders((made,), args, kwargs)[0])
        return (*map(laid, made, orders(made, args, kwargs)),)

    rule = RESULT_FORMATS.get(name)
    if rule is not None and rule.when is None:
        masks = sum([1 << place for place in rule.follows]), sum([1 << n for n in rule.ndims])
        details = (*masks, rule.results, rule.in_c_order)
        setattr(compute, "result_format", details)  # noqa: B010  (as in family.py)
    return compute


def in_order_of_operands(kernel: Function, xp: Namespace, capabilities: Capabilities) -> Function:
    """Return a kernel of an elementwise operator of several arrays whose result lies in memory as
    `elementwise_order` says; one that has the attribute ``lays_out`` as it is.
    """
    if getattr(kernel, "lays_out", False):
        return kernel

    def compute(*args: Any, **kwargs: Any) -> Any:
        arrays = [each for each in (*args, *kwargs.values()) if getattr(each, "ndim", 0)]
        if _agree(arrays, capabilities):
            return kernel(*args, **kwargs)
        shape, order = _order_of(arrays, capabilities)
        if order == tuple(range(len(shape))):
            return _with_order(kernel(*args, **kwargs), order, xp, capabilities)
        # In turned arrays, the first one is in C order, which libraries of arrays keep.

        def turned(each: Any) -> Any:
            if not getattr(each, "ndim", 0):
                return each
            ones = (1,) * (len(shape) - each.ndim)
            return (xp.reshape(each, (*ones, *each.shape)) if ones else each).transpose(order)

        named = {name: turned(value) for name, value in kwargs.items()}
        made = kernel(*map(turned, args), **named).transpose(inverse(order))
        return laid_out(made, order, xp, capabilities)

    compute.__name__ = getattr(kernel, "__name__", compute.__name__)
    return compute


def _agree(arrays: Sequence[Any], capabilities: Capabilities) -> bool:
    """Return whether an elementwise result of arrays lies in memory as each of them, or in C
    order.
    """
    if len(arrays) < 2:
        return True
    shape, strides = arrays[0].shape, getattr(arrays[0], "strides", None)
    if strides is None:  # the library knows no order
        return True
    is_one = all([each.strides == strides and each.shape == shape for each in arrays])
    if is_one and 0 not in strides and len({*strides}) == len(strides):
        return True
    # Of other shapes, dimensions of one element may say another order.
    is_plain = all([each.shape == shape for each in arrays]) or not any(
        [1 in each.shape for each in arrays]
    )
    return is_plain and all([capabilities.is_contiguous(each) for each in arrays])


def _order_of(arrays: Sequence[Any], capabilities: Capabilities) -> tuple[Any, tuple[int, ...]]:
    """Return the shape of an elementwise result, and its dimensions from the outermost one."""
    shape, order = elementwise_order([(x.shape, capabilities.strides(x)) for x in arrays])
    return shape, tuple(order)


def laid_in_order(
    made: Any, arrays: Sequence[Any], xp: Namespace, capabilities: Capabilities
) -> Any:
    """Return the elementwise result that was made of `arrays`, or a copy, in the order in memory of
    `elementwise_order`.
    """
    known = made.ndim > 1 and getattr(made, "strides", None) is not None
    if not known or all([capabilities.is_contiguous(each) for each in arrays]):
        return made
    return _with_order(made, _order_of(arrays, capabilities)[1], xp, capabilities)


def _with_order(made: Any, order: Sequence[int], xp: Namespace, capabilities: Capabilities) -> Any:
    """Return an array, or a copy, whose dimensions lie densely in memory in `order`."""
    if 1 not in made.shape and has_order(made.shape, capabilities.strides(made), order):
        return made
    return laid_out(made, order, xp, capabilities)


def laid_out(array: Any, order: Sequence[int], xp: Namespace, capabilities: Capabilities) -> Any:
    """Return an array whose dimensions lie densely in memory in `order`, outermost first."""
    is_turned = (*order,) != (*range(array.ndim),)
    turned = array.transpose(order) if is_turned else array
    made = capabilities.contiguous(turned)
    if made is turned and 1 not in made.shape:
        return array
    if 1 in made.shape:  # whose stride is any number, but tells the format of further results
        made = xp.reshape(xp.reshape(made, (-1,)), made.shape)
    return made.transpose(inverse(order)) if is_turned else made
