from .pooling import *
from .pooling import _AdaptiveAvgPoolNd as _AdaptiveAvgPoolNd
from .pooling import _AdaptiveMaxPoolNd as _AdaptiveMaxPoolNd
from .pooling import _MaxPoolNd as _MaxPoolNd
from .unpooling import *
from .unpooling import _LPPoolNd as _LPPoolNd
from .unpooling import _MaxUnpoolNd as _MaxUnpoolNd
