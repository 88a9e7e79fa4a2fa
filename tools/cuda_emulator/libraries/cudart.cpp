// The functions of the CUDA runtime that CuPy calls, on memory of the host. Everything has happened when a function returns, but
// for copies into page-locked memory.
#include <cuda.h>
#include <cuda_runtime_api.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "memory.h"

namespace {

struct Event {
    std::chrono::steady_clock::time_point at;
};

cudaError_t copy(void *destination, const void *source, size_t bytes, cudaMemcpyKind kind) {
    bool to = emulator_owner(destination) >= 0, from = emulator_owner(source) >= 0;
    bool wanted = kind == cudaMemcpyDefault || ((kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice) == to &&
                                                (kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice) == from);
    if (!wanted && bytes) {
        emulator_set_error("a copy was given a pointer of the host for one of a device, or the other way round");
        return cudaErrorInvalidMemcpyDirection;
    }
    if ((to && !emulator_readable(destination, bytes)) || (from && !emulator_readable(source, bytes)))
        return cudaErrorIllegalAddress;
    emulator_count(to ? (from ? on_device : to_device) : to_host);
    memmove(destination, source, bytes);
    return cudaSuccess;
}

// What is copied late: the bytes are those of the time of the call, as later work of the stream comes after the copy.
struct Late {
    char *destination;
    std::string bytes;
};
std::mutex pinning;
std::map<char *, size_t> pinned;
std::vector<Late> late;

bool is_pinned(const void *address) {
    std::lock_guard<std::mutex> guard(pinning);
    auto found = pinned.upper_bound(static_cast<char *>(const_cast<void *>(address)));
    if (found == pinned.begin()) return false;
    --found;
    return static_cast<const char *>(address) < found->first + found->second;
}

void copy_late() {
    std::lock_guard<std::mutex> guard(pinning);
    for (const Late &each : late) memcpy(each.destination, each.bytes.data(), each.bytes.size());
    late.clear();
}

cudaError_t waited(Counter counter) {
    emulator_count(counter);
    copy_late();
    return cudaSuccess;
}

cudaError_t fill(void *address, int value, size_t bytes) {
    if (!emulator_readable(address, bytes)) return cudaErrorIllegalAddress;
    emulator_count(fills);
    memset(address, value, bytes);
    return cudaSuccess;
}

}  // namespace

