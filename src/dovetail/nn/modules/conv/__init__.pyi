from .convolutions import *
from .convolutions import _ConvNd as _ConvNd
from .convolutions import _ConvTransposeNd as _ConvTransposeNd
from .lazy_convolutions import *
