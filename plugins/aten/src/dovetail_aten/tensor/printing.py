"""The text of a tensor, as PyTorch prints it: padded numbers, scientific notation if needed, long
tensors abridged.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

from dovetail_kernel import (
    DatalessArray,
    TensorBase,
    complex64,
    dispatch_state,
    get_default_dtype,
    int64,
)
from dovetail_kernel import bool as bool_
from dovetail_kernel.sockets import AUTOGRAD

from ..calling.signatures import shown_as
from ..typing import Tensor


class PrintOptions(NamedTuple):
    """Options for the text of tensors.

    Attributes
    ----------
    precision
        Digits after the decimal point.
    threshold
        A tensor with more elements is abridged.
    edgeitems
        Items shown at each end of an abridged dimension.
    linewidth
        Characters per line.
    sci_mode
        True and False force scientific notation on or off; None lets the numbers decide.
    """

    precision: int = 4
    threshold: float = 1000
    edgeitems: int = 3
    linewidth: int = 80
    sci_mode: Any = None


_PROFILES = {
    "default": PrintOptions(),
    "short": PrintOptions(precision=2, edgeitems=2),
    "full": PrintOptions(threshold=math.inf),
}
_options = PrintOptions()


def set_printoptions(
    precision: int | None = None,
    threshold: float | None = None,
    edgeitems: int | None = None,
    linewidth: int | None = None,
    profile: str | None = None,
    sci_mode: object = None,
) -> None:
    """Set print options of tensors for the whole process; omitted options stay unchanged.

    Parameters
    ----------
    precision
        Digits after the decimal point; initially 4.
    threshold
        Number of elements above which a tensor is abbreviated; initially 1000.
    edgeitems
        Items shown at each end of an abbreviated dimension; initially 3.
    linewidth
        Characters per line; initially 80.
    profile
        "default", "short" or "full": a set of values that the other parameters then modify.
    sci_mode
        True and False force scientific notation on or off; None, the default, chooses it
        automatically.

    Raises
    ------
    ValueError
        For an unknown profile.
    """
    global _options
    options = _options
    if profile is not None:
        if profile not in _PROFILES:
            raise ValueError(f"unknown profile {profile!r}; choose from {', '.join(_PROFILES)}")
        options = _PROFILES[profile]
    given = {
        "precision": precision,
        "threshold": threshold,
        "edgeitems": edgeitems,
        "linewidth": linewidth,
    }
    chosen: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    _options = options._replace(sci_mode=sci_mode, **chosen)


def get_printoptions() -> dict[str, Any]:
    """Return the current options, by name."""
    return _options._asdict()


@shown_as(set_printoptions)
@contextmanager
def printoptions(**options: Any) -> Iterator[None]:
    """Set print options, as `set_printoptions` does, for the duration of a ``with`` block."""
    global _options
    before = _options
    try:
        set_printoptions(**options)
        yield
    finally:
        _options = before


class _Numbers:
    """The common form of the real numbers of one tensor: notation and width.

    Parameters
    ----------
    values
        The numbers that will be shown.
    floating
        False for integers and bools, which are shown as they are.
    """

    def __init__(self, values: Sequence[Any], *, floating: bool, options: PrintOptions) -> None:
        self.floating = floating
        self.precision = options.precision
        self.whole = True
        self.scientific = False
        self.width = 1
        if not floating:
            self.width = max((len(str(value)) for value in values), default=1)
            return
        numbers = [value for value in values if math.isfinite(value) and value != 0]
        if not numbers:
            return
        sizes = [abs(number) for number in numbers]
        smallest, largest = min(sizes), max(sizes)
        self.whole = all([number == math.ceil(number) for number in numbers])
        self.scientific = (
            largest / smallest > 1000 or largest > 1e8 or (not self.whole and smallest < 1e-4)
        )
        if options.sci_mode is not None:
            self.scientific = options.sci_mode
        self.width = max(len(self._plain(number)) for number in numbers)

    def _plain(self, value: Any) -> str:
        if not self.floating:
            return str(value)
        if self.scientific:
            return f"{value:.{self.precision}e}"
        if not self.whole:
            return f"{value:.{self.precision}f}"
        return f"{value:.0f}." if math.isfinite(value) else f"{value:.0f}"

    def __call__(self, value: object) -> str:
        return self._plain(value).rjust(self.width)


class _ComplexNumbers:
    """The common form of complex numbers: one for the real parts, one for the imaginary parts."""

    def __init__(self, values: Sequence[complex], *, options: PrintOptions) -> None:
        self.real = _Numbers([value.real for value in values], floating=True, options=options)
        self.imag = _Numbers([value.imag for value in values], floating=True, options=options)
        self.width = self.real.width + self.imag.width + 1

    def __call__(self, value: complex) -> str:
        imag = f"{self.imag(value.imag)}j".lstrip()
        return self.real(value.real) + (imag if imag[0] in "+-" else f"+{imag}")


def tensor_text(tensor: Tensor, *, tensor_contents: str | None = None) -> str:
    """Return ``repr(tensor)``.

    Parameters
    ----------
    tensor
        Any tensor.
    tensor_contents
        What to print in place of the numbers.
    """
    if dispatch_state().transformed:
        text = AUTOGRAD.plug.text_inside(tensor)
        if text is not None:
            return text
    if not tensor._backend.is_device:
        return repr(tensor.array)
    options = _options
    plain = not type(tensor)._class_bits
    prefix = "tensor(" if plain else f"{type(tensor).__name__}("
    indent = len(prefix)
    suffixes = []
    dtype, device = tensor.dtype, tensor.device
    default = get_default_dtype()
    usual = dtype in (default, int64, bool_) or dtype is (
        complex64 if default.itemsize < 8 else default.to_complex()
    )
    if device.type != "cpu":
        suffixes.append(f"device='{device}'")
    if device.type == "meta" or (
        tensor_contents is None and isinstance(tensor.array, DatalessArray)
    ):
        suffixes.append(f"size={tuple(tensor.shape)}")
        contents = "..." if tensor_contents is None else tensor_contents
        if dtype is not default:
            suffixes.append(f"dtype={dtype!r}")
    elif tensor.numel() == 0:
        if tensor.dim() != 1:
            suffixes.append(f"size={tuple(tensor.shape)}")
        if dtype is not default:
            suffixes.append(f"dtype={dtype!r}")
        contents = "[]" if tensor_contents is None else tensor_contents
    else:
        if not usual:
            suffixes.append(f"dtype={dtype!r}")
        contents = contents_text(tensor, indent) if tensor_contents is None else tensor_contents
    suffixes += _graph_suffix(tensor)
    text = with_suffixes(prefix + contents, suffixes, indent, options.linewidth)
    return f"Parameter({text})" if not plain and getattr(tensor, "_is_param", False) else text


def _graph_suffix(tensor: TensorBase) -> list[str]:
    try:
        node = tensor.grad_fn
    except RuntimeError:  # of a view whose base was written where its graph could not follow
        return ["grad_fn=<Invalid>"]
    if node is not None:
        return [f"grad_fn=<{node.name()}>"]
    return ["requires_grad=True"] if tensor.requires_grad else []


def with_suffixes(text: str, suffixes: Sequence[str], indent: int, linewidth: int) -> str:
    """Return the text with its suffixes, each on the last line if it fits, and ``)``."""
    used = len(text) - text.rfind("\n") + 1
    for suffix in suffixes:
        if used + len(suffix) + 2 > linewidth:
            text += f",\n{' ' * indent}{suffix}"
            used = indent + len(suffix)
        else:
            text += f", {suffix}"
            used += len(suffix) + 2
    return text + ")"


def contents_text(tensor: TensorBase, indent: int) -> str:
    """Return the numbers in nested brackets, lines after the first by `indent` characters in."""
    options = _options
    array = tensor._backend.arrays.to_host(tensor.array)
    summarize = tensor.numel() > options.threshold
    shape = tuple(tensor.shape)
    if summarize:
        array = _edges(array, options.edgeitems)
    dtype = tensor.dtype
    if dtype.is_floating_point:
        array = array.astype("float64")
    values = array.reshape(-1).tolist()
    numbers: _Numbers | _ComplexNumbers
    if dtype.is_complex:
        numbers = _ComplexNumbers(values, options=options)
    else:
        numbers = _Numbers(values, floating=dtype.is_floating_point, options=options)
    return _nested(array.tolist(), shape, indent, numbers, options, summarize)


def _edges(array: Any, edgeitems: int) -> Any:
    """Return `array` with only the items that an abridged text shows."""
    for axis, size in enumerate(array.shape):
        if size > 2 * edgeitems:
            array = array.take([*range(edgeitems), *range(size - edgeitems, size)], axis=axis)
    return array


def _nested(
    items: Any,
    shape: tuple[int, ...],
    indent: int,
    numbers: _Numbers | _ComplexNumbers,
    options: PrintOptions,
    summarize: bool,
) -> str:
    if not shape:
        return numbers(items)
    edge = options.edgeitems
    abridged = summarize and shape[0] > 2 * edge
    if len(shape) == 1:
        texts = [numbers(item) for item in items]
        if abridged:
            texts = ["..."] if not edge else [*texts[:edge], " ...", *texts[edge:]]
        per_line = max(1, (options.linewidth - indent) // (numbers.width + 2))
        lines = [
            ", ".join(texts[start : start + per_line]) for start in range(0, len(texts), per_line)
        ]
        return "[" + (",\n" + " " * (indent + 1)).join(lines) + "]"
    texts = [_nested(item, shape[1:], indent + 1, numbers, options, summarize) for item in items]
    if abridged:
        texts[edge:edge] = ["..."]
    return "[" + ("," + "\n" * (len(shape) - 1) + " " * (indent + 1)).join(texts) + "]"
