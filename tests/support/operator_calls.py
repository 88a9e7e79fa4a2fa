"""Random calls of the operators of the base library, made from their schemas: for any library with
PyTorch's names.

A call is written down as specifications, of which every library makes its own arguments. Shapes
have zero and more dimensions, sizes of zero, and broadcast; dtypes agree or not; layouts are
contiguous, transposed, strided, expanded.
"""

from __future__ import annotations

import math
import random
from dataclasses import dataclass
from typing import Any

DTYPES = (
    ["float32"] * 6
    + ["float64"] * 3
    + [
        "float16",
        "int64",
        "int64",
        "int32",
        "uint8",
        "int8",
        "bool",
        "bool",
        "complex64",
        "complex128",
    ]
)
SHAPES = [
    (),
    (),
    (1,),
    (3,),
    (3,),
    (2, 3),
    (2, 3),
    (3, 3),
    (1, 3),
    (2, 1),
    (0,),
    (0, 3),
    (2, 0),
    (2, 1, 3),
    (2, 3, 4),
]
NUMBERS = [
    1.0,
    -0.5,
    2.0,
    0.25,
    -1.0,
    0.5,
    1.5,
    0.0,
    -2.0,
    0.75,
    1.0,
    3.0,
    -0.25,
    1.25,
    -1.5,
    2.5,
    1.75,
]
SPECIAL = [math.nan, math.inf, -math.inf]
SCALARS = [2, 0.5, -1, 0, 1, 3, 2.0, -2.5, 1.5] * 3 + [True, False, 1 + 1j]
LAYOUTS = ["plain"] * 5 + ["transposed", "strided", "offset", "expanded"]


@dataclass(frozen=True)
class TensorSpec:
    """A tensor: what every library makes for itself."""

    shape: tuple[int, ...]
    dtype: str
    layout: str
    values: tuple[Any, ...]
    requires_grad: bool

    def make(self, lib: Any) -> Any:
        """Return the tensor of a library."""
        x = lib.tensor(list(self.values), dtype=getattr(lib, self.dtype))
        if self.layout == "transposed":
            x = x.reshape(self.shape[::-1]).permute(tuple(range(len(self.shape)))[::-1])
        elif self.layout == "expanded" and self.shape and self.shape[0]:
            x = x[: math.prod(self.shape[1:])].reshape((1, *self.shape[1:])).expand(*self.shape)
        else:
            x = x.reshape(self.shape)
            if self.layout == "strided" and self.shape:
                x = lib.stack([x, x], -1).reshape(*self.shape[:-1], 2 * self.shape[-1])[..., ::2]
            elif self.layout == "offset" and self.shape:
                x = lib.cat([x, x], 0)[self.shape[0] :]
        return x.detach().requires_grad_(self.requires_grad)


@dataclass(frozen=True)
class DTypeSpec:
    """A dtype, by name."""

    name: str

    def make(self, lib: Any) -> Any:
        """Return the dtype of a library."""
        return getattr(lib, self.name)


def made(value: Any, lib: Any) -> Any:
    """Return what a specification, or a list or tuple of them, stands for in a library."""
    if isinstance(value, TensorSpec | DTypeSpec):
        return value.make(lib)
    if isinstance(value, list | tuple):
        return type(value)([made(each, lib) for each in value])
    return value


