from dovetail_aten import Tensor

from ...parameter import Parameter
from ..module import Module
from ..utils import _pair, _reverse_repeat_tuple, _single, _triple
from .convolutions import *
from .convolutions import _ConvNd as _ConvNd
from .convolutions import _ConvTransposeNd as _ConvTransposeNd
from .lazy_convolutions import *
