/* CuPy includes the header of that name for its plain functions: the rest needs nvcc's own headers. */
#pragma once
#include <cuda_runtime_api.h>
#include <driver_functions.h>
