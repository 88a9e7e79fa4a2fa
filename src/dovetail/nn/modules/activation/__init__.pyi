from ..linear import NonDynamicallyQuantizableLinear
from .common_activations import *
from .multihead_attention import *
from .rarer_activations import *
