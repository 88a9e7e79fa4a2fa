from .containers import *
from .parameter_containers import *
