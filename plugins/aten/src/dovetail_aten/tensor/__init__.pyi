from .copying import copy_each as copy_each
from .copying import storable as storable
from .functions.writes import check_write as check_write
