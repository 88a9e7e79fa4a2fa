from .derived_recording import derived_plan as derived_plan
from .fused_recording import fused_plan as fused_plan
from .registered_derivative import registered_plan as registered_plan
from .unknown_derivative import unknown_plan as unknown_plan
from .write_steps import guarding_writes as guarding_writes
from .write_steps import marking_views as marking_views
