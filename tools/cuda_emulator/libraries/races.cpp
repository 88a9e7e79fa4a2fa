// With EMULATOR_RACES, kernels are compiled with a call at every access (g++ -fsanitize=thread), which comes here instead of to the
// sanitizer. Two threads that touch the same device memory, one of them writing, race unless a barrier of their block lies between.
// Atomic operations are compiled without the calls.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <unordered_map>

#include "memory.h"
#include "threads.h"

namespace {

struct Access {
    Turn turn;
    bool write;
};

std::unordered_map<uintptr_t, Access> last;
std::string found;

bool ordered(const Turn &a, const Turn &b) { return a.thread == b.thread || (a.block == b.block && a.barriers != b.barriers); }

void note(void *address, bool write) {
    if (emulator_owner(address) < 0) return;
    Turn now = current_turn();
    auto [place, is_new] = last.try_emplace(reinterpret_cast<uintptr_t>(address), Access{now, write});
    if (is_new) return;
    Access &before = place->second;
    if ((write || before.write) && !ordered(before.turn, now) && found.empty()) {
        char text[160];
        snprintf(text, sizeof text, "threads %u and %u touch %p, %s, without a barrier between them", before.turn.thread,
                 now.thread, address, write && before.write ? "both writing" : "one writing");
        found = text;
    }
    if (write || !before.write) before = {now, write};
}

}  // namespace

bool watches_races() {
    static const bool wanted = getenv("EMULATOR_RACES") != nullptr;
    return wanted;
}

const char *end_of_races() {
    static std::string text;
    text = found;
    found.clear();
    last.clear();
    return text.empty() ? nullptr : text.c_str();
}

#define HOOK(SIZE)                                                         \
    void __tsan_read##SIZE(void *address) { note(address, false); }        \
    void __tsan_write##SIZE(void *address) { note(address, true); }        \
    void __tsan_unaligned_read##SIZE(void *address) { note(address, false); } \
    void __tsan_unaligned_write##SIZE(void *address) { note(address, true); }

extern "C" {
HOOK(1)
HOOK(2)
HOOK(4)
HOOK(8)
HOOK(16)
void __tsan_init() {}
void __tsan_func_entry(void *) {}
void __tsan_func_exit(void *) {}
void __tsan_read_range(void *address, long) { note(address, false); }
void __tsan_write_range(void *address, long) { note(address, true); }
void __tsan_vptr_update(void **, void *) {}
void __tsan_vptr_read(void **) {}
}
