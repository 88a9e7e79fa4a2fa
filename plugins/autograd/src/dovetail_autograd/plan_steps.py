"""Kinds of steps of autograd, and the functions that their text calls, for what compiles plans."""

from __future__ import annotations

from .graph.autograd_meta import gradient_edge, leaf_edge
from .graph.function_node import DIFFERENTIABLE
from .graph.node import sequence_numbers
from .graph.saved_extras import recorded, recording_extras
from .graph.saved_slots import save_input, save_result, save_result_tensor
from .graph.views import (
    CreationMeta,
    DifferentiableViewMeta,
    check_inplace,
    mark_view,
    rebase_history,
)
from .recording.edges import Edge, FindEdge, IfAnyEdge, edge_of, edges_of
from .recording.fused_recording import UnlessEdge, UnlessFitting, UnlessUnwatched
from .recording.record_node import (
    NODE,
    AttachList,
    AttachResult,
    DescribeResults,
    HandleExtras,
    RebaseHistory,
    RecordNode,
)
from .recording.saving import (
    FormulaExpression,
    NoteVersion,
    SaveNothing,
    SaveResult,
    SaveTensor,
    SaveValue,
)
from .recording.write_steps import (
    CheckInplace,
    CopyBeforeWrite,
    MarkView,
    RefuseGradient,
    copy_before_write,
    mark_views,
    refuse_gradient,
)

__all__ = [
    "DIFFERENTIABLE",
    "NODE",
    "AttachList",
    "AttachResult",
    "CheckInplace",
    "CopyBeforeWrite",
    "CreationMeta",
    "DescribeResults",
    "DifferentiableViewMeta",
    "Edge",
    "FindEdge",
    "FormulaExpression",
    "HandleExtras",
    "IfAnyEdge",
    "MarkView",
    "NoteVersion",
    "RebaseHistory",
    "RecordNode",
    "RefuseGradient",
    "SaveNothing",
    "SaveResult",
    "SaveTensor",
    "SaveValue",
    "UnlessEdge",
    "UnlessFitting",
    "UnlessUnwatched",
    "check_inplace",
    "copy_before_write",
    "edge_of",
    "edges_of",
    "gradient_edge",
    "leaf_edge",
    "mark_view",
    "mark_views",
    "rebase_history",
    "recorded",
    "recording_extras",
    "refuse_gradient",
    "save_input",
    "save_result",
    "save_result_tensor",
    "sequence_numbers",
]
