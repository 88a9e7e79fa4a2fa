from ..printer import build as build
from .composition import Composition as Composition
from .composition import call_keys as call_keys
from .composition import compose_whole as compose_whole
from .tensor_plans import equals_default as equals_default
