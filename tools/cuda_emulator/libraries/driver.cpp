// libcuda.so.1: the part of the driver that CuPy calls. A module is a library that the NVRTC of the emulator has made, and its kernels
// run at once; or a cubin of the real NVRTC (strict mode), whose launches are counted and do nothing.
#include <dlfcn.h>
#include <setjmp.h>
#include <signal.h>
#include <ucontext.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "memory.h"
#include "threads.h"

extern "C" void emulator_leave_fiber();

namespace {

constexpr int invalid_value = 1, invalid_image = 200, not_found = 500, illegal_address = 700, launch_failed = 719;
constexpr unsigned most_threads = 1024;

struct Module {
    void *library;  // null for a cubin
};

struct Function {
    std::string name;
    void (*run)(void **);
    int style;
};

std::recursive_mutex lock;
std::vector<std::string> noted;
bool noting = false;
std::atomic<void (*)(const char *)> teller{nullptr};

sigjmp_buf escape;
void *touched;

void interrupted(int, siginfo_t *info, void *) {
    touched = info->si_addr;
    siglongjmp(escape, 1);
}

// A device divides an integer by zero, or the smallest by -1, without an error, and some number comes out. Processors that make a
// signal of it are made to step over the instruction.
void divided(int, siginfo_t *, void *context) {
#ifdef __x86_64__
    auto &registers = static_cast<ucontext_t *>(context)->uc_mcontext.gregs;
    auto at = reinterpret_cast<const unsigned char *>(registers[REG_RIP]);
    while (*at == 0x66 || (*at & 0xf0) == 0x40) ++at;  // the size of the operands
    int mode = at[1] >> 6, operand = at[1] & 7;
    bool is_indexed = mode != 3 && operand == 4;
    int base = is_indexed ? at[2] & 7 : operand;
    at += 2 + is_indexed;
    at += mode == 1 ? 1 : mode == 2 || (mode == 0 && base == 5) ? 4 : 0;  // the bytes of an offset
    registers[REG_RIP] = reinterpret_cast<greg_t>(at);
    registers[REG_RAX] = registers[REG_RDX] = -1;
#endif
}

}  // namespace

