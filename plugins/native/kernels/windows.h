/* Patches of lines under windows, sums of patches, and convolutions that keep channels apart. */
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

/* The number of elements of memory that the functions below work in, which may be any. */
typedef double room_size(const image_windows *windows);

/* With an image x, its results y, an element for each window, and a weight w, an element for each
 * place: add w x to y; add w y to x; set w to the sums of x y over `count` images. Images, and
 * results, are so many elements apart. */
typedef void channel_correlator(
    void *results, const void *image, const void *weight, const image_windows *windows, void *room);
typedef void channel_spreader(
    void *image, const void *results, const void *weight, const image_windows *windows, void *room);
typedef void channel_weigher(
    void *weight, const void *images, ptrdiff_t between_images, const void *results,
    ptrdiff_t between_results, ptrdiff_t count, const image_windows *windows, void *room);

/* By precision, of which the first is single. */
typedef struct {
    room_size *room;
    patch_writer *write;
    patch_adder *add[2];
    channel_correlator *correlate[2];
    channel_spreader *spread[2];
    channel_weigher *weigh[2];
    int (*are_finite[2])(const void *numbers, ptrdiff_t count);
} window_kernels;

#define DECLARE(set) extern const window_kernels JOIN(windows, set);
FOR_INSTRUCTION_SETS(DECLARE)
#undef DECLARE

#endif
