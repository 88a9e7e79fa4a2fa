/* Patches of lines under windows, and sums of patches. */
#ifndef DOVETAIL_WINDOWS_H
#define DOVETAIL_WINDOWS_H

#include "instruction_set.h"

/* Windows along one axis of an image, one every `stride` elements from `-padding` on. A negative
 * padding skips elements. */
typedef struct {
    ptrdiff_t size, kernel, stride, padding, dilation, number;
} window;

/* An image in C order has three axes, of which leading ones have one element and one window. */
enum { WINDOW_AXES = 3 };
typedef struct {
    window axis[WINDOW_AXES];
} image_windows;

/* Write for each place of the windows, the last axis fastest, the elements that all windows have
 * there, and zeros for those that they have beyond the image. Places are `step` bytes apart. */
typedef void patch_writer(
    char *patches, ptrdiff_t step, const char *image, ptrdiff_t item, const image_windows *windows);

/* Add patches to an image. Places are `step` elements apart. */
typedef void patch_adder(
    void *image, const void *patches, ptrdiff_t step, const image_windows *windows);

/* By precision, of which the first is single. */
typedef struct {
    patch_writer *write;
    patch_adder *add[2];
} window_kernels;

#endif
