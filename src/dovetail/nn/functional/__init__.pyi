from dovetail_aten import Tensor
from dovetail_aten import adaptive_avg_pool1d as adaptive_avg_pool1d
from dovetail_aten import avg_pool1d as avg_pool1d
from dovetail_aten import bilinear as bilinear
from dovetail_aten import celu_ as celu_
from dovetail_aten import channel_shuffle as channel_shuffle
from dovetail_aten import conv1d as conv1d
from dovetail_aten import conv2d as conv2d
from dovetail_aten import conv3d as conv3d
from dovetail_aten import conv_tbc as conv_tbc
from dovetail_aten import conv_transpose1d as conv_transpose1d
from dovetail_aten import conv_transpose2d as conv_transpose2d
from dovetail_aten import conv_transpose3d as conv_transpose3d
from dovetail_aten import cosine_similarity as cosine_similarity
from dovetail_aten import hardshrink as hardshrink
from dovetail_aten import native_channel_shuffle as native_channel_shuffle
from dovetail_aten import pairwise_distance as pairwise_distance
from dovetail_aten import pdist as pdist
from dovetail_aten import pixel_shuffle as pixel_shuffle
from dovetail_aten import pixel_unshuffle as pixel_unshuffle
from dovetail_aten import prelu as prelu
from dovetail_aten import relu_ as relu_
from dovetail_aten import rrelu_ as rrelu_
from dovetail_aten import selu_ as selu_
from dovetail_aten import sigmoid as sigmoid
from dovetail_aten import tanh as tanh
from dovetail_aten import threshold_ as threshold_
from dovetail_aten.nn import avg_pool2d as avg_pool2d
from dovetail_aten.nn import avg_pool3d as avg_pool3d
from dovetail_aten.nn import elu_ as elu_
from dovetail_aten.nn import gelu as gelu
from dovetail_aten.nn import hardtanh_ as hardtanh_
from dovetail_aten.nn import leaky_relu_ as leaky_relu_
from dovetail_aten.nn import linear as linear
from dovetail_aten.nn import one_hot as one_hot
from dovetail_aten.nn import pad as pad
from dovetail_aten.nn import scaled_dot_product_attention as scaled_dot_product_attention
from dovetail_aten.nn import softplus as softplus
from dovetail_aten.nn import softshrink as softshrink

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
from .activations import logsigmoid as logsigmoid
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
from .pooling import *
from .regression_losses import *
from .resampling import *
from .unpooling import *
