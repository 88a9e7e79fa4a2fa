from .backends import installed_device_types as installed_device_types
from .backends import is_device_type as is_device_type
from .default_device import STACK as STACK
from .default_device import chosen_devices as chosen_devices
from .default_device import innermost as innermost
from .lowering import PlanFacts as PlanFacts
from .overlap import Placement as Placement
from .overlap import share_bytes as share_bytes
