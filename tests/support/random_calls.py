"""Random calls of operators: from the samples of their `OpInfo`, varied, and from their schemas.

A call names no library: both make their own tensors of it.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
from call_values import (
    FLOATS,
    SHAPES,
    Name,
    TensorValue,
    as_dtype,
    described,
    name_of,
    random_dtype,
    random_scalar,
    random_tensor,
    random_values,
)

import dovetail
from dovetail.testing import OpInfo, op_infos

CPU = dovetail.device("cpu")
UNCHECKED = (
    *["_softmax_backward_data", "_log_softmax_backward_data", "native_layer_norm_backward"],
    *["embedding_dense_backward", "nll_loss_backward", "_prelu_kernel_backward"],
    *["log_sigmoid_backward", "as_strided", "smooth_l1_loss_backward"],
    *["grid_sampler", "grid_sampler_2d", "grid_sampler_3d"],
    *["_convert_indices_from_coo_to_csr", "_convert_indices_from_csr_to_coo"],
)
"""Operators for whose wrong arguments PyTorch reads and writes foreign memory, or ends."""
IN_PLACE_VIEWS = tuple(
    f"{name}_"
    for name in ("as_strided", "squeeze", "swapaxes", "swapdims", "t", "transpose", "unsqueeze")
)
OF_STORAGES = ("set_", "set", "resize_", "resize", "resize_as_", "resize_as")
FORMS = (*["overload"] * 4, "packet", "function", "method")


@dataclass(frozen=True)
class Call:
    """One call: the operator, how it is called, and its arguments."""

    operator: str
    form: str
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    is_random: bool = False

    @property
    def base(self) -> str:
        return self.operator.partition(".")[0]

    def __repr__(self) -> str:
        given = [repr(each) for each in self.args]
        given += [f"{name}={value!r}" for name, value in self.kwargs.items()]
        return f"{self.form} {self.operator}({', '.join(given)})"

    def tensors(self) -> list[TensorValue]:
        """Return the tensors among the arguments."""
        flat: list[Any] = []
        for value in (*self.args, *self.kwargs.values()):
            flat += value if isinstance(value, list | tuple) else [value]
        return [each for each in flat if isinstance(each, TensorValue)]


@cache
def samples_of(info: OpInfo, dtype: str) -> list[tuple[tuple[Any, ...], dict[str, Any]]]:
    """Return the arguments of the samples of an operator, and of its error inputs."""
    wanted = getattr(dovetail, dtype)
    samples = info.sample_inputs(CPU, wanted, wanted.is_floating_point or wanted.is_complex)
    samples += [each.sample_input for each in info.error_inputs(CPU)]
    return [
        (
            tuple([described(dovetail, each) for each in sample.arguments]),
            {name: described(dovetail, each) for name, each in sample.kwargs.items()},
        )
        for sample in samples
    ]


def random_call(info: OpInfo, r: random.Random) -> Call:
    """Return a call of an operator or of one of its variants."""
    operator = info.operator
    name = info.name.partition("::")[2]
    unchecked = operator.base_name in UNCHECKED
    if unchecked or r.random() < 0.65:
        args, kwargs = _varied(info, r, unchecked)
    else:
        args, kwargs = _from_schema(operator.schema, r)
    # PyTorch's packet `to` takes a number in a tensor for the code of a dtype.
    form = r.choice(FORMS) if operator.base_name != "to" else "overload"
    is_random = info.is_random or operator.base_name == "dropout"
    call = Call(name, form, args, kwargs, is_random)
    if operator.variants and r.random() < 0.25:
        call = _variant(call, r.choice(operator.variants), r)
    return call


def _variant(call: Call, operator: Any, r: random.Random) -> Call:
    """Return a call of the in-place or ``out=`` variant of the operator of a call."""
    name = f"{operator.name.partition('::')[2]}.{operator.overload}".rstrip(".")
    outs = [each.name for each in operator.schema.arguments if each.is_out]
    kwargs = dict(call.kwargs)
    args = call.args
    if not outs:
        if args and isinstance(args[0], TensorValue) and r.random() < 0.8:
            args = (replace(args[0], requires_grad=False), *args[1:])
        return replace(call, operator=name, form="overload", args=args, kwargs=kwargs)
    tensors = call.tensors()
    dtype = tensors[0].dtype if tensors and r.random() < 0.8 else random_dtype(r)
    for out in outs:
        own = "int64" if out in ("indices", "max_values", "min_indices") else dtype
        kwargs[out] = random_tensor(r, own, r.choice([(0,), (0,), (2, 3), ()]), grad=0.0)
    return replace(call, operator=name, form="overload", kwargs=kwargs)


# -- from samples ----------------------------------------------------------------------------------


def _varied(
    info: OpInfo, r: random.Random, unchecked: bool
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return the arguments of a sample, some of which are changed; if `unchecked`, only numbers and
    memory orders.
    """
    dtype = random_dtype(r)
    try:
        samples = samples_of(info, dtype)
        if unchecked:
            samples = samples[: len(samples) - len(info.error_inputs(CPU))]
    except Exception:
        # Samples of dtypes that an operator does not take need not exist.
        dtype = r.choice(sorted([name_of(each) for each in info.dtypes]))
        samples = samples_of(info, dtype)
    args, kwargs = r.choice(samples)
    if unchecked:
        return tuple([_renumbered(each, r) for each in args]), kwargs
    kinds = {a.name: a.real_type.schema_str.rstrip("?") for a in info.operator.schema.arguments}
    names = list(kinds)
    tensors = any("Tensor" in kind for kind in kinds.values())
    made = [
        _changed(each, kinds[names[place]] if place < len(names) else "", r, tensors)
        for place, each in enumerate(args)
    ]
    named = {name: _changed(each, kinds.get(name, ""), r, tensors) for name, each in kwargs.items()}
    if "dtype" in kinds and r.random() < 0.15 and names.index("dtype") >= len(made):
        named["dtype"] = Name(random_dtype(r))
    return tuple(made), named


