from dovetail_aten import Tensor

from ...overrides import (
    handle_torch_function,
    has_torch_function,
    has_torch_function_unary,
    has_torch_function_variadic,
)
from .. import grad
from ..functional_arguments import _get_softmax_dim
from ..modules.utils import _list_with_default, _pair, _single, _triple
from .activations import *
from .attention import *
from .attention_inputs import _canonical_mask, _in_projection, _in_projection_packed, _none_or_dtype
from .attention_shapes import _mha_shape_check
from .convolutions import *
from .distances import *
from .dropouts import *
from .embeddings import *
from .losses import *
from .margin_losses import *
from .normalizations import *
from .normalizations import _verify_batch_size
from .operators import *
from .pooling import *
from .regression_losses import *
from .resampling import *
from .unpooling import *
