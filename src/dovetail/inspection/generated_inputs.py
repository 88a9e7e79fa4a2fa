"""Example arguments for any operator, generated from its schema, for checks of a whole library."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Final

import dovetail_aten as aten
from dovetail_aten import Tensor
from dovetail_autograd import no_grad
from dovetail_autograd.transforms import pytree
from dovetail_dispatcher import FunctionSchema, OpOverload
from dovetail_kernel import Device, float32, float64, int64, restoring
from dovetail_kernel import bool as bool_


@dataclass(frozen=True)
class Inputs:
    """Arguments of one call.

    Attributes
    ----------
    args, kwargs
        The arguments.
    about
        What is special about them, in a few words.
    sample
        The name of the sample that they are, by which an `OpInfo` leaves it out of checks.
    dtype
        The dtype of that sample.
    """

    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    about: str
    sample: str | None = None
    dtype: Any = None

    def __str__(self) -> str:
        given = [as_source(value) for value in self.args]
        given += [f"{name}={as_source(value)}" for name, value in self.kwargs.items()]
        return ", ".join(given)

    def fresh(self) -> Inputs:
        """Return the same arguments with tensors of their own: copies that are leaves."""
        args, kwargs = pytree.map_leaves(_copied, (self.args, self.kwargs))
        return replace(self, args=args, kwargs=kwargs)


@dataclass(frozen=True)
class _Case:
    about: str
    shapes: tuple[tuple[int, ...], ...]
    """Of the first tensor, the second, ...; the last counts for all further ones."""
    dtype: Any = float64
    least: float = 0.1
    """Values lie between this and 0.8 more."""
    optional: bool = True
    """Whether optional tensors are given."""


_CASES: Final = (
    _Case("matrices of one shape", ((2, 3),)),
    _Case("a matrix and vectors that broadcast", ((2, 3), (3,))),
    _Case("without optional tensors", ((2, 3),), optional=False),
    _Case("0-dim tensors", ((),)),
    _Case("values above 1", ((2, 3),), least=1.1),
    _Case("float32", ((2, 3),), float32),
    _Case("integers", ((2, 3),), int64),
    _Case("empty tensors", ((0, 3),)),
    _Case("transposed matrices", ((3, 2),)),
    _Case("vectors", ((3,),)),
    _Case("square matrices", ((3, 3),)),
    _Case("matrices that can be multiplied", ((2, 3), (3, 2))),
    _Case("images of several channels", ((2, 3, 4, 4), (2, 3, 2, 2), (2,))),
    _Case("booleans", ((2, 3),), bool_),
)


def generated_inputs(op: OpOverload, *, requires_grad: bool = True) -> Iterator[Inputs]:
    """Yield arguments that may fit an operator; not all of them will, since a schema does not say
    what sizes match.

    Values of floating point tensors lie between 0.1 and 0.9, or between 1.1 and 1.9, where most
    functions are smooth. The same operator always gets the same arguments.

    Parameters
    ----------
    op
        The operator.
    requires_grad
        Whether floating point tensors that are not written to require grad, apart from those that
        must not, and unless the operator writes its results into ``out=`` arguments, which cannot
        be differentiated. Default: True.

    Yields
    ------
    Inputs
        Different shapes, dtypes and layouts; arguments that are not tensors have their default or
        a plain value.
    """
    schema = op._schema
    kinds = [argument.real_type.schema_str for argument in schema.arguments]
    has_tensors = any([kind.startswith("Tensor") for kind in kinds])
    has_optional = any([kind.startswith("Tensor?") for kind in kinds])
    refused = getattr(op._operator.derivative, "refused", ())
    writes_results = any([argument.is_out for argument in schema.arguments])
    differentiable = {
        a.name for a in schema.arguments if requires_grad and not writes_results
    } - set(refused)
    for case in _CASES if has_tensors else _CASES[:1]:
        if not case.optional and not has_optional:
            continue
        made = _inputs(schema, case, differentiable)
        if made is not None:
            yield made


@restoring()
def fitting_inputs(
    op: OpOverload, *, most: int = 9, requires_grad: bool = True
) -> tuple[list[Inputs], list[str]]:
    """Return generated arguments that the operator takes, and for the others what it said.

    Parameters
    ----------
    op
        The operator; it is called.
    most
        Stop after so many. Default: 9.
    requires_grad
        As for `generated_inputs`.
    """
    fitting: list[Inputs] = []
    refusals: list[str] = []
    for inputs in generated_inputs(op, requires_grad=requires_grad):
        if len(fitting) == most:
            break
        trial = inputs.fresh()
        try:
            with no_grad():
                op(*trial.args, **trial.kwargs)
        except Exception as refusal:
            refusals.append(
                f"{inputs.about}: {type(refusal).__name__}: "
                f"{str(refusal).splitlines()[0] if str(refusal) else ''}"
            )
        else:
            fitting.append(inputs)
    return fitting, refusals


def as_source(value: object) -> str:
    """Return Python text that makes a value again, with ``dovetail`` imported."""
    if isinstance(value, Tensor):
        grad = ", requires_grad=True" if value.requires_grad else ""
        if value.numel() == 0:
            return f"dovetail.empty({tuple(value.shape)}, dtype={value.dtype}{grad})"
        text = (
            repr(value.detach().tolist())
            .replace("nan", "dovetail.nan")
            .replace("inf", "dovetail.inf")
        )
        return f"dovetail.tensor({text}, dtype={value.dtype}{grad})"
    if isinstance(value, list | tuple):
        inner = ", ".join(map(as_source, value))
        return (
            f"[{inner}]"
            if isinstance(value, list)
            else f"({inner}{',' if len(value) == 1 else ''})"
        )
    return f"'{value}'" if isinstance(value, Device) else repr(value)


def _inputs(schema: FunctionSchema, case: _Case, differentiable: set[str]) -> Inputs | None:
    """Return arguments for one case, which require grad if they are `differentiable`.

    None if the schema wants something that cannot be guessed.
    """
    args: list[Any] = []
    kwargs: dict[str, Any] = {}
    count = 0

    def tensor(argument: Any) -> Tensor:
        nonlocal count
        shape = case.shapes[min(count, len(case.shapes) - 1)]
        count += 1
        return _tensor(
            shape, case, count, argument.name in differentiable and not argument.is_write
        )

    for argument in schema.arguments:
        kind = argument.real_type.schema_str
        value: Any
        if kind == "Tensor" or (kind == "Tensor?" and case.optional):
            value = tensor(argument)
        elif kind.startswith("Tensor[") or (kind.startswith("Tensor?[") and case.optional):
            value = [tensor(argument) for _ in range(2)]
        elif argument.has_default_value():
            continue
        else:
            value = _plain(kind, argument.name)
            if value is _UNKNOWN:
                return None
        if argument.kwarg_only:
            kwargs[argument.name] = value
        elif len(args) == len(
            [a for a in schema.arguments if not a.kwarg_only][: schema.arguments.index(argument)]
        ):
            args.append(value)
        else:  # one before it was left to its default
            kwargs[argument.name] = value
    return Inputs(tuple(args), kwargs, case.about)


def _tensor(shape: tuple[int, ...], case: _Case, seed: int, requires_grad: bool) -> Tensor:
    """Return a tensor of spread values that are always the same."""
    size = 1
    for length in shape:
        size *= length
    spread = [
        round(case.least + 0.8 * ((0.6180339887 * (index + 1) + 0.2360679775 * seed) % 1), 3)
        for index in range(size)
    ]
    if case.dtype.is_floating_point:
        made = aten.tensor(spread, dtype=case.dtype).reshape(shape)
    else:
        made = (
            aten.tensor([int(value * 10) % 5 for value in spread], dtype=int64)
            .reshape(shape)
            .to(case.dtype)
        )
    if case.about.startswith("transposed"):
        made = made.t().contiguous().t()
    made = made.detach()
    made.requires_grad_(requires_grad and case.dtype.is_floating_point)
    return made


_UNKNOWN: Final = object()

_PLAIN: Final[dict[str, Callable[[str], Any]]] = {
    "int": lambda name: 0 if name.startswith("dim") else 1,
    "SymInt": lambda name: 0 if name.startswith("dim") else 1,
    "float": lambda _name: 0.5,
    "Scalar": lambda _name: 2,
    "bool": lambda _name: False,
    "complex": lambda _name: 0.5j,
    "ScalarType": lambda _name: float64,
    "Device": lambda _name: Device("cpu"),
}


def _plain(kind: str, name: str) -> Any:
    """Return a value for a required argument that is not a tensor."""
    if kind.endswith("?"):
        return None
    base, bracket, _ = kind.partition("[")
    make = _PLAIN.get(base)
    if make is None:
        return _UNKNOWN
    if bracket:
        return [2, 3] if "size" in name or "shape" in name else [make(name)]
    return make(name)


def _copied(value: object) -> Any:
    if isinstance(value, Tensor):
        return value.detach().clone().requires_grad_(value.requires_grad)
    return value
