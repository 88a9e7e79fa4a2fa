/* The pointwise part of one step of an LSTM, and of its gradient. */
#include "recurrence.h"

#include "elementary.h"

#define TEMPLATE "recurrence_template.h"
#include "both_precisions.h"

const recurrence_kernels JOIN(recurrence, ISA) = {{{step_f32, back_f32}, {step_f64, back_f64}}};