extern "C" {

// What must not be touched ends the launch, not the process.
int emulator_run(const char *name, const char *(*body)(void *), void *data) {
    static char *stack = new char[1 << 16];
    std::lock_guard<std::recursive_mutex> guard(lock);
    int device = emulator_current_device();
    for (int each = 0; each < emulator_devices; ++each) emulator_hide_memory(each, each != device);
    stack_t own{}, before;
    own.ss_sp = stack;
    own.ss_size = 1 << 16;
    sigaltstack(&own, &before);
    struct sigaction action {}, segv, bus, fpe;
    action.sa_sigaction = interrupted;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
    sigaction(SIGSEGV, &action, &segv);
    sigaction(SIGBUS, &action, &bus);
    action.sa_sigaction = divided;
    sigaction(SIGFPE, &action, &fpe);
    int status = 0;
    if (sigsetjmp(escape, 1) == 0) {
        if (const char *problem = body(data)) {
            emulator_set_error((std::string(name) + ": " + problem).c_str());
            status = launch_failed;
        }
    } else {
        emulator_leave_fiber();
        emulator_explain_access(touched, device, name);
        status = illegal_address;
    }
    sigaction(SIGSEGV, &segv, nullptr);
    sigaction(SIGBUS, &bus, nullptr);
    sigaction(SIGFPE, &fpe, nullptr);
    sigaltstack(&before, nullptr);
    if (status) fprintf(stderr, "CUDA emulator: %s\n", emulator_error());
    return status;
}

void emulator_note_launches(int on) {
    std::lock_guard<std::recursive_mutex> guard(lock);
    noting = on;
    noted.clear();
}

void emulator_tell_launches(void (*to)(const char *)) { teller = to; }

// Not to be called under the lock: who is told may wait for another thread that needs it.
void emulator_note_launch(const char *name) {
    {
        std::lock_guard<std::recursive_mutex> guard(lock);
        if (noting) noted.emplace_back(name);
    }
    if (auto tell = teller.load()) tell(name);
}

const char *emulator_noted(size_t index) {
    std::lock_guard<std::recursive_mutex> guard(lock);
    return index < noted.size() ? noted[index].c_str() : nullptr;
}

int cuGetErrorName(int status, const char **name) {
    static const std::map<int, const char *> names = {{invalid_value, "CUDA_ERROR_INVALID_VALUE"},
                                                      {invalid_image, "CUDA_ERROR_INVALID_IMAGE"},
                                                      {not_found, "CUDA_ERROR_NOT_FOUND"},
                                                      {illegal_address, "CUDA_ERROR_ILLEGAL_ADDRESS"},
                                                      {launch_failed, "CUDA_ERROR_LAUNCH_FAILED"}};
    auto found = names.find(status);
    *name = found == names.end() ? "CUDA_ERROR_UNKNOWN" : found->second;
    return 0;
}

int cuGetErrorString(int, const char **text) {
    *text = emulator_error();
    return 0;
}

// A context is the index of its device plus one.
int cuCtxGetCurrent(void **context) {
    *context = reinterpret_cast<void *>(intptr_t(emulator_current_device() + 1));
    return 0;
}
int cuCtxSetCurrent(void *context) {
    return !context || emulator_use_device(int(reinterpret_cast<intptr_t>(context)) - 1) ? 0 : invalid_value;
}
int cuCtxGetDevice(int *device) {
    *device = emulator_current_device();
    return 0;
}
int cuDevicePrimaryCtxRelease_v2(int) { return 0; }
int cuStreamGetCtx(void *, void **context) { return cuCtxGetCurrent(context); }

int cuModuleLoadData(void **module, const char *image) {
    if (!memcmp(image, "\x7f" "ELF", 4)) {
        *module = new Module{nullptr};
        return 0;
    }
    void *library = dlopen(image, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        emulator_set_error(dlerror());
        return invalid_image;
    }
    *module = new Module{library};
    return 0;
}

int cuModuleUnload(Module *module) {
    delete module;  // the library stays: kernels of it may be known elsewhere
    return 0;
}

int cuModuleGetFunction(Function **function, Module *module, const char *name) {
    if (!module->library) {
        *function = new Function{name, nullptr, independent};
        return 0;
    }
    auto run = reinterpret_cast<void (*)(void **)>(dlsym(module->library, (std::string(name) + "__run").c_str()));
    auto style = static_cast<int *>(dlsym(module->library, (std::string(name) + "__style").c_str()));
    if (!run || !style) {
        emulator_set_error((std::string("the module has no kernel ") + name).c_str());
        return not_found;
    }
    *function = new Function{name, run, *style};
    return 0;
}

int cuModuleGetGlobal_v2(void **address, size_t *bytes, Module *module, const char *name) {
    void *found = module->library ? dlsym(module->library, name) : nullptr;
    if (!found) return not_found;
    *address = found;
    *bytes = 0;
    return 0;
}

int cuLaunchKernel(Function *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                   unsigned shared_bytes, void *, void **arguments, void **) {
    unsigned long long threads = 1ull * bx * by * bz;
    if (!threads || threads > most_threads || !gx || !gy || !gz || gy > 65535 || gz > 65535 || shared_bytes > 49152) {
        char text[256];
        snprintf(text, sizeof text, "%s cannot be launched with a grid of %u×%u×%u, a block of %u×%u×%u and %u bytes",
                 function->name.c_str(), gx, gy, gz, bx, by, bz, shared_bytes);
        emulator_set_error(text);
        return invalid_value;
    }
    emulator_note_launch(function->name.c_str());
    std::lock_guard<std::recursive_mutex> guard(lock);
    emulator_count(launches);
    if (!function->run) return 0;
    Launch launch{function->name.c_str(), function->run, function->style, {gx, gy, gz}, {bx, by, bz}, arguments};
    return emulator_run(launch.name, [](void *data) { return run_threads(*static_cast<Launch *>(data)); }, &launch);
}

int cuLaunchCooperativeKernel(Function *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                              unsigned bz, unsigned shared_bytes, void *stream, void **arguments) {
    return cuLaunchKernel(function, gx, gy, gz, bx, by, bz, shared_bytes, stream, arguments, nullptr);
}

int cuFuncGetAttribute(int *value, int, Function *) {
    *value = most_threads;
    return 0;
}
int cuFuncSetAttribute(Function *, int, int) { return 0; }
int cuOccupancyMaxActiveBlocksPerMultiprocessor(int *count, Function *, int, size_t) {
    *count = 2;
    return 0;
}
int cuOccupancyMaxPotentialBlockSize(int *grid, int *block, Function *, void *, size_t, int) {
    *grid = 108;
    *block = 256;
    return 0;
}
}
