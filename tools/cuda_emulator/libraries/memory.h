// The memory of the emulated devices, and what is counted. Lives in libcuda.so.1; cudart, cuBLAS and the others link to it.
#pragma once
#include <cstddef>
#include <cstdint>

constexpr int emulator_devices = 2;

enum Counter {
    launches,
    to_device,    // copies from the host
    to_host,      // copies to the host
    on_device,    // copies between device memory, of one device or two
    stream_syncs,
    device_syncs,
    event_syncs,
    allocations,
    fills,
    library_calls,  // of cuBLAS, cuFFT, cuSOLVER
    counters,
};

extern "C" {
void emulator_count(int counter);
long emulator_counted(int counter);

int emulator_current_device();
bool emulator_use_device(int index);

// Return whether there was room. The block ends at a page that cannot be touched.
bool emulator_allocate(int device, size_t bytes, void **address);
// Return whether `address` began a block. Nothing can touch its pages afterwards.
bool emulator_free(void *address);
size_t emulator_in_use(int device);

// Return the device that owns the address, -1 if it is none of theirs.
int emulator_owner(const void *address);
// Return whether `bytes` bytes at `address` are of one block that was not freed, and make it touchable; else say why not.
bool emulator_readable(const void *address, size_t bytes);
// Make the memory of a device untouchable, while kernels of another one run, or touchable again.
void emulator_hide_memory(int device, bool hidden);
// Write what is wrong with an access to `address` by a kernel of `device` into the last error.
void emulator_explain_access(const void *address, int device, const char *kernel);

void emulator_set_error(const char *text);
const char *emulator_error();

// Note a launch by its name, and the block and grid that it had.
void emulator_note_launch(const char *name);
// Run `body`, which sees the memory of the current device alone. Return the status of a launch.
int emulator_run(const char *name, const char *(*body)(void *), void *data);
}
