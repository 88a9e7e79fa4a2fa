/* The pointwise part of one step of an LSTM, and of its gradient. */
#include "recurrence.h"

#include "elementary.h"

#define REAL_BITS 32
#include "recurrence_template.h"
#undef REAL_BITS
#define REAL_BITS 64
#include "recurrence_template.h"
#undef REAL_BITS

const recurrence_kernels JOIN(recurrence, ISA) = {{{step_f32, back_f32}, {step_f64, back_f64}}};
