from .tensor_interface import TensorInterface as TensorInterface
