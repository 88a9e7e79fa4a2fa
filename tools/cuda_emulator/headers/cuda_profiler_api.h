/* What CuPy wants of the header of that name, which is in no wheel that is needed here. */
#pragma once
extern "C" int cudaProfilerStart(void);
extern "C" int cudaProfilerStop(void);
