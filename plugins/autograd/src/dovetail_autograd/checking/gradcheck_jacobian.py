"""What `gradcheck` compares derivatives with: differences of function values, as lists of Python
numbers, one row per input element and one column per output element.

Complex numbers count by PyTorch's convention: the gradient of a real function L of z = a + ib is
dL/da + i dL/db. A complex output is checked as two real ones, its real part (`part` 1) and its
imaginary part (`part` 1j).
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, TypeAlias, TypeVar

from dovetail_kernel import TensorBase, restoring, wrap
from dovetail_kernel.signature import GRAD

from ..engine.tasks.roots import as_tuple
from ..graph import engine_ops
from ..graph.grad_mode import enable_grad

Jacobian: TypeAlias = list[list[complex]]
Move: TypeAlias = Callable[[int], None]
Made = TypeVar("Made")


FAST_MODE = (
    "\nThe above quantities relating the numerical and analytical jacobians are computed in fast "
    "mode: call gradcheck with fast_mode=False to see both.\n"
)
"""The end of an error of fast mode."""


class GradcheckError(RuntimeError):
    """Raised if a derivative differs from finite differences."""


def differentiable_outputs(returned: object) -> tuple[TensorBase, ...]:
    """Return those of the outputs of a function that require grad. Raises ValueError if an output
    is not a tensor, or sparse.
    """
    values = as_tuple(returned)
    for value in values:
        if not isinstance(value, TensorBase):
            raise ValueError(
                f"Expected the function to return Tensors, but got {type(value).__name__}."
            )
        if hasattr(value, "_with_values"):
            raise ValueError(
                "Sparse output is not supported at gradcheck yet. Please call to_dense() on the "
                "output of the function."
            )
    return tuple([value for value in values if value.requires_grad])


def perturbable(value: TensorBase) -> bool:
    """Return whether no two elements of `value` share memory through a dimension of stride 0."""
    return not any(
        [
            stride == 0 and size > 1
            for size, stride in zip(value.array.shape, value.stride(), strict=True)
        ]
    )


def parts_of(output: TensorBase) -> tuple[complex, ...]:
    """Return the real functions that `output` stands for."""
    return (1, 1j) if output.dtype.is_complex else (1,)


def indices(value: TensorBase) -> list[tuple[int, ...]]:
    """Return the index of every element, in row-major order."""
    return list(product(*[range(size) for size in value.array.shape]))


def write(tensor: TensorBase, index: Any, number: object) -> None:
    """Write a number to an element of a tensor; where arrays cannot be written it gets another."""
    arrays = tensor._backend.arrays
    if arrays.mutable_arrays:
        tensor.array[index] = number
        return
    host = arrays.to_host(tensor.array).copy()
    host[index] = number
    tensor.array = arrays.asarray(host, tensor.array.dtype)


def write_all(tensor: TensorBase, array: object) -> None:
    """Write all elements of a tensor; where arrays cannot be written it gets another."""
    if tensor._backend.arrays.mutable_arrays:
        tensor.array[...] = array
    else:
        tensor.array = array


def elements(value: TensorBase) -> list[complex]:
    """Return the elements as Python numbers, in row-major order."""
    host = value._backend.arrays.to_host(value.array)
    return [host[index].item() for index in indices(value)]


@dataclass(frozen=True)
class Check:
    """A function whose derivatives are compared with differences of its values.

    Attributes
    ----------
    func, arguments
        The function, and what it is called with.
    inputs
        Positions of the arguments to differentiate by.
    outputs
        The outputs to differentiate, by their positions.
    eps, atol, rtol, nondet_tol, check_dtypes, fast_mode
        As for `gradcheck`.
    """

    func: Callable[..., Any]
    arguments: tuple[Any, ...]
    inputs: Sequence[int]
    outputs: Mapping[int, TensorBase]
    eps: float
    atol: float
    rtol: float
    nondet_tol: float
    check_dtypes: bool
    fast_mode: bool

    def along(
        self, value: TensorBase, unit: complex, compute: Callable[[TensorBase, Move, str], Made]
    ) -> list[Made]:
        """Return what `compute` returns for every direction in which an input is changed: `unit`
        times that of each of its elements, or in fast mode a random one.

        `compute` is called with the direction, a function that moves the input by plus or minus
        `eps` along it, and the words of error messages for it.
        """
        if self.fast_mode:
            original, random_one = value.array.copy(), project(value, seed=1)

            def move(sign: int) -> None:
                write_all(value, original + sign * self.eps * random_one.array)

            return [compute(random_one, move, f"along a random direction by {self.eps}")]
        made = []
        for index, element in zip(indices(value), elements(value), strict=True):
            direction, step = engine_ops.filled_like(value, 0), unit * self.eps
            write(direction, index, unit)

            def move_element(
                sign: int, index: Any = index, element: complex = element, step: complex = step
            ) -> None:
                write(value, index, element + sign * step)

            made.append(compute(direction, move_element, f"on index {index} by {step}"))
        return made

    def quotients(self, value: TensorBase, move: Move, where: str) -> list[list[complex]]:
        """Return, per output, the difference quotients for a move of an input, which is changed in
        place and put back.
        """
        original = value.array.copy()
        try:
            move(1)
            above = self._seen()
            move(-1)
            below = self._seen()
        finally:
            write_all(value, original)
        return [
            [each / (2 * self.eps) for each in _changes(high, low, output, where)]
            for output, high, low in zip(self.outputs.values(), above, below, strict=True)
        ]

    @restoring()
    def _seen(self) -> list[Seen]:
        with enable_grad():
            outputs = as_tuple(self.func(*self.arguments))
        return [Seen(outputs[position]) for position in self.outputs]

    def units(self, value: TensorBase) -> tuple[complex, ...]:
        """Return the factors of directions of an input: real and imaginary ones of complex
        inputs.
        """
        return (1.0, 1j) if value.dtype.is_complex and not self.fast_mode else (1.0,)

    def are_close(self, found: Jacobian, expected: Jacobian) -> bool:
        """Return whether derivatives equal differences, within the tolerances."""
        return all(
            [
                abs(left - right) <= self.atol + self.rtol * abs(right)
                for row, other in zip(found, expected, strict=True)
                for left, right in zip(row, other, strict=True)
            ]
        )


class Seen:
    """The elements, shape and dtype that an output had: it may share memory with an input that is
    changed next.
    """

    def __init__(self, output: TensorBase) -> None:
        self.elements = elements(output)
        self.shape, self.dtype = tuple(output.array.shape), output.dtype


def _changes(above: Seen, below: Seen, output: TensorBase, where: str) -> list[complex]:
    """Return the differences between the elements of the outputs for two inputs.

    Parameters
    ----------
    output
        The output that is checked.
    where
        How the input was changed between them, for the error.

    Raises
    ------
    AssertionError
        If the outputs are not alike in shape and dtype.
    RuntimeError
        If they are not like `output`.
    """
    require_alike(above, below, where, AssertionError)
    require_alike(output, above, where)
    pairs = zip(above.elements, below.elements, strict=True)
    return [high - low for high, low in pairs]


def require_alike(
    one: Seen | TensorBase,
    other: Seen | TensorBase,
    where: str,
    error: type[Exception] = RuntimeError,
) -> None:
    """Raise `error` if two outputs of a function differ in shape or dtype."""
    for name in ("shape", "dtype"):
        pair = [getattr(each, name) for each in (one, other)]
        if pair[0] != pair[1]:
            first, second = map(tuple, pair) if name == "shape" else pair
            raise error(
                f"Expected `func` to return outputs with the same {name} when inputs are perturbed "
                f"{where}, but got: {name}s {first} and {second}. Check a function whose outputs "
                "are always alike."
            )


def project(
    output: TensorBase, seed: int, requires_grad: bool = False, noncontiguous: bool = False
) -> TensorBase:
    """Return reproducible random numbers of the shape and dtype of `output`; `noncontiguous` ones
    are every second element of their memory.
    """
    generator = random.Random(seed)
    result = engine_ops.filled_like(output, 0)
    for index in indices(result):
        number: complex = generator.uniform(-1, 1)
        if output.dtype.is_complex:
            number += 1j * generator.uniform(-1, 1)
        write(result, index, number)
    if noncontiguous and output.ndim:
        result.array = result.array.repeat(2, axis=-1)[..., ::2]
    if requires_grad:
        result._signature |= GRAD
    return result


def show(jacobian: Jacobian, value: TensorBase) -> str:
    """Return `jacobian` as text: a tensor of the dtype of `value`."""
    arrays = value._backend.arrays
    return repr(wrap(arrays.asarray(jacobian, value.array.dtype), value._backend))
