"""Kernel and dispatcher alone: a third-party operator on plain TensorBase, over arrays that nobody
has heard of.
"""

import sys
from importlib.metadata import distributions

from dovetail_dispatcher import Library, ops
from dovetail_kernel import ArrayBackend, TensorBase, backend, float64, wrap


class Row:
    """The smallest array there is: numbers in a row."""

    dtype = "number"

    def __init__(self, numbers: list[float]) -> None:
        self.numbers = numbers
        self.shape = (len(numbers),)


class Rows(ArrayBackend):
    """What the core has to know about them."""

    array_types = (Row,)
    mutable_arrays = False
    dtype_bits = {"number": float64.bit}  # noqa: RUF012 - an attribute of the base class, filled once
    native_dtypes = {float64: "number"}  # noqa: RUF012


def scale(x: TensorBase, factor: float) -> TensorBase:
    """Return every number of `x` times `factor`."""
    return wrap(Row([number * factor for number in x.array.numbers]), rows)


rows = backend("rows", create=True)
rows.attach(Rows())

library = Library("smoke", "DEF")
library.define("scale(Tensor x, float factor=2.0) -> Tensor")
library.impl("scale", scale, rows.key_name)

tensor = wrap(Row([1.0, 2.0, 3.0]), rows)
result = ops.smoke.scale(tensor, 10.0)
assert type(result) is TensorBase
assert result.array.numbers == [10.0, 20.0, 30.0]
assert ops.smoke.scale(tensor).array.numbers == [2.0, 4.0, 6.0]
assert "numpy" not in sys.modules

installed = sorted(
    name for d in distributions() if (name := d.metadata["Name"]) not in ("pip", "setuptools")
)
assert installed == ["dovetail-dispatcher", "dovetail-kernel", "pluggy"], installed
print(f"smoke::scale on {tensor!r} gives {result.array.numbers}; installed: {', '.join(installed)}")
