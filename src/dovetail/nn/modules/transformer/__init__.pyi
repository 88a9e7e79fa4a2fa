from .transformer_layers import *
from .transformers import *