def _small(number: Any) -> Any:
    """Return a number, or another one where it would make too many elements."""
    return number if isinstance(number, complex) or abs(number) < 1000 else 4


def _changed(value: Any, kind: str, r: random.Random, tensors: bool) -> Any:
    if isinstance(value, list | tuple) and any(isinstance(each, TensorValue) for each in value):
        return type(value)([_changed(each, "Tensor", r, tensors) for each in value])
    if isinstance(value, TensorValue):
        return _changed_tensor(value, r)
    if r.random() < 0.7:
        return value
    if kind == "Scalar" and isinstance(value, int | float | complex):
        number = random_scalar(r)
        return number if tensors else _small(number)
    if kind == "bool":
        return not value
    if kind in ("int", "SymInt") and type(value) is int:
        return value + r.choice([-1, 1])
    if kind == "float" and isinstance(value, int | float):
        return r.choice([0.0, 1.0, 0.5, -1.0, float("inf"), float("nan")])
    return value


def _renumbered(value: Any, r: random.Random) -> Any:
    """Return a floating-point tensor with other numbers, anything else as it is."""
    if not isinstance(value, TensorValue) or value.dtype not in FLOATS or r.random() < 0.4:
        return value
    return replace(value, values=random_values(value.dtype, value.values.shape, r))


def _changed_tensor(value: TensorValue, r: random.Random) -> TensorValue:
    """Return a tensor with other numbers, or of another dtype, shape or memory order."""
    is_index = value.dtype == "int64" or value.dtype == "bool"
    chance = r.random()
    values, dtype = value.values, value.dtype
    if chance < 0.4 and not (is_index and r.random() < 0.7):
        values = random_values(dtype, values.shape, r)
    elif chance < 0.55 and not (is_index and r.random() < 0.7):
        dtype = random_dtype(r)
        values = as_dtype(values, dtype)
    elif chance < 0.65:
        values = _reshaped(values, r)
    layout = value.layout if r.random() < 0.7 else random_layout_of(values, r)
    if layout == "expanded" and values.ndim and len(values):
        values = np.broadcast_to(values[:1], values.shape)
    grad = (dtype in FLOATS or dtype.startswith("complex")) and r.random() < 0.35
    return TensorValue(dtype, values, layout, grad)


def random_layout_of(values: Any, r: random.Random) -> str:
    return r.choice(["transposed", "stepped", "offset", "expanded"]) if values.ndim else ""


def _reshaped(values: np.ndarray[Any, Any], r: random.Random) -> np.ndarray[Any, Any]:
    """Return numbers of a shape that broadcasts, or of another size or number of dimensions."""
    if not values.ndim:
        return values.reshape(1) if r.random() < 0.5 else np.broadcast_to(values, (2, 3))
    dim = r.randrange(values.ndim)
    chance = r.random()
    if chance < 0.4:
        return values.take(range(min(1, values.shape[dim])), dim)
    if chance < 0.6:
        return values[0] if len(values) else values
    if chance < 0.75:
        return values[None]
    if chance < 0.9:
        return np.concatenate([values, values], dim)
    return values.take([], dim)


# -- from the schema -------------------------------------------------------------------------------

INDICES = ("index", "indices", "target")
MASKS = ("mask", "condition")
TEXTS = ("none", "mean", "sum", "floor", "trunc", "tanh", "constant", "reflect", "nonsense")