extern "C" {

// -- devices -------------------------------------------------------------------------------------------------------------------

cudaError_t cudaGetDeviceCount(int *count) {
    *count = emulator_devices;
    return cudaSuccess;
}
cudaError_t cudaGetDevice(int *device) {
    *device = emulator_current_device();
    return cudaSuccess;
}
cudaError_t cudaSetDevice(int device) { return emulator_use_device(device) ? cudaSuccess : cudaErrorInvalidDevice; }
cudaError_t cudaDriverGetVersion(int *version) {
    *version = 12090;
    return cudaSuccess;
}
cudaError_t cudaRuntimeGetVersion(int *version) { return cudaDriverGetVersion(version); }

// EMULATOR_ARCHITECTURE=90 stands for sm_90; the default is sm_80.
static int architecture() {
    const char *wanted = getenv("EMULATOR_ARCHITECTURE");
    return wanted ? atoi(wanted) : 80;
}

cudaError_t cudaDeviceGetAttribute(int *value, cudaDeviceAttr attribute, int) {
    switch (attribute) {
        case cudaDevAttrComputeCapabilityMajor: *value = architecture() / 10; break;
        case cudaDevAttrComputeCapabilityMinor: *value = architecture() % 10; break;
        case cudaDevAttrMaxThreadsPerBlock: *value = 1024; break;
        case cudaDevAttrMaxSharedMemoryPerBlock: *value = 49152; break;
        case cudaDevAttrWarpSize: *value = 32; break;
        case cudaDevAttrMultiProcessorCount: *value = 108; break;
        case cudaDevAttrMaxThreadsPerMultiProcessor: *value = 2048; break;
        case cudaDevAttrMaxGridDimX: *value = 2147483647; break;
        case cudaDevAttrMaxGridDimY:
        case cudaDevAttrMaxGridDimZ: *value = 65535; break;
        case cudaDevAttrMaxBlockDimX:
        case cudaDevAttrMaxBlockDimY: *value = 1024; break;
        case cudaDevAttrMaxBlockDimZ: *value = 64; break;
        case cudaDevAttrUnifiedAddressing:
        case cudaDevAttrMemoryPoolsSupported: *value = 1; break;
        default: *value = 0;
    }
    return cudaSuccess;
}

cudaError_t cudaGetDeviceProperties_v2(cudaDeviceProp *found, int device) {
    if (device < 0 || device >= emulator_devices) return cudaErrorInvalidDevice;
    memset(found, 0, sizeof *found);
    snprintf(found->name, sizeof found->name, "Emulated device %d", device);
    found->major = architecture() / 10;
    found->minor = architecture() % 10;
    found->totalGlobalMem = size_t(4) << 30;
    found->multiProcessorCount = 108;
    found->warpSize = 32;
    found->maxThreadsPerBlock = 1024;
    found->maxThreadsPerMultiProcessor = 2048;
    found->sharedMemPerBlock = 49152;
    found->regsPerBlock = 65536;
    found->l2CacheSize = 40 << 20;
    return cudaSuccess;
}

cudaError_t cudaDeviceGetPCIBusId(char *text, int length, int device) {
    snprintf(text, length, "0000:0%d:00.0", device);
    return cudaSuccess;
}
cudaError_t cudaDeviceSynchronize() { return waited(device_syncs); }
// No device reaches the memory of another one: what forgets to copy fails here, as it does on machines without such a path.
cudaError_t cudaDeviceCanAccessPeer(int *can, int, int) {
    *can = 0;
    return cudaSuccess;
}

// -- errors --------------------------------------------------------------------------------------------------------------------

cudaError_t cudaGetLastError() { return cudaSuccess; }
const char *cudaGetErrorName(cudaError_t error) {
    switch (error) {
        case cudaErrorInvalidValue: return "cudaErrorInvalidValue";
        case cudaErrorMemoryAllocation: return "cudaErrorMemoryAllocation";
        case cudaErrorInvalidDevice: return "cudaErrorInvalidDevice";
        case cudaErrorInvalidMemcpyDirection: return "cudaErrorInvalidMemcpyDirection";
        case cudaErrorIllegalAddress: return "cudaErrorIllegalAddress";
        case cudaErrorNotReady: return "cudaErrorNotReady";
        case cudaErrorNotSupported: return "cudaErrorNotSupported";
        default: return "cudaErrorUnknown";
    }
}
const char *cudaGetErrorString(cudaError_t error) {
    switch (error) {
        case cudaErrorInvalidValue: return "invalid argument";
        case cudaErrorMemoryAllocation: return "out of memory";
        case cudaErrorInvalidDevice: return "invalid device ordinal";
        case cudaErrorNotSupported: return "operation not supported (by the emulator)";
        default: return emulator_error();
    }
}

// -- memory --------------------------------------------------------------------------------------------------------------------

cudaError_t cudaMalloc(void **address, size_t bytes) {
    emulator_count(allocations);
    return emulator_allocate(emulator_current_device(), bytes, address) ? cudaSuccess : cudaErrorMemoryAllocation;
}
cudaError_t cudaMallocAsync(void **address, size_t bytes, cudaStream_t) { return cudaMalloc(address, bytes); }
cudaError_t cudaMallocManaged(void **address, size_t bytes, unsigned) { return cudaMalloc(address, bytes); }
cudaError_t cudaFree(void *address) { return !address || emulator_free(address) ? cudaSuccess : cudaErrorInvalidValue; }
cudaError_t cudaFreeAsync(void *address, cudaStream_t) { return cudaFree(address); }
cudaError_t cudaHostAlloc(void **address, size_t bytes, unsigned) {
    *address = malloc(bytes ? bytes : 1);
    return cudaHostRegister(*address, bytes ? bytes : 1, 0);
}
cudaError_t cudaFreeHost(void *address) {
    cudaHostUnregister(address);
    free(address);
    return cudaSuccess;
}
cudaError_t cudaHostRegister(void *address, size_t bytes, unsigned) {
    std::lock_guard<std::mutex> guard(pinning);
    pinned[static_cast<char *>(address)] = bytes;
    return cudaSuccess;
}
cudaError_t cudaHostUnregister(void *address) {
    std::lock_guard<std::mutex> guard(pinning);
    char *start = static_cast<char *>(address), *end = start + pinned[start];
    pinned.erase(start);
    // A copy that is under way would be written to memory of something else.
    bool used = std::any_of(late.begin(), late.end(), [=](const Late &each) { return each.destination >= start && each.destination < end; });
    if (used) emulator_set_error("page-locked memory was freed while a copy into it was under way");
    return used ? cudaErrorIllegalAddress : cudaSuccess;
}
cudaError_t cudaMemGetInfo(size_t *available, size_t *all) {
    *all = size_t(4) << 30;
    *available = *all - emulator_in_use(emulator_current_device());
    return cudaSuccess;
}
cudaError_t cudaPointerGetAttributes(cudaPointerAttributes *found, const void *address) {
    memset(found, 0, sizeof *found);
    int owner = emulator_owner(address);
    found->type = owner >= 0 ? cudaMemoryTypeDevice : is_pinned(address) ? cudaMemoryTypeHost : cudaMemoryTypeUnregistered;
    found->device = owner < 0 ? emulator_current_device() : owner;
    found->devicePointer = owner < 0 ? nullptr : const_cast<void *>(address);
    return cudaSuccess;
}

cudaError_t cudaMemcpy(void *destination, const void *source, size_t bytes, cudaMemcpyKind kind) {
    return copy(destination, source, bytes, kind);
}
// A copy into page-locked memory is late: it happens when the host waits. Others have happened on return, as on devices from memory
// that is not page-locked.
cudaError_t cudaMemcpyAsync(void *destination, const void *source, size_t bytes, cudaMemcpyKind kind, cudaStream_t) {
    bool is_late = is_pinned(destination) && emulator_owner(source) >= 0 && emulator_readable(source, bytes);
    if (!is_late) {
        if (is_pinned(source)) copy_late();  // earlier work of the stream comes before
        return copy(destination, source, bytes, kind);
    }
    emulator_count(to_host);
    const char *from = static_cast<const char *>(source);
    std::lock_guard<std::mutex> guard(pinning);
    late.push_back({static_cast<char *>(destination), std::string(from, bytes)});
    return cudaSuccess;
}
cudaError_t cudaMemcpyPeer(void *destination, int to, const void *source, int from, size_t bytes) {
    if (bytes && (emulator_owner(destination) != to || emulator_owner(source) != from)) {
        emulator_set_error("a copy between devices was given a pointer of another device");
        return cudaErrorIllegalAddress;
    }
    return copy(destination, source, bytes, cudaMemcpyDeviceToDevice);
}
cudaError_t cudaMemcpyPeerAsync(void *destination, int to, const void *source, int from, size_t bytes, cudaStream_t) {
    return cudaMemcpyPeer(destination, to, source, from, bytes);
}
cudaError_t cudaMemset(void *address, int value, size_t bytes) { return fill(address, value, bytes); }
cudaError_t cudaMemsetAsync(void *address, int value, size_t bytes, cudaStream_t) { return fill(address, value, bytes); }

// -- streams and events --------------------------------------------------------------------------------------------------------

cudaError_t cudaStreamCreate(cudaStream_t *stream) {
    *stream = static_cast<cudaStream_t>(malloc(8));
    return cudaSuccess;
}
cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned) { return cudaStreamCreate(stream); }
cudaError_t cudaStreamCreateWithPriority(cudaStream_t *stream, unsigned, int) { return cudaStreamCreate(stream); }
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
    free(stream);
    return cudaSuccess;
}
cudaError_t cudaStreamSynchronize(cudaStream_t) { return waited(stream_syncs); }
cudaError_t cudaStreamQuery(cudaStream_t) { return late.empty() ? cudaSuccess : cudaErrorNotReady; }
cudaError_t cudaStreamWaitEvent(cudaStream_t, cudaEvent_t, unsigned) { return cudaSuccess; }
cudaError_t cudaStreamIsCapturing(cudaStream_t, cudaStreamCaptureStatus *status) {
    *status = cudaStreamCaptureStatusNone;
    return cudaSuccess;
}
cudaError_t cudaStreamGetPriority(cudaStream_t, int *priority) {
    *priority = 0;
    return cudaSuccess;
}
cudaError_t cudaEventCreate(cudaEvent_t *event) {
    *event = reinterpret_cast<cudaEvent_t>(new Event{std::chrono::steady_clock::now()});
    return cudaSuccess;
}
cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned) { return cudaEventCreate(event); }
cudaError_t cudaEventDestroy(cudaEvent_t event) {
    delete reinterpret_cast<Event *>(event);
    return cudaSuccess;
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t) {
    reinterpret_cast<Event *>(event)->at = std::chrono::steady_clock::now();
    return cudaSuccess;
}
cudaError_t cudaEventElapsedTime(float *milliseconds, cudaEvent_t first, cudaEvent_t second) {
    auto between = reinterpret_cast<Event *>(second)->at - reinterpret_cast<Event *>(first)->at;
    *milliseconds = std::chrono::duration<float, std::milli>(between).count();
    return cudaSuccess;
}
cudaError_t cudaEventQuery(cudaEvent_t) { return late.empty() ? cudaSuccess : cudaErrorNotReady; }
cudaError_t cudaEventSynchronize(cudaEvent_t) { return waited(event_syncs); }
int cudaProfilerStart() { return 0; }
int cudaProfilerStop() { return 0; }
}
