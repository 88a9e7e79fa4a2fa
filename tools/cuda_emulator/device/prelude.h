// Precompiled by the build: what CUDA C++ knows by itself.
#pragma once
#include "emulated.h"
