from .cells import *
from .network_base import *
from .networks import *
