"""The old names of optimizers that take the steps of many parameters at once."""

from __future__ import annotations

from functools import partialmethod

from ..adadelta import Adadelta as _Adadelta
from ..adagrad import Adagrad as _Adagrad
from ..adam import Adam as _Adam
from ..adam import AdamW as _AdamW
from ..adamax import Adamax as _Adamax
from ..asgd import ASGD as _ASGD
from ..nadam import NAdam as _NAdam
from ..optimizer import Optimizer
from ..radam import RAdam as _RAdam
from ..rmsprop import RMSprop as _RMSprop
from ..rprop import Rprop as _Rprop
from ..sgd import SGD as _SGD

__all__ = [
    "ASGD",
    "SGD",
    "Adadelta",
    "Adagrad",
    "Adam",
    "AdamW",
    "Adamax",
    "NAdam",
    "RAdam",
    "RMSprop",
    "Rprop",
]


def _at_once(base: type[Optimizer]) -> type[Optimizer]:
    """Return a class whose ``foreach`` is True."""
    members = {"__init__": partialmethod(base.__init__, foreach=True), "__doc__": base.__doc__}
    return type(base.__name__, (base,), members)


Adadelta = _at_once(_Adadelta)
Adagrad = _at_once(_Adagrad)
Adam = _at_once(_Adam)
AdamW = _at_once(_AdamW)
Adamax = _at_once(_Adamax)
ASGD = _at_once(_ASGD)
NAdam = _at_once(_NAdam)
RAdam = _at_once(_RAdam)
RMSprop = _at_once(_RMSprop)
Rprop = _at_once(_Rprop)
SGD = _at_once(_SGD)
