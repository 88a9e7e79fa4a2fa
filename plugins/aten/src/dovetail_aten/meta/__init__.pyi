from .meta_array import MetaArray as MetaArray
