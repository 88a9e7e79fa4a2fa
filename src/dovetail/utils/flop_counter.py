"""`FlopCounterMode`: the number of floating-point operations of a program, by module and operator,
as in ``torch.utils.flop_counter``.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from math import prod
from typing import Any, Final, Self

from dovetail_aten import Tensor
from dovetail_dispatcher import OpOverloadPacket, TorchDispatchMode, ops

from ._pytree import tree_map
from .module_tracker import ModuleTracker

__all__ = ["FlopCounterMode", "register_flop_formula"]

Shape = Sequence[int]
Formula = Callable[..., int]

_UNITS: Final = ("", "K", "M", "B", "T")
_ROOT: Final = "Global"

flop_registry: dict[Any, Formula] = {}
"""Formulas by operator."""


def shape_wrapper(formula: Formula) -> Formula:
    """Return a formula of tensors, made of one of their shapes."""

    @wraps(formula)
    def of_tensors(*args: Any, out_val: object = None, **kwargs: Any) -> int:
        args, kwargs, shape = tree_map(_shape_of, (args, kwargs, out_val))
        return formula(*args, out_shape=shape, **kwargs)

    return of_tensors


def _shape_of(value: object) -> Any:
    return value.shape if isinstance(value, Tensor) else value


def register_flop_formula(targets: object, get_raw: bool = False) -> Callable[[Formula], Formula]:
    """Return a decorator that registers the operation count of an operator.

    Parameters
    ----------
    targets
        An operator, ``dovetail.ops.aten.mm``, or a list of several.
    get_raw
        True: the formula gets the arguments of the call, and the result as `out_val`. Default:
        False: it gets shapes, and the shape of the result as `out_shape`.

    Raises
    ------
    ValueError
        If a target is not an operator.
    """
    each_target = targets if isinstance(targets, list | tuple) else [targets]

    def register(formula: Formula) -> Formula:
        for target in each_target:
            if not isinstance(target, OpOverloadPacket):
                raise ValueError(
                    "register_flop_formula(targets): expected each target to be OpOverloadPacket "
                    f"(i.e. dovetail.ops.mylib.foo), got {target!r:.60} which is of type "
                    f"{type(target)}"
                )
            flop_registry[target] = formula if get_raw else shape_wrapper(formula)
        return formula

    return register


def mm_flop(
    a_shape: Shape, b_shape: Shape, *args: Any, out_shape: object = None, **kwargs: Any
) -> int:
    """Return the operations of a product of matrices: a product and a sum for each term."""
    return 2 * prod(a_shape) * b_shape[-1]


def addmm_flop(
    self_shape: Shape, a_shape: Shape, b_shape: Shape, out_shape: object = None, **kwargs: Any
) -> int:
    """Return the operations of the product; adding to it is not counted."""
    return mm_flop(a_shape, b_shape)


def bmm_flop(a_shape: Shape, b_shape: Shape, out_shape: object = None, **kwargs: Any) -> int:
    """Return the operations of the products of matrices of a batch."""
    return 2 * prod(a_shape) * b_shape[-1]


def baddbmm_flop(
    self_shape: Shape, a_shape: Shape, b_shape: Shape, out_shape: object = None, **kwargs: Any
) -> int:
    """Return the operations of the products; adding to them is not counted."""
    return bmm_flop(a_shape, b_shape)


def conv_flop_count(
    x_shape: Shape, w_shape: Shape, out_shape: Shape, transposed: bool = False
) -> int:
    """Return the operations of a convolution: each weight is used once at each place of the result,
    or of the input where it is transposed.
    """
    places = x_shape if transposed else out_shape
    return 2 * x_shape[0] * prod(places[2:]) * prod(w_shape)


def conv_flop(
    x_shape: Shape,
    w_shape: Shape,
    _bias: object,
    _stride: object,
    _padding: object,
    _dilation: object,
    transposed: bool,
    *args: Any,
    out_shape: Any = None,
    **kwargs: Any,
) -> int:
    """Return the operations of a convolution; adding the bias is not counted."""
    return conv_flop_count(x_shape, w_shape, out_shape, transposed)


def conv_backward_flop(
    grad_out_shape: Shape,
    x_shape: Shape,
    w_shape: Shape,
    _bias: object,
    _stride: object,
    _padding: object,
    _dilation: object,
    transposed: bool,
    _output_padding: object,
    _groups: int,
    output_mask: Sequence[bool],
    out_shape: object = None,
) -> int:
    """Return the operations of the gradients that are asked for: that of the input, and that of the
    weight, take as many as the convolution, in groups as well.
    """
    once = conv_flop_count(x_shape, w_shape, grad_out_shape, transposed)
    return once * sum(map(bool, output_mask[:2]))


def sdpa_flop(
    query_shape: Shape,
    key_shape: Shape,
    value_shape: Shape,
    *args: Any,
    out_shape: object = None,
    **kwargs: Any,
) -> int:
    """Return the operations of both products of attention, also with the keys that a mask leaves
    out.
    """
    return 2 * prod(query_shape[:-1]) * key_shape[-2] * (query_shape[-1] + value_shape[-1])


_FORMULAS: Final[dict[str, Formula]] = {
    "mm": mm_flop,
    "addmm": addmm_flop,
    "bmm": bmm_flop,
    "baddbmm": baddbmm_flop,
    "_scaled_dot_product_flash_attention_for_cpu": sdpa_flop,
    "convolution": conv_flop,
    "convolution_backward": conv_backward_flop,
}
for _name, _formula in _FORMULAS.items():
    if hasattr(ops.aten, _name):  # or a selective build has left it out
        register_flop_formula(getattr(ops.aten, _name))(_formula)


class FlopCounterMode:
    """Counts the floating-point operations inside its block, including backward.

    Matrix products, convolutions and operators composed of them have formulas; other operators
    count as 0.

    Parameters
    ----------
    mods
        Ignored, as in PyTorch: modules are found when they are called.
    depth
        Depth of the modules shown in the table; None: all. Default: 2.
    display
        Whether the table is printed at the end of the block. Default: True.
    custom_mapping
        Formulas by operator, which take precedence over registered ones. A formula is called with
        shapes, or with the arguments themselves if it has the attribute ``_get_raw``.
    """

    def __init__(
        self,
        mods: object = None,
        depth: int | None = 2,
        display: bool = True,
        custom_mapping: Mapping[object, Formula] | None = None,
    ) -> None:
        self.flop_counts: dict[str, dict[Any, int]] = defaultdict(lambda: defaultdict(int))
        self.depth = depth
        self.display = display
        self.mod_tracker = ModuleTracker()
        self._mode: _Counting | None = None
        own = {
            target: formula if getattr(formula, "_get_raw", False) else shape_wrapper(formula)
            for target, formula in (custom_mapping or {}).items()
        }
        self.flop_registry = {**flop_registry, **own}

    def get_total_flops(self) -> int:
        """Return the operations of all calls."""
        return sum(self.flop_counts[_ROOT].values())

    def get_flop_counts(self) -> dict[str, dict[Any, int]]:
        """Return the operations by module and operator; ``"Global"`` has all."""
        return {name: dict(counts) for name, counts in self.flop_counts.items()}

    def get_table(self, depth: int | None = None) -> str:
        """Return a table of modules and operators with their operations."""
        return _table(self.get_flop_counts(), self.depth if depth is None else depth)

    def __enter__(self) -> Self:
        self.flop_counts.clear()
        mode = _Counting(self)
        try:
            self.mod_tracker.__enter__()
            mode.__enter__()
        except BaseException:
            self.mod_tracker.__exit__()
            raise
        self._mode = mode
        return self

    def __exit__(self, *error: Any) -> None:
        assert self._mode is not None
        mode, self._mode = self._mode, None
        try:
            mode.__exit__(*error)
        finally:
            self.mod_tracker.__exit__()
        if self.display:
            print(self.get_table(self.depth))

    def _count_flops(
        self, packet: object, out: object, args: Sequence[object], kwargs: Mapping[str, object]
    ) -> None:
        formula = self.flop_registry.get(packet)
        if formula is not None:
            count = formula(*args, **kwargs, out_val=out)
            for name in self.mod_tracker.parents:
                self.flop_counts[name][packet] += count


class _Counting(TorchDispatchMode):
    """The mode that sees the calls."""

    def __init__(self, counter: FlopCounterMode) -> None:
        super().__init__()
        self._counter = counter

    def __torch_dispatch__(
        self,
        func: Any,
        types: Sequence[type],
        args: Sequence[Any] = (),
        kwargs: Mapping[str, object] | None = None,
    ) -> Any:
        """Call `func`, and count."""
        given = kwargs or {}
        out = func(*args, **given)
        self._counter._count_flops(func.overloadpacket, out, args, given)
        return out


def get_suffix_str(number: int) -> str:
    """Return the unit in which a number is written with one to four digits: "", "K", "M", …"""
    return _UNITS[max(0, min(len(_UNITS) - 1, (len(str(number)) - 2) // 3))]


def convert_num_with_suffix(number: int, suffix: str) -> str:
    """Return a number in a unit, with three decimals."""
    return f"{number / 1000 ** _UNITS.index(suffix):.3f}{suffix}"


def convert_to_percent_str(num: int, denom: int) -> str:
    """Return a share in percent."""
    return f"{num / denom:.2%}" if denom else "0%"


def _table(counts: Mapping[str, Mapping[object, int]], depth: int | None) -> str:
    total = sum(counts.get(_ROOT, {}).values())
    suffix = get_suffix_str(total)

    def row(name: str, count: int) -> tuple[str, str, str]:
        written = convert_num_with_suffix(count, suffix) if suffix else str(count)
        return name, written, convert_to_percent_str(count, total)

    rows = []
    names = sorted(name for name in counts if name != _ROOT)
    is_within = any([sum(counts[name].values()) >= total for name in names])
    for name in names if is_within else [_ROOT, *names]:
        if name in counts and (depth is None or name.count(".") < depth):
            rows.append(row(name, sum(counts[name].values())))
            rows += [row(f"- {packet}", count) for packet, count in counts[name].items()]
    header = ("Module", "FLOP", "% Total")
    widths = [
        max(len(title) + 2, *[len(each[at]) for each in rows], 0) if rows else len(title) + 2
        for at, title in enumerate(header)
    ]
    lines = [header, tuple("-" * width for width in widths), *rows]
    return "\n".join(
        f"{name:<{widths[0]}}  {count:>{widths[1]}}  {share:>{widths[2]}}"
        for name, count, share in lines
    )
