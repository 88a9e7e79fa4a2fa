from .malloc import TunedMalloc as TunedMalloc
from .malloc import tune_malloc as tune_malloc
