// Memory of two devices: each has a range of addresses of its own, in which every block is followed by a page that cannot be
// touched and no address is used twice. A kernel that reads past a block, reads a freed one or one of the other device is
// interrupted by the operating system, and the launch fails as it would on a device.
#include "memory.h"

#include <sys/mman.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <string>

namespace {

constexpr size_t page = 4096;
constexpr size_t arena_bytes = size_t(1) << 41;
constexpr size_t device_bytes = size_t(4) << 30;

struct Block {
    char *first_page;
    size_t mapped;
    size_t bytes;
};

struct Arena {
    char *start = nullptr;
    size_t used = 0;
    size_t in_use = 0;
    bool hidden = false;
    std::map<char *, Block> blocks;  // by their addresses
    std::map<char *, size_t> freed;  // the last ones, to name them in an error
};

std::recursive_mutex lock;
Arena arenas[emulator_devices];
std::atomic<long> counted[counters];
thread_local int current = 0;
std::string error_text = "no error";

// The guard page shows what is beyond a block up to the alignment of its end. CuPy's pool asks for multiples of 512 and its
// arrays are aligned like that; with EMULATOR_EXACT blocks end within 16 bytes of the page.
size_t alignment() {
    static const size_t found = getenv("EMULATOR_EXACT") ? 16 : 512;
    return found;
}

Arena &arena_of(int device) {
    Arena &arena = arenas[device];
    if (!arena.start) {
        void *made = mmap(nullptr, arena_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (made == MAP_FAILED) {
            perror("the emulator cannot reserve addresses");
            abort();
        }
        arena.start = static_cast<char *>(made);
        arena.used = page;
    }
    return arena;
}

const Block *block_with(Arena &arena, const void *address) {
    auto found = arena.blocks.upper_bound(static_cast<char *>(const_cast<void *>(address)));
    if (found == arena.blocks.begin()) return nullptr;
    --found;
    return &found->second;
}

}  // namespace

extern "C" {

void emulator_count(int counter) { ++counted[counter]; }
long emulator_counted(int counter) { return counted[counter]; }

int emulator_current_device() { return current; }

bool emulator_use_device(int index) {
    if (index < 0 || index >= emulator_devices) return false;
    current = index;
    return true;
}

bool emulator_allocate(int device, size_t bytes, void **address) {
    std::lock_guard<std::recursive_mutex> guard(lock);
    Arena &arena = arena_of(device);
    size_t step = alignment();
    size_t taken = (bytes ? bytes : 1) + step - 1;
    taken -= taken % step;
    size_t mapped = (taken + page - 1) / page * page;
    if (arena.in_use + mapped > device_bytes || arena.used + mapped + page > arena_bytes) return false;
    char *first = arena.start + arena.used;
    if (mmap(first, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) ==
        MAP_FAILED)
        return false;
    // What was never written reads as NaN, and as -1.
    if (mapped <= (size_t(1) << 24)) memset(first, 0xff, mapped);
    if (arena.hidden) mprotect(first, mapped, PROT_NONE);
    arena.used += mapped + page;
    arena.in_use += mapped;
    char *start = first + (mapped - taken);
    arena.blocks[start] = Block{first, mapped, bytes};
    *address = start;
    return true;
}

bool emulator_free(void *address) {
    std::lock_guard<std::recursive_mutex> guard(lock);
    int owner = emulator_owner(address);
    if (owner < 0) return false;
    Arena &arena = arenas[owner];
    auto found = arena.blocks.find(static_cast<char *>(address));
    if (found == arena.blocks.end()) return false;
    const Block &block = found->second;
    mmap(block.first_page, block.mapped, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
    arena.in_use -= block.mapped;
    arena.freed[found->first] = block.bytes;
    if (arena.freed.size() > 4096) arena.freed.erase(arena.freed.begin());
    arena.blocks.erase(found);
    return true;
}

size_t emulator_in_use(int device) {
    std::lock_guard<std::recursive_mutex> guard(lock);
    return arenas[device].in_use;
}

int emulator_owner(const void *address) {
    const char *wanted = static_cast<const char *>(address);
    for (int device = 0; device < emulator_devices; ++device) {
        const char *start = arenas[device].start;
        if (start && wanted >= start && wanted < start + arena_bytes) return device;
    }
    return -1;
}

bool emulator_readable(const void *address, size_t bytes) {
    std::lock_guard<std::recursive_mutex> guard(lock);
    int owner = emulator_owner(address);
    if (owner < 0) return false;
    Arena &arena = arenas[owner];
    const Block *block = block_with(arena, address);
    const char *end = static_cast<const char *>(address) + bytes;
    if (block && end <= block->first_page + block->mapped) {
        emulator_hide_memory(owner, false);
        return true;
    }
    emulator_explain_access(address, owner, "a copy");
    return false;
}

void emulator_hide_memory(int device, bool hidden) {
    std::lock_guard<std::recursive_mutex> guard(lock);
    Arena &arena = arenas[device];
    if (arena.hidden == hidden) return;
    arena.hidden = hidden;
    for (auto &[start, block] : arena.blocks)
        mprotect(block.first_page, block.mapped, hidden ? PROT_NONE : PROT_READ | PROT_WRITE);
}

void emulator_explain_access(const void *address, int device, const char *kernel) {
    std::lock_guard<std::recursive_mutex> guard(lock);
    char text[512];
    int owner = emulator_owner(address);
    const char *wanted = static_cast<const char *>(address);
    if (owner < 0) {
        snprintf(text, sizeof text, "%s touched %p, which is no device memory", kernel, address);
    } else if (owner != device) {
        snprintf(text, sizeof text, "%s runs on device %d and touched memory of device %d", kernel, device, owner);
    } else {
        Arena &arena = arenas[owner];
        const Block *block = block_with(arena, address);
        auto freed = arena.freed.upper_bound(const_cast<char *>(wanted));
        if (freed != arena.freed.begin() && wanted < std::prev(freed)->first + std::prev(freed)->second) {
            --freed;
            snprintf(text, sizeof text, "%s touched a freed block of %zu bytes, %zd bytes from its start", kernel,
                     freed->second, wanted - freed->first);
        } else if (block) {
            snprintf(text, sizeof text, "%s touched memory %zd bytes behind the end of a block of %zu bytes", kernel,
                     wanted - (block->first_page + block->mapped), block->bytes);
        } else {
            snprintf(text, sizeof text, "%s touched %p, where there is no block", kernel, address);
        }
    }
    error_text = text;
}

void emulator_set_error(const char *text) {
    std::lock_guard<std::recursive_mutex> guard(lock);
    error_text = text;
}

const char *emulator_error() { return error_text.c_str(); }
}
