"""Sockets of the dispatcher: every place where it calls what a room or a distribution above
provides.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from dovetail_kernel.sockets import SharedSocket, Socket

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import Protocol

    from dovetail_kernel import Backend, DispatchKeySet, DispatchState, TensorBase, dtype

    from .calls.arrays.immutable_array_writes import View
    from .calls.entry_forms import EntryForm
    from .calls.plan import RoutePlan
    from .calls.plans.composition import Composition
    from .table.kernels import Kernel
    from .table.operator import Operator
    from .testing.check import Check
else:
    Protocol = object  # a Protocol takes a tenth of a millisecond to make


class BaseOperators(NamedTuple):
    """Operators of a base library that the dispatcher itself has a use for, by their roles.

    The name of an operator that is called has its overload: ``"lib::convert.dtype"``. The defaults
    stand for no base library.

    Attributes
    ----------
    namespace
        That of the library: a Python number may stand for a Tensor in its operators.
    arithmetic
        Operators that take a number for every Tensor.
    serving_numbers
        Operators whose overload for tensors serves the one for numbers too.
    copy
        Writes one tensor into another. Its arguments may be on different devices.
    detach
        Cuts a tensor off its graph. The result may be written outside inference mode, though it be
        an inference tensor.
    clone
        Copies a tensor.
    ones_like
        Makes a tensor of ones with the shape, dtype and device of another.
    convert
        Casts a tensor to ``dtype=``.
    move
        Moves a tensor to ``device=``.
    empty_strided
        Makes a tensor of a shape and strides, with ``dtype=`` and ``device=``.
    strided_views
        Views that strides alone describe: of a view, they need memory.
    sharing
        Their results share memory with an argument, which their schemas do not say: the argument
        must not be used any more. All sets name all overloads of an operator.
    """

    namespace: str = ""
    arithmetic: frozenset[str] = frozenset()
    serving_numbers: frozenset[str] = frozenset()
    copy: str = ""
    detach: str = ""
    clone: str = ""
    ones_like: str = ""
    convert: str = ""
    move: str = ""
    empty_strided: str = ""
    strided_views: frozenset[str] = frozenset()
    sharing: frozenset[str] = frozenset()


class Promotion(Protocol):
    """Says what operands compute in; by itself it promotes nothing."""

    def computing_dtype(self, common: dtype, rule: str) -> dtype:
        """Return the dtype that operands of the common dtype `common` are cast to under promotion
        rule `rule`: here, `common`.
        """
        return common

    def check_operands(
        self, op: Operator, key: int, common: dtype | None, computed: dtype | None
    ) -> None:
        """Raise an error for a call with `key` whose operands are of dtypes that `op` is not
        defined for; `common` is their dtype and `computed` the one that they compute in, if the
        key says it.
        """
        return None

    def operand_check(self, op: Operator) -> Callable[[TensorBase], None]:
        """Return what refuses an operand of a dtype that `op` is not defined for."""
        return lambda operand: None

    def check_alpha(self, op: Operator, values: Sequence[object]) -> None:
        """Raise an error for an `alpha` that does not fit the operands; `values` are those of all
        arguments.
        """
        return None

    def promoter(
        self, backend: Backend, op: Operator, category: int, *, is_operand: bool, in_single: bool
    ) -> tuple[Callable[..., tuple[list[Any], dtype]], dict[int, dtype] | None]:
        """Return the function that casts the operands of a call to the dtype they compute in: it
        returns their arrays and that dtype. Also return the dtypes by their bits that it casts no
        operands of, if all are of one, as far as it has met them; None if it may.

        `category` is that of a Python number in the call, -1 if there is none; `is_operand` says
        whether it is the second of two operands; `in_single` whether numbers and tensors without
        dimensions are in single precision beside half precision. Raises RuntimeError if the
        operator was declared with a promotion that nothing knows.
        """
        raise RuntimeError(
            f"{op.qualified_name} promotes its operands, and no base library is in use that says "
            "how. Install dovetail-aten, or import the library that fills PROMOTION."
        )

    def computes_in_single(self, op: Operator, kernel: Kernel, key: int) -> bool:
        """Return whether a route for arguments of half precision computes in single precision."""
        return False

    def in_single(self, backend: Backend, function: Callable[..., object]) -> Callable[..., Any]:
        """Return an array kernel that computes half precision in single precision, and rounds its
        result: here, `function`.
        """
        return function

    def dtype_of_number(self, wanted: dtype, rule: str, in_single: bool) -> dtype:
        """Return the dtype of a number beside operands of dtype `wanted` under promotion rule
        `rule`, in a route that may compute half precision `in_single`: here, `wanted`.
        """
        return wanted


class NoPromotion(Promotion):
    """Promotes nothing, where no base library says how."""


def uncompiled(function: Callable[..., Any], /) -> Callable[..., Any]:
    """Return `function`: where dovetail-native is not loaded, kernels run as they are."""
    return function


def uncompiled_operator(operator: str, reference: Callable[..., object], /) -> Callable[..., Any]:
    """Return `reference`: without dovetail-native, no operator has a compiled kernel."""
    return reference


def uncompiled_entry(
    function: Callable[..., object], describe: EntryDescriber, document: Documenter | None = None, /
) -> Callable[..., Any]:
    """Return `function`: without dovetail-native, entries are Python text."""
    return function


class AutogradLayers(Protocol):
    """Composes calls that autograd has a part in; by itself it records nothing."""

    def record(self, composition: Composition, kernel: Kernel, below: RoutePlan, /) -> RoutePlan:
        """Return the plan of a call through the derived Autograd kernel or the Autograd fallback;
        `below` is the plan of the call below Autograd.
        """
        return below

    def note_views(self, composition: Composition, below: RoutePlan, /) -> RoutePlan:
        """Return the plan of a call below autograd that notes whose views its results are."""
        return below

    def fuse(self, composition: Composition, kernel: Kernel, /) -> RoutePlan | None:
        """Return the plan of a composite that is computed as one call, or None."""
        return None


class NoAutogradLayers(AutogradLayers):
    """Composes calls where autograd is not installed: nothing is recorded."""


if TYPE_CHECKING:

    class OverloadFactory(Protocol):
        def __call__(self, operator: Operator, /) -> Any:
            """Return the `OpOverload` of an operator."""

    class TraceLayer(Protocol):
        def __call__(
            self,
            plan: Callable[[], RoutePlan],
            op: Operator,
            key: int,
            state: DispatchState,
            keys: DispatchKeySet | None,
            /,
        ) -> RoutePlan:
            """Return a plan that records a call: of `op` with `key` in `state`, or redispatched to
            `keys`. `plan` composes the plan of the call, and raises if that has no kernel.
            """

    class GuardLayer(Protocol):
        def __call__(self, op: Operator, plan: RoutePlan, /) -> RoutePlan:
            """Return the whole plan of a call with what checks it inside of a transform."""

    class ViewMaker(Protocol):
        def __call__(
            self, op: Any, args: Sequence[Any], kwargs: dict[str, Any], place: int | None, /
        ) -> View:
            """Return the view that `op` shows: with its arguments behind the first, its keywords,
            and the place among several results.
            """

    class RuleLoader(Protocol):
        def __call__(self) -> object:
            """Register the batching rules of a library."""

    class RandomStateSaver(Protocol):
        def __call__(self) -> Callable[[], object]:
            """Remember where random generators are; return what brings them back there."""

    class TensorFunction(Protocol):
        def __call__(self, values: Any, /, *, dtype: Any, device: Any) -> Any:
            """Return a tensor of nested lists of numbers."""

    class CompiledKernel(Protocol):
        def __call__(self, function: Callable[..., Any], /) -> Callable[..., Any]:
            """Return a compiled callable with the arguments and results of an array kernel, or the
            kernel itself if there is none.
            """

    class CompiledOperator(Protocol):
        def __call__(self, operator: str, reference: Callable[..., Any], /) -> Callable[..., Any]:
            """Return the compiled kernel of an operator on NumPy's arrays, or the reference itself
            if there is none.

            The reference is ``__wrapped__`` of the compiled kernel, and computes the dtypes and
            arguments that the compiled one does not.
            """

    class CompiledRoute(Protocol):
        def __call__(self, plan: RoutePlan, /) -> Callable[..., Any] | None:
            """Return a compiled callable that does what a plan says; None if none can."""

    class CompiledEntry(Protocol):
        def __call__(
            self,
            function: Callable[..., Any],
            describe: EntryDescriber,
            document: Documenter | None = None,
            /,
        ) -> Callable[..., Any]:
            """Return what is called in place of `function`, the text of an entry, with the same
            arguments, results and attributes. `describe` says at the first call what it is, and
            `document` its docstring when that is asked for.
            """

    class Documenter(Protocol):
        def __call__(self, function: Any, /) -> str | None:
            """Give the text of an entry its docstring, and return it; None if it has none."""

    class EntryDescriber(Protocol):
        def __call__(self, function: Any, /) -> EntryForm | EntryChooser | str | list[Any] | None:
            """Return the form of an entry, a function that chooses another, the name of an
            attribute of tensors, or a list: the name of a kind of entry, and the parts of which
            its calls are made; None if all calls are those of its text.
            """

    class EntryChooser(Protocol):
        def __call__(
            self, args: tuple[Any, ...], kwargs: dict[str, Any], /
        ) -> Callable[..., Any] | None:
            """Return what an entry calls with these arguments, if their classes and keywords alone
            decide.
            """

    class CheckLoader(Protocol):
        def __call__(self) -> Iterable[Check]:
            """Return checks of operators."""


OVERLOAD_FACTORY: Final[Socket[OverloadFactory]] = Socket(
    "dovetail_dispatcher.calls.overloads", "when it is imported"
)
"""Makes the `OpOverload` of an operator when it is first asked for."""

TRACE_LAYER: Final[Socket[TraceLayer]] = Socket(
    "dovetail_dispatcher.inspection.traces.tracing", "when it is imported, as it is to trace"
)
"""Composes the routes of calls that are traced."""

AUTOGRAD_LAYERS: Final[Socket[AutogradLayers]] = Socket(
    "dovetail_autograd.recording.autograd_layer", "when autograd is loaded", NoAutogradLayers()
)
"""Compose the routes of calls that record a graph, or views."""

GUARD_LAYER: Final[Socket[GuardLayer]] = Socket(
    "dovetail_autograd.transforms.wrapped.wrapped_backend",
    "before the first transform of a function",
)
"""Composes the routes of calls inside of a transform of a function."""

VIEW_MAKER: Final[Socket[ViewMaker]] = Socket(
    "dovetail_aten.library", "when the base library is loaded"
)
"""Called for views of arrays that cannot be written."""

BATCHING_RULES: Final[SharedSocket[RuleLoader]] = SharedSocket(
    ("dovetail_aten.library",), "when the base library is loaded"
)
"""Called, each once, before a `vmap`: the rules of a library cost no start-up."""

RANDOM_STATES: Final[SharedSocket[RandomStateSaver]] = SharedSocket(
    ("dovetail_aten.batching.registration",), "before the first `vmap`"
)
"""Called by a `vmap` in chunks that all are to draw the same."""

TENSOR_FUNCTION: Final[Socket[TensorFunction | None]] = Socket(
    "dovetail_aten", "when it is imported", None
)
"""Makes the tensors of samples."""

CHECKS: Final[SharedSocket[CheckLoader]] = SharedSocket(("dovetail",), "when it is imported")
"""Asked for the checks of operators that a test suite runs."""

BASE_OPERATORS: Final[Socket[BaseOperators]] = Socket(
    "dovetail_aten.library", "when it is imported", BaseOperators()
)
"""Read where the dispatcher treats an operator by its role, or calls one."""

PROMOTION: Final[Socket[Promotion]] = Socket(
    "dovetail_aten.library", "when it is imported", NoPromotion()
)
"""Asked, while a plan is made, what the operands of an operator that promotes them compute in."""

COMPILED_KERNEL: Final[Socket[CompiledKernel]] = Socket(
    "dovetail_native", "when `load_compiled_code` loads it, before the first plan", uncompiled
)
"""Called once per kernel of a plan that becomes a route, and once per kernel of a derivative body
over arrays.
"""

COMPILED_OPERATOR: Final[Socket[CompiledOperator]] = Socket(
    "dovetail_native", "with `COMPILED_KERNEL`", uncompiled_operator
)
"""Called once per operator by backends whose arrays are NumPy's, when its kernel is first looked
up.
"""

COMPILED_ROUTE: Final[Socket[CompiledRoute | None]] = Socket(
    "dovetail_native", "when `load_compiled_code` loads it, before the first plan", None
)
"""Called once per plan that becomes a route; None: all are Python text."""

COMPILED_ENTRY: Final[Socket[CompiledEntry]] = Socket(
    "dovetail_native", "with `COMPILED_KERNEL`", uncompiled_entry
)
"""Called once per function and operator, when it is made."""
