"""``torch._foreach_*``: an operator applied to each tensor of a list, with lists, numbers or a
tensor as other operands.

Each result is the operator's result for that tensor, so that gradients, dtypes and broadcasting are
the same. Functions that end in an underscore write in place and return the list.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import repeat
from typing import Any, Final, TypeAlias

import dovetail_aten as aten
from dovetail_aten import Tensor
from dovetail_aten.front_end import check_write
from dovetail_autograd import is_grad_enabled
from dovetail_kernel import dtype as DType

from .tensor_functions import result_type

Operator: TypeAlias = Callable[..., Any]

_OF_ONE = """
abs acos asin atan ceil cos cosh erf erfc exp expm1 floor frac lgamma log log10 log1p log2 neg
reciprocal round rsqrt sigmoid sign sin sinh sqrt tan tanh trunc
"""
ONE: Final = tuple(_OF_ONE.split())
"""Operators of one tensor."""

TWO: Final = {
    "add": "other",
    "clamp_max": "other",
    "clamp_min": "other",
    "div": "other",
    "maximum": "other",
    "minimum": "other",
    "mul": "other",
    "pow": "exponent",
    "sub": "other",
}
"""Operators of a tensor and a tensor or number, with PyTorch's name of the second list."""

SCALED: Final = ("add", "sub")
"""Operators whose second operand may be multiplied by ``alpha``."""

PRODUCTS: Final = ("addcdiv", "addcmul")
"""Operators that add a product or a quotient of two tensors, times a number."""

_SINGLE: Final = {"add", "sub", "mul", "div"}
"""Operators that one tensor without dimensions may stand beside, and be differentiated in."""


def _lists(first: Any, *others: Any) -> Iterator[tuple[Any, ...]]:
    """Return what belongs together in lists of tensors. Raises TypeError if one is not a list of
    tensors, and RuntimeError if the first is empty, or the lists differ in length.
    """
    for each in (first, *others):
        if not isinstance(each, list | tuple) or not all([isinstance(t, Tensor) for t in each]):
            raise TypeError(
                "_foreach functions take lists of tensors (tuple of Tensors self, ...), not "
                f"{type(each).__name__}. Give a list or a tuple of tensors."
            )
    if not first:
        raise RuntimeError("Tensor list must have at least one tensor.")
    for each in others:
        if len(each) != len(first):
            raise RuntimeError(
                f"Tensor lists must have the same number of tensors, got {len(first)} and "
                f"{len(each)}"
            )
    return zip(first, *others, strict=True)


def _operand(first: Sequence[Tensor], value: object) -> Any:
    """Return what stands beside each tensor of `first`: of a list its tensors or numbers, of all
    else the same for each. Raises TypeError or RuntimeError if `value` is neither, or a list of
    another length.
    """
    if isinstance(value, list | tuple):
        if value and isinstance(value[0], Tensor):
            return [each for _, each in _lists(first, value)]
        if len(value) != len(first):
            raise RuntimeError("Tensor list must have same number of elements as scalar list.")
        return value
    if isinstance(value, bool | int | float | complex | Tensor):
        return repeat(value, len(first))
    raise TypeError(
        "_foreach functions take a list of tensors, a list of numbers, a number or a tensor beside "
        f"a list, not {type(value).__name__}."
    )


def _returning(function: Callable[..., Sequence[object]], writes: bool) -> Callable[..., Any]:
    """Return a function that returns a tuple of the results, or the list that is written."""

    def compute(self: Any, *args: Any, **kwargs: Any) -> Any:
        if writes and not _alike(self, *args, *kwargs.values()):
            rehearsed = [_rehearsed(each) for each in (self, *args)]
            function(*rehearsed, **{name: _rehearsed(each) for name, each in kwargs.items()})
            for each in self:
                check_write(each, function.__name__)
        results = function(self, *args, **kwargs)
        return self if writes else tuple(results)

    return compute


def _alike(*given: object) -> bool:
    """Return whether what is refused of one position of the lists is refused of the first one too,
    before anything is written.
    """
    records, shapes = is_grad_enabled(), None
    for values in given:
        if not isinstance(values, list | tuple):
            continue
        if not all([isinstance(each, Tensor) for each in values]):
            if len({each.__class__ for each in values}) > 1:
                return False
            continue
        own = [each.shape for each in values]
        if own != (shapes := shapes or own) or len({each._signature for each in values}) > 1:
            return False
        if any([(records and each.requires_grad) or not each.is_contiguous() for each in values]):
            return False
    return True


def _rehearsed(value: object) -> Any:
    """Return a list of tensors on the meta device in place of a list; all else as it is."""
    if not isinstance(value, list | tuple):
        return value
    return [
        aten.empty_strided(each.shape, each.stride(), dtype=each.dtype, device="meta")
        if isinstance(each, Tensor)
        else each
        for each in value
    ]


_BOUNDS: Final = {"maximum": "clamp_min", "minimum": "clamp_max"}
"""Operators of two tensors, with those that write, and take a number."""


def _extremum(name: str, writes: bool) -> Operator:
    if writes:
        bounded: Operator = getattr(Tensor, f"{_BOUNDS[name]}_")
        return bounded
    choose = getattr(Tensor, name)

    def extremum(each: Tensor, other: object) -> Any:
        if not isinstance(other, Tensor):
            other = aten.tensor(other, dtype=result_type(each, other), device=each.device)
        return choose(each, other)

    return extremum


