"""The engine, its tasks, queue and buffers, under the names that they have in PyTorch's C++."""

from dovetail_autograd import (
    Engine,
    ExecInfo,
    GraphRoot,
    GraphTask,
    InputBuffer,
    NodeTask,
    ReadyQueue,
    current_graph_task,
)

__all__ = [
    "Engine",
    "ExecInfo",
    "GraphRoot",
    "GraphTask",
    "InputBuffer",
    "NodeTask",
    "ReadyQueue",
    "current_graph_task",
]
