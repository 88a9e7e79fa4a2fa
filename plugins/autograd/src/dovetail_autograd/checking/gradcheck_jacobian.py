"""Jacobians for `gradcheck`, as lists of Python numbers: one row per input element, one column per
output element.

Complex numbers count by PyTorch's convention: the gradient of a real function L of z = a + ib is
dL/da + i dL/db. A complex output is checked as two real ones, its real part (`part` 1) and its
imaginary part (`part` 1j).
"""

from __future__ import annotations

import random
from collections.abc import Callable
from itertools import product
from typing import Any, TypeAlias

from dovetail_kernel import TensorBase, restoring, wrap
from dovetail_kernel.signature import GRAD

from ..engine.interface.backward import grad
from ..engine.tasks.roots import as_tuple
from ..graph import engine_ops
from ..graph.grad_mode import enable_grad

Jacobian: TypeAlias = list[list[complex]]
Outputs: TypeAlias = Callable[..., tuple[TensorBase, ...]]


class GradcheckError(RuntimeError):
    """Raised if a derivative differs from finite differences."""


def differentiable_outputs(returned: object) -> tuple[TensorBase, ...]:
    """Return those of the outputs of a function that require grad.

    Raises
    ------
    ValueError
        If an output is not a tensor.
    """
    values = as_tuple(returned)
    for value in values:
        if not isinstance(value, TensorBase):
            raise ValueError(
                f"Expected the function to return Tensors, but got {type(value).__name__}."
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


def _steps(value: TensorBase, eps: float) -> list[complex]:
    return [eps, eps * 1j] if value.dtype.is_complex else [eps]


def numerical_jacobian(
    outputs: Outputs,
    arguments: tuple[Any, ...],
    input_nr: int,
    output_nr: int,
    output: TensorBase,
    part: complex,
    eps: float,
) -> Jacobian:
    """Return the Jacobian of `output` by differences; elements of the input are changed in place
    and put back.
    """
    value = arguments[input_nr]
    rows: Jacobian = []
    for index, original in zip(indices(value), elements(value), strict=True):
        row: list[complex] | None = None
        for step in _steps(value, eps):
            try:
                write(value, index, original + step)
                above = _seen_of(outputs, arguments, output_nr)
                write(value, index, original - step)
                below = _seen_of(outputs, arguments, output_nr)
            finally:
                write(value, index, original)
            unit = step / eps
            found = changes(above, below, output, f"on index {index} by {step}")
            differences = [unit * _part(each, part) / (2 * eps) for each in found]
            row = (
                differences
                if row is None
                else [a + b for a, b in zip(row, differences, strict=True)]
            )
        assert row is not None
        rows.append(row)
    return rows


@restoring()
def _seen_of(outputs: Outputs, arguments: tuple[object, ...], output_nr: int) -> Seen:
    with enable_grad():
        output = outputs(*arguments)[output_nr]
    return Seen(output)


def _part(number: complex, part: complex) -> float:
    return complex(number).imag if part == 1j else complex(number).real


class Seen:
    """The elements, shape and dtype that an output had: it may share memory with an input that is
    changed next.
    """

    def __init__(self, output: TensorBase) -> None:
        self.elements = elements(output)
        self.shape, self.dtype = tuple(output.array.shape), output.dtype


def changes(above: Seen, below: Seen, output: TensorBase, where: str) -> list[complex]:
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


def analytical_column(
    output: TensorBase, value: TensorBase, index: int, part: complex, check_dtype: bool
) -> list[complex]:
    """Return the gradient of element `index` of `output` with respect to `value`."""
    gradient = engine_ops.filled_like(output, 0)
    write(gradient, indices(output)[index], part)
    return _gradient(output, value, gradient, check_dtype)


def _gradient(
    output: TensorBase, value: TensorBase, gradient: TensorBase, check_dtype: bool
) -> list[complex]:
    (found,) = grad(output, value, gradient, retain_graph=True, allow_unused=True)
    if found is None:
        return [0.0] * value.numel()
    if check_dtype and found.dtype != value.dtype:
        raise GradcheckError(
            f"Expected gradient to have dtype {value.dtype}, but got {found.dtype}."
        )
    if tuple(found.array.shape) != tuple(value.array.shape):
        raise GradcheckError("Analytical gradient has incorrect size")
    return elements(found)


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


def directional(
    outputs: Outputs,
    arguments: tuple[Any, ...],
    input_nr: int,
    output_nr: int,
    output: TensorBase,
    part: complex,
    eps: float,
    check_dtype: bool,
) -> tuple[float, float, float]:
    """Return a random projection of the Jacobian: by differences, analytically, and analytically
    once more.
    """
    value = arguments[input_nr]
    direction = project(value, seed=1)
    weights = [each.real for each in map(complex, elements(project(output, seed=2)))]
    original = value.array.copy()
    try:
        write_all(value, original + eps * direction.array)
        above = _seen_of(outputs, arguments, output_nr)
        write_all(value, original - eps * direction.array)
        below = _seen_of(outputs, arguments, output_nr)
    finally:
        write_all(value, original)
    where = f"along a random direction by {eps}"
    pairs = zip(weights, changes(above, below, output, where), strict=True)
    numerical = sum([weight * _part(each, part) for weight, each in pairs]) / (2 * eps)
    gradient = engine_ops.filled_like(output, 0)
    for index, weight in zip(indices(output), weights, strict=True):
        write(gradient, index, weight * part)
    steps = [complex(each) for each in elements(direction)]

    def analytical() -> float:
        found = [complex(each) for each in _gradient(output, value, gradient, check_dtype)]
        return sum([g.real * s.real + g.imag * s.imag for g, s in zip(found, steps, strict=True)])

    return numerical, analytical(), analytical()


def show(jacobian: Jacobian, value: TensorBase) -> str:
    """Return `jacobian` as text: a tensor of the dtype of `value`."""
    arrays = value._backend.arrays
    return repr(wrap(arrays.asarray(jacobian, value.array.dtype), value._backend))
