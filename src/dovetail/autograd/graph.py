"""The graph, hooks for saved tensors, and gradient edges, as in ``torch.autograd.graph``; and plans
of backwards.
"""

from dovetail_autograd import (
    GradientEdge,
    Node,
    Plan,
    PlannedNode,
    allow_mutation_on_saved_tensors,
    disable_saved_tensors_hooks,
    get_gradient_edge,
    increment_version,
    plan,
    register_multi_grad_hook,
    save_on_cpu,
    saved_tensors_hooks,
)

__all__ = [
    "GradientEdge",
    "Node",
    "Plan",
    "PlannedNode",
    "allow_mutation_on_saved_tensors",
    "disable_saved_tensors_hooks",
    "get_gradient_edge",
    "increment_version",
    "plan",
    "register_multi_grad_hook",
    "save_on_cpu",
    "saved_tensors_hooks",
]
