/* exchange.c: function of the module. */
#ifndef DOVETAIL_EXCHANGE_H
#define DOVETAIL_EXCHANGE_H

#include "native.h"

PyObject *exchange_api(PyObject *module, PyObject *args);

#endif
