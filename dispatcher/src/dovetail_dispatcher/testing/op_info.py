"""`OpInfo`: what is known of one operator for its tests, with sample and error inputs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from dovetail_kernel import Device, TensorBase, dtype

from ..table import registry
from ..table.operator import Operator

_NONE_GIVEN: Final = object()


class SampleInput:
    """The arguments of one call: ``op(sample.input, *sample.args, **sample.kwargs)``.

    Parameters
    ----------
    input
        The first argument: a tensor, a list of tensors, or the first argument of a factory. Omit it
        for an operator without arguments.
    *args
        The other positional arguments.
    **kwargs
        The keyword arguments.
    """

    __slots__ = ("args", "input", "kwargs", "name")

    def __init__(self, input: Any = _NONE_GIVEN, *args: Any, **kwargs: Any) -> None:
        self.input = input
        self.args = args
        self.kwargs = kwargs
        self.name = ""

    @property
    def arguments(self) -> tuple[Any, ...]:
        """Every positional argument, `input` first."""
        return self.args if self.input is _NONE_GIVEN else (self.input, *self.args)

    def with_metadata(self, *, name: str) -> SampleInput:
        """Return the sample with a name, which failures mention."""
        made = self.transform(lambda tensor: tensor)
        made.name = name
        return made

    def transform(self, function: Callable[[Any], Any]) -> SampleInput:
        """Return the same arguments with ``function(tensor)`` for every tensor, in lists too."""
        made = SampleInput(
            *[_replaced(value, function) for value in self.arguments],
            **{name: _replaced(value, function) for name, value in self.kwargs.items()},
        )
        made.name = self.name
        return made

    def tensors(self) -> list[Any]:
        """Return the tensors among the arguments, in order."""
        found: list[Any] = []

        def keep(tensor: Any) -> Any:
            found.append(tensor)
            return tensor

        self.transform(keep)
        return found

    def __repr__(self) -> str:
        given = [_described(value) for value in self.arguments]
        given += [f"{name}={_described(value)}" for name, value in self.kwargs.items()]
        text = f"SampleInput({', '.join(given)})"
        return f"{text} ({self.name})" if self.name else text


@dataclass(frozen=True)
class ErrorInput:
    """Arguments for which an operator raises an error.

    Attributes
    ----------
    sample_input
        The arguments.
    error_type
        The exception. Default: RuntimeError.
    error_regex
        Regular expression to search in its message.
    """

    sample_input: SampleInput
    error_type: type[Exception] = RuntimeError
    error_regex: str = ""


@dataclass(frozen=True)
class Skip:
    """A check to skip for an operator, with the reason.

    Attributes
    ----------
    check
        Name of the check.
    reason
        Why it cannot pass.
    dtypes
        Skip only these. Default: all.
    device_type
        Skip only these. Default: all.
    sample
        Skip only this sample. Default: all samples.
    """

    check: str
    reason: str
    dtypes: frozenset[dtype] | None = None
    device_type: str | None = None
    sample: str | None = None

    def __post_init__(self) -> None:
        if self.dtypes is not None:
            object.__setattr__(self, "dtypes", _dtypes(self.dtypes, f"Skip {self.check!r}"))

    def covers(
        self, check: str, device: Device, dtype: dtype | None = None, sample: str | None = None
    ) -> bool:
        """Return whether a check is skipped on a device, for a dtype, for a sample.

        Without a dtype, return whether all dtypes are skipped; likewise for samples.
        """
        return (
            check == self.check
            and self.device_type in (None, device.type)
            and (self.dtypes is None or dtype in self.dtypes)
            and self.sample in (None, sample)
        )


def _dtypes(given: Any, what: str) -> frozenset[dtype]:
    """Return dtypes as a set.

    Raises
    ------
    TypeError
        If they are not an iterable of dtypes.
    """
    found = list(given) if isinstance(given, Iterable) else [given]
    wrong = [each for each in found if not isinstance(each, dtype)]
    if wrong or found == [given]:
        raise TypeError(
            f"{what}: dtypes must be a set of dtypes, not {wrong[0] if wrong else given!r}. Give "
            "{dovetail.float32, dovetail.float64}, say."
        )
    return frozenset(found)


SampleInputs = Callable[["OpInfo", Device, dtype, bool], Iterable[SampleInput]]
ErrorInputs = Callable[["OpInfo", Device], Iterable[ErrorInput]]


@dataclass(frozen=True, eq=False, kw_only=True)
class OpInfo:
    """Description of an operator for all generic checks: sample inputs, references and expected
    properties.

    The samples of an operator also test the out and in-place variants derived from it.

    Attributes
    ----------
    name
        Qualified name, ``"vision::nms"`` or ``"aten::add.Tensor"``.
    dtypes
        The dtypes that the operator supports: any iterable, stored as a frozenset. The operator
        must raise an error for bfloat16 and the other dtypes common to NumPy and PyTorch.
    sample_inputs_func
        ``sample_inputs_func(op_info, device, dtype, requires_grad)`` returns sample inputs, the
        same at every call. With ``requires_grad``, their floating-point tensors require grad, and
        the operator must be differentiable there.
    error_inputs_func
        ``error_inputs_func(op_info, device)`` returns arguments for which the operator raises an
        error. Default: none.
    ref
        A function of NumPy arrays (with other arguments unchanged, and NumPy dtypes) that returns
        the same results. Default: none; values are not compared.
    family
        Family of the operator, for reports.
    supports_autograd
        Whether results require grad when floating point arguments do. Default: True. If False, no
        result requires grad, or backward raises.
    supports_gradgrad
        Whether gradients can be differentiated. Default: as `supports_autograd`.
    supports_forward_ad
        Whether forward mode is supported. Default: as `supports_autograd`.
    is_random
        Whether values are random or uninitialized: only shapes and dtypes are compared. Default:
        False.
    tolerances
        ``(rtol, atol)`` by dtype, if values are less accurate than usual.
    skips
        Checks to skip.
    """

    name: str
    dtypes: frozenset[dtype]
    sample_inputs_func: SampleInputs = field(repr=False)
    error_inputs_func: ErrorInputs | None = field(default=None, repr=False)
    ref: Callable[..., Any] | None = field(default=None, repr=False)
    family: str = ""
    supports_autograd: bool = True
    supports_gradgrad: bool | None = None
    supports_forward_ad: bool | None = None
    is_random: bool = False
    tolerances: Mapping[dtype, tuple[float, float]] = field(default_factory=dict, repr=False)
    skips: tuple[Skip, ...] = field(default=(), repr=False)

    def __post_init__(self) -> None:
        namespace, colons, base = self.name.partition("::")
        if not (namespace and colons and base):
            raise ValueError(
                f"OpInfo name {self.name!r} has no namespace. Give the qualified name of the "
                "operator, such as 'vision::nms' or 'aten::add.Tensor'."
            )
        object.__setattr__(self, "dtypes", _dtypes(self.dtypes, f"OpInfo {self.name!r}"))
        object.__setattr__(self, "skips", tuple(self.skips))
        if not callable(self.sample_inputs_func):
            raise TypeError(
                f"OpInfo {self.name!r}: sample_inputs_func must be a function of (op_info, device, "
                f"dtype, requires_grad), not {type(self.sample_inputs_func).__name__}."
            )
        for name in ("supports_gradgrad", "supports_forward_ad"):
            if getattr(self, name) is None:
                object.__setattr__(self, name, self.supports_autograd)

    @property
    def operator(self) -> Operator:
        """The operator's entry in the table. Its library must be loaded, for example by
        `op_infos`.
        """
        qualified, _, overload = self.name.partition(".")
        return registry.find_or_throw(qualified, "" if overload == "default" else overload)

    @property
    def op(self) -> Callable[..., Any]:
        """The callable operator: ``dovetail.ops.vision.nms.default``."""
        handle: Callable[..., Any] = self.operator.handle
        return handle

    def sample_inputs(
        self, device: Device, dtype: dtype, requires_grad: bool = False
    ) -> list[SampleInput]:
        """Return the sample inputs of a dtype on a device."""
        return list(self.sample_inputs_func(self, device, dtype, requires_grad))

    def error_inputs(self, device: Device) -> list[ErrorInput]:
        """Return the error inputs for a device."""
        function = self.error_inputs_func
        return [] if function is None else list(function(self, device))

    def skip_of(
        self, check: str, device: Device, dtype: dtype | None = None, sample: str | None = None
    ) -> Skip | None:
        """Return the `Skip` that matches a check, a dtype or a sample, or None."""
        for skip in self.skips:
            if skip.covers(check, device, dtype, sample):
                return skip
        return None


def _replaced(value: Any, function: Callable[[Any], Any]) -> Any:
    if isinstance(value, TensorBase):
        return function(value)
    if isinstance(value, list | tuple) and type(value) in (list, tuple):
        return type(value)([_replaced(each, function) for each in value])
    return value


def _described(value: Any) -> str:
    if isinstance(value, TensorBase):
        grad = ", requires_grad" if value.requires_grad else ""
        return f"{value.dtype}{list(value.shape)}{grad}"
    if type(value) in (list, tuple):
        inner = ", ".join(map(_described, value))
        return f"[{inner}]" if isinstance(value, list) else f"({inner})"
    return repr(value)
