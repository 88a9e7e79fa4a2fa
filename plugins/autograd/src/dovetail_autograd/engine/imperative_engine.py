"""The engine as an object: `Engine` with its steps, and `_EngineBase`, which Python calls."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from dovetail_kernel import TensorBase

from ..graph.autograd_meta import gradient_edge
from ..graph.node import EdgeTuple, GradientEdge
from .engine import execute
from .node_runs.run_on_tensors import evaluate_function, thread_main
from .tasks.graph_root import GraphRoot
from .tasks.graph_task import GraphTask, call_back, call_in_task, current_task
from .tasks.ready_queue import InputBuffer, ReadyQueue
from .tasks.roots import Output, edge_of_input, recorded


class Engine:
    """Runs graphs backwards. `execute` does it at once; the other methods are its steps, which may
    be called one by one:

    ::

        root = GraphRoot(edges, gradients)
        task = GraphTask(keep_graph=True)
        engine.compute_dependencies(root, task)
        task.ready_queue.push(root, InputBuffer())
        engine.thread_main(task)  # or pop() and evaluate_function() until the queue is empty
    """

    execute = staticmethod(execute)

    @staticmethod
    def get_default_engine() -> _EngineBase:
        """Return the engine that `backward` and `grad` use."""
        return default_engine

    @staticmethod
    def compute_dependencies(root: GraphRoot, task: GraphTask) -> None:
        """Count in ``task.dependencies`` how many gradients each node gets that `root` leads to."""
        task.roots = root.next_edges  # type: ignore[assignment]
        task.count(task.roots)

    @staticmethod
    def execute_with_graph_task(
        graph_task: GraphTask, graph_root: GraphRoot, input_buffer: InputBuffer
    ) -> list[TensorBase | None]:
        """Run what `graph_root` leads to, over tensors, and then the callbacks; return the
        gradients that were asked for.
        """
        ready_queue = graph_task.ready_queue
        ready_queue.push(graph_root, input_buffer)
        call_in_task(graph_task, thread_main, graph_task, ready_queue)
        if graph_task.final_callbacks:
            call_in_task(graph_task, call_back, graph_task)
        return graph_task.captured_vars

    @staticmethod
    def thread_main(graph_task: GraphTask) -> None:
        """Run the nodes that are ready, and those that become ready, until none is left."""
        call_in_task(graph_task, thread_main, graph_task, graph_task.ready_queue)

    @staticmethod
    def evaluate_function(
        graph_task: GraphTask,
        fn: Callable[..., object],
        inputs: InputBuffer,
        ready_queue: ReadyQueue,
    ) -> None:
        """Run the node `fn`, with its hooks, on `inputs`; add what it returns to the input buffers
        of the nodes that follow, and put those into `ready_queue` that have all of theirs.
        """
        call_in_task(graph_task, evaluate_function, graph_task, fn, inputs, ready_queue)

    @staticmethod
    def queue_callback(callback: Callable[[], object]) -> None:
        """Call `callback` at the end of the backward that is under way.

        Raises
        ------
        RuntimeError
            Outside of any backward.
        """
        task = current_task.get()
        if task is None:
            raise RuntimeError(
                "Final callbacks can only be installed during backward pass. Call this from a hook "
                "or backward."
            )
        task.final_callbacks = (*task.final_callbacks, callback)

    @staticmethod
    def is_checkpoint_valid() -> bool:
        """Return whether the backward under way, and those it is nested in, were asked for all
        leaves rather than some.
        """
        task = current_task.get()
        while task is not None:
            if task.kept is not None:
                return False
            task = task.outer
        return True


class _EngineBase(Engine):
    """The engine as ``Variable._execution_engine`` has it: `backward` and `grad` end here."""

    def run_backward(
        self,
        tensors: tuple[Output, ...],
        grad_tensors: tuple[TensorBase | None, ...],
        keep_graph: bool,
        create_graph: bool,
        inputs: tuple[Output, ...] | None = None,
        allow_unreachable: bool = False,
        accumulate_grad: bool = False,
    ) -> tuple[TensorBase | None, ...] | None:
        """Run the graph of `tensors` backwards.

        Parameters
        ----------
        tensors
            Tensors, or gradient edges, to differentiate.
        grad_tensors
            The gradient to begin with for each.
        keep_graph
            Keep what the graph saved.
        create_graph
            Record the backward itself.
        inputs
            Tensors, or gradient edges, to differentiate by. Default: every leaf.
        allow_unreachable
            Return None for an input that `tensors` do not depend on. Default: False.
        accumulate_grad
            Add to the ``.grad`` of `inputs`, and return None. Default: False.

        Raises
        ------
        RuntimeError
            If an argument is not a tuple of tensors, or a tensor has no graph; if a gradient is
            missing or does not fit; without `accumulate_grad`, for empty or unused `inputs`.
        """
        if (
            tensors.__class__ is not tuple
            or grad_tensors.__class__ is not tuple
            or len(tensors) != len(grad_tensors)
        ):
            _check_tuples(tensors, grad_tensors)
        roots: list[EdgeTuple] = []
        for index, gradient in enumerate(grad_tensors):
            roots.append(root_edge(index, tensors[index]))
            if not isinstance(gradient, TensorBase):
                raise _no_gradient(index, gradient)
        outputs: list[EdgeTuple] = []
        if inputs is not None:
            if not isinstance(inputs, tuple):
                raise RuntimeError(
                    f"inputs to run_backward must be a tuple, but got {type(inputs).__name__}"
                )
            if accumulate_grad:
                for each in inputs:
                    if isinstance(each, TensorBase) and not each.is_leaf:
                        each.retain_grad()
            outputs = [wanted_edge(each, accumulate_grad) for each in inputs]
        gradients: Any = grad_tensors
        found = execute(roots, gradients, keep_graph, create_graph, accumulate_grad, outputs)
        if accumulate_grad:
            return None
        if not allow_unreachable:
            check_used(found)
        return tuple(found)


def check_used(gradients: Sequence[TensorBase | None]) -> None:
    """Refuse that there is no gradient of something to differentiate by. Raises RuntimeError if one
    of `gradients` is None.
    """
    for index, gradient in enumerate(gradients):
        if gradient is None:
            raise RuntimeError(
                f"The differentiated Tensor at index {index} appears to not have been used in the "
                "graph. Set allow_unused=True if this is the desired behavior."
            )


def _check_tuples(tensors: Any, gradients: Any) -> None:
    for name, given in (("tensors", tensors), ("grad_tensors", gradients)):
        if not isinstance(given, tuple):
            raise RuntimeError(
                f"{name} argument is expected to be a tuple, but got {type(given).__name__}"
            )
    if len(tensors) != len(gradients):
        raise RuntimeError(
            f"got {len(tensors)} tensors and {len(gradients)} gradients. Give one gradient per "
            "tensor."
        )


def root_edge(index: int, output: object) -> EdgeTuple:
    """Return the edge of one of the tensors to differentiate."""
    if not isinstance(output, TensorBase):
        if isinstance(output, GradientEdge):
            return output.node, output.output_nr
        raise RuntimeError(
            f"element {index} of tensors tuple is neither a Tensor nor a GradientEdge, but "
            f"{type(output).__name__}"
        )
    edge = gradient_edge(output)
    if edge is None:
        edge = gradient_edge(recorded(output))
    if edge is None:
        raise RuntimeError(
            f"element {index} of tensors does not require grad and does not have a grad_fn. "
            "Compute it, in grad mode, from a tensor that requires grad."
        )
    return edge


def _no_gradient(index: int, gradient: object) -> RuntimeError:
    if gradient is None:
        return RuntimeError(
            f"element {index} of gradients tuple is None, but the corresponding Tensor requires "
            "grad. Give its gradient; autograd.backward() begins with 1 for a scalar."
        )
    return RuntimeError(
        f"element {index} of gradients tuple is not a Tensor or None, but {type(gradient).__name__}"
    )


def wanted_edge(value: object, accumulate_grad: bool) -> EdgeTuple:
    """Return the edge of one of the tensors to differentiate by."""
    return edge_of_input(
        value,
        "can't retain_grad on Tensor that has requires_grad=False"
        if accumulate_grad
        else "One of the differentiated Tensors does not require grad",
    )


default_engine: Final = _EngineBase()
"""The engine that `backward` and `grad` use."""