def _from_schema(schema: Any, r: random.Random) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return arguments that the types of a schema allow."""
    is_factory = not any("Tensor" in each.real_type.schema_str for each in schema.arguments)
    shape, dtype = r.choice(SHAPES), random_dtype(r)
    args: list[Any] = []
    kwargs: dict[str, Any] = {}
    positional = True
    for argument in schema.arguments:
        kind = argument.real_type.schema_str
        if (argument.has_default_value() and r.random() < 0.6) or kind == "Generator?":
            positional = False
            continue
        value = _of_kind(argument.name, kind, shape, dtype, r)
        if is_factory and kind.rstrip("?") == "Scalar" and value is not None:
            value = _small(value)
        if argument.kwarg_only or not positional:
            kwargs[argument.name] = value
        else:
            args.append(value)
    return tuple(args), kwargs


def _of_kind(name: str, kind: str, shape: tuple[int, ...], dtype: str, r: random.Random) -> Any:
    if kind.endswith("?") and r.random() < 0.3:
        return None
    kind = kind.rstrip("?")
    if kind == "Tensor":
        return _tensor_named(name, shape, dtype, r)
    if kind in ("Tensor[]", "Tensor?[]"):
        return [_tensor_named(name, shape, dtype, r) for _ in range(r.choice([0, 1, 2, 2, 3]))]
    if kind == "Scalar":
        return random_scalar(r)
    if kind == "Scalar[]":
        return [random_scalar(r) for _ in range(r.choice([0, 1, 2, 2, 3]))]
    if kind in ("int", "SymInt"):
        return r.choice([0, 1, -1, 2, 3, -2, 0, 5])
    if kind.partition("[")[0] in ("int", "SymInt"):
        many = r.choice([0, 1, 1, 2, 2, 3])
        return [r.choice([0, 1, -1, 2, 3, 1, 0]) for _ in range(many)]
    if kind.startswith("bool["):
        return [r.random() < 0.7 for _ in range(3)]
    if kind == "bool":
        return r.random() < 0.5
    if kind == "float":
        return r.choice([0.0, 0.5, 1.0, 1e-5, -1.0, 2.0])
    if kind.startswith("float["):
        return [r.choice([0.5, 1.0, 2.0, -1.0]) for _ in range(r.choice([0, 1, 2, 2, 3]))]
    if kind == "str":
        return r.choice(TEXTS)
    names = {
        "ScalarType": random_dtype(r),
        "MemoryFormat": r.choice(["contiguous_format", "preserve_format"]),
        "Layout": "strided",
        "Device": "cpu",
    }
    return Name(names[kind])


def _tensor_named(name: str, shape: tuple[int, ...], dtype: str, r: random.Random) -> TensorValue:
    """Return a tensor for an argument, most of the time one that goes with the others."""
    if r.random() < 0.25:
        shape = r.choice([shape[1:], (*shape[:-1], 1) if shape else (2,), r.choice(SHAPES), ()])
    if name in INDICES and r.random() < 0.9:
        count = int(np.prod(shape, dtype=int))
        values = np.array([r.randint(-1 if r.random() < 0.1 else 0, 2) for _ in range(count)])
        return TensorValue("int64", values.astype(np.int64).reshape(shape))
    if name in MASKS and r.random() < 0.9:
        dtype = "bool"
    elif r.random() < 0.25:
        dtype = random_dtype(r)
    return random_tensor(r, dtype, shape)


UNSAFE = frozenset(
    {
        *[f"max_pool{ndim}d_with_indices_backward" for ndim in (2, 3)],
        *[f"{name}_pool{ndim}d_backward" for name in ("avg", "_adaptive_avg") for ndim in (2, 3)],
        *[f"fractional_max_pool{ndim}d" for ndim in (2, 3)],
        *[
            f"{name}_max_pool{ndim}d_backward"
            for name in ("adaptive", "fractional")
            for ndim in (2, 3)
        ],
        *["_native_batch_norm_legit", "_native_batch_norm_legit_functional", "native_batch_norm"],
        *["native_batch_norm_backward", "_batch_norm_no_update"],
        *["_convert_indices_from_coo_to_csr", "_convert_indices_from_csr_to_coo"],
        *["lstm", "gru", "rnn_tanh", "rnn_relu", "_pack_padded_sequence", "_pad_packed_sequence"],
    }
)
"""Operators that in PyTorch read and write wherever indices and shapes say, and end the process:
only their samples are compared.
"""


@cache
def called() -> tuple[OpInfo, ...]:
    """Return the operators that are called: those of storages show memory that holds no numbers,
    views in place leave their argument no shape to compare, and some end the process of PyTorch.
    """
    left_out = {*IN_PLACE_VIEWS, *OF_STORAGES, *UNSAFE}
    return tuple([info for info in op_infos("aten") if info.operator.base_name not in left_out])
