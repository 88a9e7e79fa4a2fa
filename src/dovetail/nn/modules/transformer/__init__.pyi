from dovetail_aten import Tensor

from ...init import xavier_uniform_
from ..activation import MultiheadAttention
from ..container import ModuleList
from ..dropout import Dropout
from ..linear import Linear
from ..module import Module
from ..normalization import LayerNorm
from .transformer_layers import *
from .transformer_layers import _get_activation_fn
from .transformers import *
from .transformers import _get_clones