class Caller:
    """Makes the arguments of one call from a schema.

    Parameters
    ----------
    name
        Of the operator, with its overload.
    r
        Random numbers.
    """

    def __init__(self, name: str, r: random.Random) -> None:
        self.name, self.base = name, name.partition(".")[0]
        self.r = r
        self.shape: tuple[int, ...] = r.choice(SHAPES)
        self.dtype: str = r.choice(DTYPES)
        self.has_first = False

    def call(self, schema: Any) -> tuple[list[Any], dict[str, Any]]:
        """Return positional and keyword arguments."""
        args: list[Any] = []
        kwargs: dict[str, Any] = {}
        leaves_out = False
        for argument in schema.arguments:
            if argument.name in ("device", "layout", "pin_memory", "generator", "memory_format"):
                leaves_out = True
                continue
            if argument.has_default_value() and (
                self.r.random() < 0.4 or (leaves_out and not argument.kwarg_only)
            ):
                leaves_out = True
                continue
            if argument.kwarg_only:
                kwargs[argument.name] = self.value(argument)
            elif not leaves_out:
                args.append(self.value(argument))
        return args, kwargs

    def values(self, count: int, dtype: str) -> tuple[Any, ...]:
        r = self.r
        if dtype == "bool":
            return tuple([r.random() < 0.5 for _ in range(count)])
        if dtype.startswith("complex"):
            return tuple([complex(r.choice(NUMBERS), r.choice(NUMBERS)) for _ in range(count)])
        if "int" in dtype:
            return tuple([r.randrange(0 if dtype == "uint8" else -3, 5) for _ in range(count)])
        found = [r.choice(NUMBERS) for _ in range(count)]
        if found and r.random() < 0.1:
            found[r.randrange(count)] = r.choice(SPECIAL)
        return tuple(found)

    def tensor(
        self, shape: tuple[int, ...], dtype: str, values: tuple[Any, ...] | None = None
    ) -> TensorSpec:
        """Return a tensor of a shape and dtype, in some layout."""
        is_float = "float" in dtype or "complex" in dtype
        values = self.values(math.prod(shape), dtype) if values is None else values
        layout = self.r.choice(LAYOUTS) if shape else "plain"
        return TensorSpec(tuple(shape), dtype, layout, values, is_float and self.r.random() < 0.5)

    def broadcast(self) -> tuple[int, ...]:
        """Return the shape of another operand: the same, one that broadcasts, or any."""
        r, chance = self.r, self.r.random()
        if chance < 0.55:
            return self.shape
        if chance < 0.9:
            shape = tuple([1 if r.random() < 0.4 else size for size in self.shape])
            return shape[r.randrange(len(shape) + 1) :] if r.random() < 0.5 else shape
        return (2, *self.shape) if chance < 0.95 else r.choice(SHAPES)

    def dim(self) -> int:
        limit = max(len(self.shape), 1)
        return (
            self.r.randrange(-limit, limit)
            if self.r.random() < 0.93
            else self.r.choice([limit, -limit - 1])
        )

    def value(self, argument: Any) -> Any:
        """Return a value for one argument."""
        r, kind, name = self.r, argument.real_type.schema_str, argument.name
        if kind.endswith("?"):
            if r.random() < 0.35:
                return None
            kind = kind[:-1]
        match kind:
            case "Tensor":
                if not self.has_first:
                    self.has_first = True
                    dtype = "bool" if name in ("condition", "mask") else self.dtype
                    return self.tensor(self.shape, dtype)
                dtype = self.dtype if r.random() < 0.7 else r.choice(DTYPES)
                return self.tensor(
                    self.broadcast(), "bool" if name in ("mask", "condition") else dtype
                )
            case "Tensor[]":
                return [self.tensor(self.shape, self.dtype) for _ in range(r.randrange(1, 4))]
            case "Scalar":
                return r.choice(SCALARS)
            case "bool":
                return r.random() < 0.5
            case "float":
                return r.choice([0.0, 1.0, 0.5, 2.0, 1e-5])
            case "ScalarType":
                return DTypeSpec(r.choice(DTYPES))
            case "str":
                named = {"approximate": ["none", "tanh"], "rounding_mode": ["floor", "trunc"]}
                return r.choice(named.get(name, ["constant"]))
        if kind in ("int", "SymInt"):
            is_dim = name.startswith("dim") or name in (
                "source",
                "destination",
                "axis0",
                "axis1",
                "start_dim",
                "end_dim",
            )
            return (
                self.dim()
                if is_dim
                else r.choice([0, 1, 2])
                if name == "reduction"
                else r.randrange(-1, 4)
            )
        return self.sizes(name)

    def sizes(self, name: str) -> tuple[int, ...]:
        """Return dimensions or sizes."""
        r, ndim = self.r, len(self.shape)
        if name in ("dim", "dims", "source", "destination") and self.base != "tile":
            chosen = list(range(ndim))
            r.shuffle(chosen)
            if self.base != "permute":
                chosen = chosen[: r.randrange(ndim + 1)]
            if name in ("source", "destination"):
                chosen = chosen[:2]
            return tuple([dim - ndim if r.random() < 0.4 else dim for dim in chosen])
        if self.base in ("view", "reshape", "_unsafe_view"):
            count = math.prod(self.shape)
            return r.choice(
                [(count,), (-1,), self.shape[::-1], (1, *self.shape), (2, -1), r.choice(SHAPES)]
            )
        if self.base in ("expand", "broadcast_to"):
            grown = tuple([r.choice([2, 3, -1]) if size == 1 else size for size in self.shape])
            return (2, *grown) if r.random() < 0.4 else grown
        if self.base == "sum_to_size":
            return tuple([1 if r.random() < 0.4 else size for size in self.shape])
        return tuple([r.randrange(3) for _ in range(r.randrange(max(0, ndim - 1), ndim + 2))])
