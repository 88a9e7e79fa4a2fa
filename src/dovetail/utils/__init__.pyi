from ..inspection.drawing import GraphDrawing as GraphDrawing
from ..inspection.drawing import draw_graph as draw_graph
from ..inspection.gradient_explanation import GradExplanation as GradExplanation
from ..inspection.gradient_explanation import explain_grad as explain_grad
from ..inspection.runs.values import Fingerprint as Fingerprint
from ..inspection.tensor_drawing import TensorDrawing as TensorDrawing
from ..inspection.tensor_drawing import draw_tensor as draw_tensor
from . import (
    _foreach_utils,
    _python_dispatch,
    _pytree,
    collect_env,
    cpp_extension,
    deterministic,
    flop_counter,
    model_zoo,
    module_tracker,
    serialization,
    tensorboard,
    weak,
)
from . import benchmark as benchmark
from . import checkpoint as checkpoint
from . import data as data
from . import dlpack as dlpack
from . import hooks as hooks
from .swapping import swap_tensors as swap_tensors
