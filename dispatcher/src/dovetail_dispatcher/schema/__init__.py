"""The schema language: parsing, binding of calls, casts of arguments, and schemas inferred from
Python signatures.
"""

from .binding import bind, bind_of_function, default_of
from .casts import CastError, caster
from .class_types import ClassType, register_custom_class
from .compatibility import is_subtype
from .errors import SchemaError
from .function_schema import AliasInfo, Argument, FunctionSchema, OperatorName
from .infer import infer_schema
from .parser import parse_name, parse_schema
from .types import (
    AnyType,
    AwaitType,
    BoolType,
    ComplexType,
    DeviceObjType,
    DictType,
    FloatType,
    FutureType,
    GeneratorType,
    IntType,
    LayoutType,
    ListType,
    MemoryFormatType,
    NoneType,
    NumberType,
    OptionalType,
    RRefType,
    ScalarTypeType,
    StorageType,
    StreamObjType,
    StringType,
    SymBoolType,
    SymIntType,
    TensorType,
    TupleType,
    Type,
    UnionType,
    VarType,
)

__all__ = [
    "AliasInfo",
    "AnyType",
    "Argument",
    "AwaitType",
    "BoolType",
    "CastError",
    "ClassType",
    "ComplexType",
    "DeviceObjType",
    "DictType",
    "FloatType",
    "FunctionSchema",
    "FutureType",
    "GeneratorType",
    "IntType",
    "LayoutType",
    "ListType",
    "MemoryFormatType",
    "NoneType",
    "NumberType",
    "OperatorName",
    "OptionalType",
    "RRefType",
    "ScalarTypeType",
    "SchemaError",
    "StorageType",
    "StreamObjType",
    "StringType",
    "SymBoolType",
    "SymIntType",
    "TensorType",
    "TupleType",
    "Type",
    "UnionType",
    "VarType",
    "bind",
    "bind_of_function",
    "caster",
    "default_of",
    "infer_schema",
    "is_subtype",
    "parse_name",
    "parse_schema",
    "register_custom_class",
]