def _of_one(operator: Operator) -> Callable[..., list[Any]]:
    return lambda self: [operator(each) for (each,) in _lists(self)]


def _of_two(name: str, operator: Operator) -> Callable[..., list[Any]]:
    """Return a function of a list and what `_operand` takes."""
    list_name, number_name = TWO[name], "exponent" if name == "pow" else "scalar"

    def compute(self: Any, *args: Any, **kwargs: Any) -> list[Any]:
        if name == "pow" and args and isinstance(self, bool | int | float | complex):
            return [operator(self, each) for (each,) in _lists(*args)]
        alpha = kwargs.pop("alpha", None) if name in SCALED else None
        given = [kwargs.pop(n) for n in (list_name, number_name, "scalars") if n in kwargs]
        if kwargs or len(args) + len(given) != 1:
            raise TypeError(
                f"_foreach_{name}() takes one list and one other operand: {list_name}, "
                f"{number_name} or scalars."
            )
        (value,) = (*args, *given)
        tensors = [each for (each,) in _lists(self)]
        others = _operand(tensors, _scalar(name, value) if isinstance(value, Tensor) else value)
        if alpha is None:
            return [operator(each, other) for each, other in zip(tensors, others, strict=True)]
        if not (isinstance(value, Tensor) or isinstance(next(iter(value), None), Tensor)):
            raise TypeError(f"_foreach_{name}() takes alpha beside tensors alone.")
        pairs = zip(tensors, others, strict=True)
        return [operator(each, other, alpha=alpha) for each, other in pairs]

    return compute


def _scalar(name: str, value: Tensor) -> Any:
    """Return a tensor that stands for a number beside every tensor of a list."""
    if value.ndim:
        raise RuntimeError(
            f"scalar tensor expected to be 0 dim but it has {value.ndim} dimensions and "
            f"{value.numel()} elements. Give a number."
        )
    return value if name in _SINGLE else value.item()


def _of_products(operator: Operator) -> Callable[..., list[Any]]:
    def compute(
        self: Any, tensor1: object, tensor2: object, scalars: object = None, *, value: object = 1
    ) -> list[Any]:
        tensors = [each for each, *_ in _lists(self, tensor1, tensor2)]
        factors = value if scalars is None else scalars
        if isinstance(factors, Tensor):
            factors = factors.tolist() if factors.ndim else factors.item()
        each_factor = _operand(tensors, factors)
        together = zip(_lists(self, tensor1, tensor2), each_factor, strict=True)
        return [operator(*arguments, value=factor) for arguments, factor in together]

    return compute


def _lerp(operator: Operator) -> Callable[..., list[Any]]:
    def compute(
        self: Any, tensors1: object, weight: object = None, *, weights: object = None
    ) -> list[Any]:
        pairs = list(_lists(self, tensors1))
        shares = _operand(self, weight if weights is None else weights)
        return [operator(*pair, share) for pair, share in zip(pairs, shares, strict=True)]

    return compute


def _clone(self: Any, *, memory_format: object = None) -> list[Any]:
    if memory_format is None:
        return [each.clone() for (each,) in _lists(self)]
    return [each.clone(memory_format=memory_format) for (each,) in _lists(self)]


def _max(self: Any) -> list[Any]:
    return [aten.amax(each) for (each,) in _lists(self)]


def _mm(self: Any, mat2: object) -> list[Any]:
    return [aten.mm(*pair) for pair in _lists(self, mat2)]


def _norm(self: Any, ord: object = 2, dtype: DType | None = None) -> list[Any]:
    norm: Operator = aten.norm
    return [norm(each, ord, dtype=dtype) for (each,) in _lists(self)]


def _powsum(self: Any, ord: object = 2, dtype: DType | None = None) -> list[Any]:
    return [aten.sum(aten.abs(each) ** ord, dtype=dtype) for (each,) in _lists(self)]


def _copy(self: Any, src: object, non_blocking: bool = False) -> list[Any]:
    return [to.copy_(other, non_blocking) for to, other in _lists(self, src)]


def _zero(self: Any) -> list[Any]:
    return [each.zero_() for (each,) in _lists(self)]


_OTHERS: Final[dict[str, Callable[..., list[Any]]]] = {
    "clone": _clone,
    "max": _max,
    "mm": _mm,
    "norm": _norm,
    "powsum": _powsum,
    "copy_": _copy,
    "zero_": _zero,
}

_IN_PLACE_TOO: Final = (*ONE, *TWO, *PRODUCTS, "lerp")

FOREACH: Final = tuple(
    f"_foreach_{name}" for name in (*_IN_PLACE_TOO, *[f"{n}_" for n in _IN_PLACE_TOO], *_OTHERS)
)
"""The names of all functions."""


def foreach_function(name: str) -> Callable[..., Any]:
    """Return the function of a name in `FOREACH`."""
    base = name.removeprefix("_foreach_")
    plain, writes = base.removesuffix("_"), base.endswith("_")
    if base in _OTHERS:
        made = _OTHERS[base]
    else:
        operator = _extremum(plain, writes) if plain in _BOUNDS else getattr(Tensor, base)
        if plain in TWO:
            made = _of_two(plain, operator)
        elif plain in PRODUCTS:
            made = _of_products(operator)
        else:
            made = _lerp(operator) if plain == "lerp" else _of_one(operator)
    function = _returning(made, writes)
    function.__name__ = function.__qualname__ = name
    function.__module__ = "dovetail"
    function.__doc__ = f"Apply ``{plain}{'_' * writes}`` to each tensor of a list."
    return function
