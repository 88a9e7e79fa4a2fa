"""Nodes of operators whose derivative a user wrote with `register_autograd`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Final
from weakref import WeakValueDictionary

from dovetail_dispatcher.schema import TENSOR, Argument, FunctionSchema
from dovetail_dispatcher.table import PythonFormula
from dovetail_kernel import TensorBase
from dovetail_kernel.signature import GRAD

from ..graph.flatten import flatten
from ..graph.function_node import DIFFERENTIABLE, BackwardCFunction
from .record_node import attach_list

NO_TENSOR: Final = -1
"""Stands for the number of tensors in a result that is none, such as an int: backward gets None for
it.
"""


class GeneratedNode(BackwardCFunction):
    """One call of an operator with a `PythonFormula`; the context of its `setup_context` and
    `backward`.
    """

    __slots__ = ()

    formula_record: ClassVar[PythonFormula]
    returns_one_tensor: ClassVar[bool]
    """Whether the operator returns one tensor, and takes no lists of them."""
    returns_several: ClassVar[bool]
    """Whether the operator returns a tuple."""
    takes_gradient: ClassVar[tuple[bool, ...]]
    """Per positional argument of the operator whether it can have gradients at all."""
    takes_list: ClassVar[tuple[bool, ...]]
    """Per positional argument whether it is a ``Tensor[]``."""
    optional_inputs: ClassVar[int]
    """How many of the last positional arguments backward may return nothing for: values with a
    default.
    """
    list_lengths: tuple[int, ...] = ()
    """Per ``Tensor[]`` argument of the call how many tensors it has."""
    result_lengths: Sequence[int | None] = (None,)
    """Per result how many tensors it has; None: it is one, `NO_TENSOR`: it is none."""

    @property
    def needs_input_grad(self) -> tuple[Any, ...]:
        """Per argument of the call whether it requires grad; a list for a ``Tensor[]``."""
        edges = iter(self.next_edges)
        return tuple(
            [
                takes and next(edges) is not None
                if length is None
                else [next(edges) is not None for _ in range(length)]
                for length, takes in self._arguments()
            ]
        )

    def _arguments(self) -> list[tuple[int | None, bool]]:
        """Return per argument the number of tensors in a ``Tensor[]``, else None, and whether it
        can have gradients at all.
        """
        lengths = iter(self.list_lengths)
        pairs = zip(self.takes_list, self.takes_gradient, strict=True)
        return [(next(lengths) if is_list else None, takes) for is_list, takes in pairs]

    def attach_results(self, output: Any) -> list[TensorBase]:
        """Make this node the maker of every tensor in what the operator returned; return those."""
        tensors: list[TensorBase] = []
        lengths: list[int | None] = []
        for each in output if self.returns_several else (output,):
            if isinstance(each, (tuple, list)):
                tensors.extend(each)
                lengths.append(len(each))
            elif isinstance(each, TensorBase):
                tensors.append(each)
                lengths.append(None)
            else:
                lengths.append(NO_TENSOR)
        self.result_lengths = lengths
        metadata = [(tuple(tensor.array.shape), tensor.array.dtype) for tensor in tensors]
        self.input_metadata = metadata if len(metadata) != 1 else metadata[0]
        self._describe_outputs(tensors)
        attach_list(tensors, self, DIFFERENTIABLE)
        return tensors

    def apply(self, *grads: Any) -> Any:
        """Return what the user's backward returns for gradients of the results."""
        return self.formula_record.backward(self, *grads)

    def apply_tensors(self, *grads: TensorBase | None) -> Sequence[TensorBase | None]:
        """Call the user's backward with a gradient per result, and check what it returns."""
        if self.returns_one_tensor and grads[0] is not None:
            try:
                returned = self.formula_record.backward(self, grads[0])
            except _OF_EMPTY_CONTEXT as error:
                explain_missing_context(error, self)
                raise
            if returned.__class__ is not tuple:
                returned = (returned,)
            if len(returned) == len(self.next_edges) == len(self.takes_gradient):
                for grad in returned:
                    if grad is not None and not isinstance(grad, TensorBase):
                        break
                else:
                    return returned
            return self._checked(returned)
        given: list[Any] = []
        if self.materialize_grads:
            grads = tuple(
                [self._zeros(index) if grad is None else grad for index, grad in enumerate(grads)]
            )
        position = 0
        for length in self.result_lengths:
            if length is None:
                given.append(grads[position])
                position += 1
            elif length == NO_TENSOR:
                given.append(None)
            else:
                given.append(list(grads[position : position + length]))
                position += length
        try:
            returned = self.formula_record.backward(self, *given)
        except _OF_EMPTY_CONTEXT as error:
            explain_missing_context(error, self)
            raise
        return self._checked(returned)

    def _checked(self, returned: object) -> Sequence[TensorBase | None]:
        returned = tuple(returned) if isinstance(returned, (tuple, list)) else (returned,)
        arguments = self._arguments()
        expected = len(arguments)
        if len(returned) > expected and all([each is None for each in returned[expected:]]):
            returned = returned[:expected]
        if not expected - self.optional_inputs <= len(returned) <= expected:
            raise RuntimeError(
                f"function {self.name()} returned an incorrect number of gradients (expected "
                f"{expected}, got "
                f"{len(returned)}). Return one per positional argument of "
                f"{self.formula_record.operator}, None where "
                "there is none."
            )
        returned += (None,) * (expected - len(returned))
        flat: list[Any] = []
        for each, (length, is_tensor) in zip(returned, arguments, strict=True):
            if length is None:
                if is_tensor:
                    flat.append(each)
                elif each is not None:
                    raise RuntimeError(
                        f"function {self.name()} returned a gradient different than None at "
                        "position "
                        f"{len(flat) + 1}, but the "
                        "corresponding forward input was not a Variable. Return None there."
                    )
            elif each is None:
                flat.extend([None] * length)
            elif isinstance(each, (list, tuple)) and len(each) == length:
                flat.extend(each)
            else:
                raise RuntimeError(
                    "Expected the return from backward to be of the same structure as the inputs: "
                    "a list of "
                    f"{length} gradients for a Tensor[] argument of {self.formula_record.operator}."
                )
        for each in flat:
            if each is not None and not isinstance(each, TensorBase):
                raise RuntimeError(
                    f"expected Variable or None (got {type(each).__name__}). Return a tensor or "
                    "None."
                )
        return flatten(self, tuple(flat))


