"""The dry run of a backward: which nodes it will run, in which order, and what each will free."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, overload

from dovetail_kernel import TensorBase

from ...graph.accumulate import AccumulateGrad
from ...graph.node import EdgeTuple, Node
from ...graph.saved_listing import SavedValue, saved_values
from ..imperative_engine import root_edge, wanted_edge
from ..tasks.dependencies import count_gradients
from ..tasks.graph_task import GraphTask
from ..tasks.ready_queue import InputBuffer, ReadyQueue
from ..tasks.roots import Output, as_tuple


@dataclass(frozen=True)
class PlannedNode:
    """One step of a backward.

    Attributes
    ----------
    node
        The node.
    dependencies
        How many gradients it waits for: from the nodes before it, and from the caller.
    runs
        Whether it runs; else its gradient is captured only.
    frees
        The tensors that it saved and lets go of. None where the graph is kept. What a later node
        saved too, that one lets go of; and what is a leaf of the graph lives on.
    nbytes
        How many bytes these have. They are free unless the program holds the tensors, too.
    unusable
        What it saved that was freed or changed in place since: to run it will fail.
    """

    node: Node
    dependencies: int
    runs: bool
    frees: tuple[SavedValue, ...]
    nbytes: int
    unusable: tuple[SavedValue, ...]

    def __str__(self) -> str:
        gradients = "1 gradient" if self.dependencies == 1 else f"{self.dependencies} gradients"
        parts = [f"{self.node.name().rpartition('::')[2]}: waits for {gradients}"]
        if not self.runs:
            parts.append("is captured only")
        if self.frees:
            names = ", ".join([each.name for each in self.frees])
            parts.append(f"frees {names} ({self.nbytes} bytes)")
        words = {"freed": "was freed", "changed": "was changed in place"}
        parts += [f"{each.name} {words[each.state]}" for each in self.unusable]
        return ", ".join(parts)


class Plan(Sequence[PlannedNode]):
    """The steps of a backward, in order; ``print(plan)`` shows a line for each."""

    def __init__(self, steps: Sequence[PlannedNode]) -> None:
        self._steps = tuple(steps)

    @overload
    def __getitem__(self, index: int) -> PlannedNode: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[PlannedNode]: ...
    def __getitem__(self, index: Any) -> Any:
        return self._steps[index]

    def __len__(self) -> int:
        return len(self._steps)

    def __str__(self) -> str:
        return "\n".join([f"{number}. {step}" for number, step in enumerate(self._steps, 1)])

    def __repr__(self) -> str:
        return f"<plan of {len(self)} nodes>"


def plan(
    tensors: Output | Sequence[Output],
    inputs: Output | Sequence[Output] | None = None,
    *,
    retain_graph: bool = False,
    accumulate_grad: bool = True,
) -> Plan:
    """Return the steps of a backward from `tensors` without running it.

    The engine's own queue and counts are gone through, but no node runs, no hook is called and
    nothing is freed. (That of a leaf is shown where its gradient is complete. A run that nothing
    looks at may add it to ``.grad`` later.)

    Parameters
    ----------
    tensors
        The outputs to differentiate: tensors or gradient edges.
    inputs
        The inputs to differentiate with respect to. Default: every leaf.
    retain_graph
        Whether the backward would keep the graph, and free nothing. Default: False.
    accumulate_grad
        Whether it would be that of `backward`; else that of `grad`, which captures the gradients of
        `inputs`. Default: True.

    Raises
    ------
    RuntimeError
        For a tensor without graph.
    """
    roots = [root_edge(index, each) for index, each in enumerate(as_tuple(tensors))]
    task = GraphTask(retain_graph, False, roots)
    if inputs is not None:
        wanted = [wanted_edge(each, accumulate_grad) for each in as_tuple(inputs)]
        task.init_to_execute(wanted, accumulate_grad)
    elif not accumulate_grad:
        raise RuntimeError("a plan of grad() needs inputs. Name what to differentiate by.")
    return Plan(list(dry_run(task)))


def dry_run(task: GraphTask) -> Iterator[PlannedNode]:
    """Yield what a run of `task` does from its roots on."""
    counts = count_gradients(task.roots)
    waits = {node: count + 1 for node, count in counts.items()}
    ready_queue = ReadyQueue()
    order: list[Node] = []
    edges: Sequence[EdgeTuple | None] = task.roots
    while True:
        for edge in edges:
            if edge is None or not (task.kept is None or edge[0] in task.kept):
                continue
            counts[edge[0]] -= 1
            if counts[edge[0]] < 0:
                ready_queue.push(edge[0], InputBuffer())
        if ready_queue.empty():
            break
        node = ready_queue.pop().fn
        order.append(node)
        edges = node.next_edges if task.runs(node) else ()
    yield from _steps(task, order, waits)


def _steps(task: GraphTask, order: list[Node], waits: dict[Node, int]) -> Iterator[PlannedNode]:
    saved = {node: saved_values(node.presented()) if task.runs(node) else [] for node in order}
    last: dict[int, Node | None] = {}
    for node, values in saved.items():
        for each in values:
            last[_memory(each)] = node
    for node in order:
        if isinstance(node, AccumulateGrad):
            last[_memory_of(node.variable.array)[0]] = None
    for node in order:
        held = [each for each in saved[node] if each.state == "packed" or _is_tensor(each.value)]
        frees = [] if task.keep_graph else [each for each in held if last[_memory(each)] is node]
        sizes = {_memory(each): _nbytes(each) for each in frees}
        unusable = [each for each in saved[node] if each.state in ("freed", "changed")]
        yield PlannedNode(
            node.presented(),
            waits[node],
            task.runs(node),
            tuple(frees),
            sum(sizes.values()),
            tuple(unusable),
        )


def _is_tensor(value: object) -> bool:
    return isinstance(value, TensorBase)


def _memory(saved: SavedValue) -> int:
    """Return a number for the memory of what was saved: the same for views of one array."""
    value = saved.value
    return _memory_of(value.array)[0] if isinstance(value, TensorBase) else id(saved)


def _memory_of(array: Any) -> tuple[int, int]:
    """Return a number for the memory of `array`, and its size."""
    while getattr(array, "base", None) is not None:
        array = array.base
    return id(array), getattr(array, "nbytes", 0)


def _nbytes(saved: SavedValue) -> int:
    """Return how many bytes of its memory a tensor shows; 0 for what hooks packed."""
    value = saved.value
    if not isinstance(value, TensorBase):
        return 0
    return min(value.nbytes, _memory_of(value.array)[1])
