"""``dovetail.fx``: programs as graphs that can be read, changed and run."""

from __future__ import annotations

import typing as _typing

from ..names.missing import names_of as _names_of

__all__ = [
    "PH",
    "CodeGen",
    "Graph",
    "GraphModule",
    "Interpreter",
    "Node",
    "Proxy",
    "Tracer",
    "Transformer",
    "has_side_effect",
    "map_arg",
    "replace_pattern",
    "symbolic_trace",
    "wrap",
]

if _typing.TYPE_CHECKING:
    from ._symbolic_trace import PH as PH
    from ._symbolic_trace import Tracer as Tracer
    from ._symbolic_trace import symbolic_trace as symbolic_trace
    from ._symbolic_trace import wrap as wrap
    from .graph import CodeGen as CodeGen
    from .graph import Graph as Graph
    from .graph_module import GraphModule as GraphModule
    from .interpreter import Interpreter as Interpreter
    from .interpreter import Transformer as Transformer
    from .node import Node as Node
    from .node import has_side_effect as has_side_effect
    from .node import map_arg as map_arg
    from .proxy import Proxy as Proxy
    from .subgraph_rewriter import replace_pattern as replace_pattern
else:  # modules say ``torch.fx.wrap`` when they are defined: nothing more is imported for it
    __getattr__ = _names_of(
        __name__,
        (
            *("experimental", "graph", "graph_module", "immutable_collections", "interpreter"),
            *("node", "passes", "proxy", "subgraph_rewriter", "_symbolic_trace", "_compatibility"),
        ),
        {
            "CodeGen": f"{__name__}.source",
            "Graph": f"{__name__}.graph",
            "GraphModule": f"{__name__}.graph_module",
            "Interpreter": f"{__name__}.interpreter",
            "Node": f"{__name__}.node",
            "PH": f"{__name__}._symbolic_trace",
            "Proxy": f"{__name__}.proxy",
            "Tracer": f"{__name__}._symbolic_trace",
            "Transformer": f"{__name__}.interpreter",
            # Parts of pickles.
            "GraphTable": f"{__name__}.graph_tables",
            "NodeNumber": f"{__name__}.graph_tables",
            "rebuild_graph_module": f"{__name__}.graph_module",
            "has_side_effect": f"{__name__}.node",
            "map_arg": f"{__name__}.node",
            "replace_pattern": f"{__name__}.subgraph_rewriter",
            "symbolic_trace": f"{__name__}._symbolic_trace",
            "wrap": f"{__name__}._symbolic_trace",
        },
    )