def explain_missing_context(error: Exception, node: GeneratedNode) -> None:
    """Raise `error`, which came out of a backward, with what is missing, if it may come of a
    context in which nothing was saved: there was no `setup_context`.
    """
    formula = node.formula_record
    if formula.setup_context is not None or type(error) not in _OF_EMPTY_CONTEXT:
        return
    read = getattr(getattr(formula.backward, "__code__", None), "co_names", ())
    is_attribute = isinstance(error, AttributeError) and error.obj is node
    if is_attribute or (not isinstance(error, AttributeError) and "saved_tensors" in read):
        raise type(error)(
            f"{error}: the backward of {formula.operator} reads from ctx what was never saved: it "
            f"was registered without setup_context, at {formula.where}. Give "
            "register_autograd(..., setup_context=...), which saves what backward needs."
        ) from error


_OF_EMPTY_CONTEXT: Final = (AttributeError, IndexError, ValueError)
"""What reading an attribute, an item or several items of an empty context raises."""


def unmark(node: GeneratedNode, *outputs: TensorBase) -> None:
    """Take results out of the graph that the user marked as not differentiable."""
    skipped = node.non_differentiable or ()
    for output in outputs:
        if any([each is output for each in skipped]):
            output._grad_fn = None
            output._signature &= ~GRAD


_classes: WeakValueDictionary[tuple[PythonFormula, FunctionSchema], type[GeneratedNode]]
_classes = WeakValueDictionary()
"""The classes that plans and nodes use: those of an operator that is removed go with it."""


def node_class(formula: PythonFormula, schema: FunctionSchema) -> type[GeneratedNode]:
    """Return the node class of `formula` for an operator of `schema`, made at first use."""
    found = _classes.get((formula, schema))
    if found is None:
        found = _classes.setdefault((formula, schema), _new_class(formula, schema))
    return found


def _new_class(formula: PythonFormula, schema: FunctionSchema) -> type[GeneratedNode]:
    arguments = [a for a in schema.arguments if not a.kwarg_only]
    # Numbers of the arguments that backward returns something for, be it None.
    required = [
        number
        for number, a in enumerate(arguments, 1)
        if a.is_tensor_like or not a.has_default_value()
    ]
    takes_list = tuple([is_tensor_list(a) for a in arguments])
    members = {
        "formula_record": formula,
        "returns_one_tensor": [r.kind for r in schema.returns] == [TENSOR] and not any(takes_list),
        "returns_several": len(schema.returns) > 1,
        "takes_gradient": tuple([a.is_tensor_like for a in arguments]),
        "takes_list": takes_list,
        "optional_inputs": len(arguments) - max(required, default=0),
        "__slots__": (),
    }
    return type(formula.name + "Backward", (GeneratedNode,), members)


def is_tensor_list(argument: Argument) -> bool:
    """Return whether an argument is a list of tensors."""
    return "[" in argument.kind and argument.is_tensor_like
