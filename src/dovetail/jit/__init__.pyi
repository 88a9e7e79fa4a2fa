from typing import Final as Final

from ..futures import Future as Future
from . import annotations
from .recording import TracerWarning as TracerWarning
from .recording import is_tracing as is_tracing
from .script_classes import CompilationUnit as CompilationUnit
from .script_classes import RecursiveScriptModule as RecursiveScriptModule
from .script_classes import ScriptFunction as ScriptFunction
from .script_classes import ScriptModule as ScriptModule
from .traced import TopLevelTracedModule as TopLevelTracedModule
from .traced import TracedFunction
from .traced import TracingCheckError as TracingCheckError
from .traced import trace as trace
from .traced import trace_module as trace_module
from .without_compiler import *
from .without_compiler import _overload as _overload
from .without_compiler import _overload_method as _overload_method
from .without_compiler import _script_if_tracing as _script_if_tracing
