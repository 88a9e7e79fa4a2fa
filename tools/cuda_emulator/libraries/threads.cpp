// The threads of a launch. Blocks run one after another. Threads that wait for each other are fibers: each runs until a barrier, and
// a barrier opens when all who are still running have come to it, so one that some threads never reach is found. With
// EMULATOR_SHUFFLE=SEED blocks and threads come in random order, and kernels that loop over elements get all their threads too.
#include "threads.h"

#include <ucontext.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <random>
#include <vector>

extern "C" {
Dim threadIdx, blockIdx, blockDim, gridDim;
int warpSize = 32;
alignas(64) char emulator_shared_memory[1 << 17];
}

namespace {

constexpr size_t stack_bytes = 1 << 16;
constexpr unsigned warp = 32;

enum State : char { ready, at_block_barrier, at_warp_barrier, finished };

struct Fiber {
    void *stack_pointer;
    char *stack;
    State state;
};

std::vector<Fiber> fibers;
void *scheduler;
unsigned running = 0, running_block = 0, barriers = 0;
bool in_fiber = false;
const Launch *current = nullptr;
unsigned long long slots[1024];

#if defined(__x86_64__)
// Pushes what a function has to keep, changes stacks, pops it: ucontext would ask the kernel for its signal mask each time.
extern "C" void emulator_switch(void **from, void *to);
asm(R"(
.text
.globl emulator_switch
.type emulator_switch, @function
emulator_switch:
    pushq %rbp
    pushq %rbx
    pushq %r12
    pushq %r13
    pushq %r14
    pushq %r15
    movq %rsp, (%rdi)
    movq %rsi, %rsp
    popq %r15
    popq %r14
    popq %r13
    popq %r12
    popq %rbx
    popq %rbp
    ret
.size emulator_switch, .-emulator_switch
)");

void begin();

void *fresh(char *stack) {
    void **top = reinterpret_cast<void **>(stack + stack_bytes - 64);
    *--top = nullptr;
    *--top = reinterpret_cast<void *>(&begin);
    top -= 6;
    std::fill(top, top + 6, nullptr);
    return top;
}
#else
std::vector<ucontext_t> contexts;
ucontext_t scheduler_context;
void begin();

void emulator_switch(void **from, void *to) {
    swapcontext(from == &scheduler ? &scheduler_context : &contexts[running],
                to == scheduler ? &scheduler_context : &contexts[running]);
}

void *fresh(char *stack) {
    size_t index = (contexts.resize(fibers.size()), running);
    getcontext(&contexts[index]);
    contexts[index].uc_stack = {stack, 0, stack_bytes};
    contexts[index].uc_link = nullptr;
    makecontext(&contexts[index], begin, 0);
    return &contexts[index];
}
#endif

void begin() {
    current->run(current->arguments);
    fibers[running].state = finished;
    emulator_switch(&fibers[running].stack_pointer, scheduler);
    abort();  // a finished fiber is not resumed
}

void wait(State state) {
    if (!in_fiber) return;
    fibers[running].state = state;
    emulator_switch(&fibers[running].stack_pointer, scheduler);
}

Dim place(unsigned index, Dim of) { return {index % of.x, index / of.x % of.y, index / of.x / of.y}; }

std::mt19937 *shuffler() {
    static const char *seed = getenv("EMULATOR_SHUFFLE");
    static std::mt19937 generator(seed ? atoi(seed) : 0);
    return seed ? &generator : nullptr;
}

std::vector<unsigned> order(unsigned count) {
    std::vector<unsigned> made(count);
    std::iota(made.begin(), made.end(), 0u);
    if (shuffler()) std::shuffle(made.begin(), made.end(), *shuffler());
    return made;
}

// Opens the barriers that all who are still running have reached. Return whether anyone can go on.
bool open_barriers(unsigned count) {
    ++barriers;
    bool any = false;
    bool all_at_block = true;
    for (unsigned i = 0; i < count; ++i)
        all_at_block &= fibers[i].state == at_block_barrier || fibers[i].state == finished;
    for (unsigned first = 0; first < count; first += warp) {
        unsigned end = std::min(first + warp, count);
        bool warp_opens = true;
        for (unsigned i = first; i < end; ++i)
            warp_opens &= fibers[i].state == at_warp_barrier || fibers[i].state == finished;
        for (unsigned i = first; i < end; ++i) {
            if (fibers[i].state == finished) continue;
            if (all_at_block || warp_opens) fibers[i].state = ready;
            any |= fibers[i].state == ready;
        }
    }
    return any;
}

const char *run_block_of_fibers(unsigned count) {
    while (fibers.size() < count) fibers.push_back({nullptr, new char[stack_bytes], finished});
    for (running = 0; running < count; ++running) {
        fibers[running].stack_pointer = fresh(fibers[running].stack);
        fibers[running].state = ready;
    }
    std::vector<unsigned> turns = order(count);
    in_fiber = true;
    const char *problem = nullptr;
    for (bool alive = true; alive;) {
        alive = false;
        for (unsigned index : turns) {
            if (fibers[index].state != ready) continue;
            running = index;
            threadIdx = place(index, current->block);
            emulator_switch(&scheduler, fibers[index].stack_pointer);
        }
        for (unsigned i = 0; i < count; ++i) alive |= fibers[i].state != finished;
        if (alive && !open_barriers(count)) {
            problem = "some threads wait at a barrier that others never reach";
            break;
        }
    }
    in_fiber = false;
    return problem;
}

}  // namespace

extern "C" {
void emulator_block_barrier() { wait(at_block_barrier); }
void emulator_warp_barrier() { wait(at_warp_barrier); }

// Return what the thread `lane` of the same warp has given.
unsigned long long emulator_exchange(unsigned long long value, unsigned lane) {
    slots[running] = value;
    emulator_warp_barrier();
    unsigned long long found = slots[running / warp * warp + lane % warp];
    emulator_warp_barrier();
    return found;
}

unsigned emulator_thread() { return running; }
void emulator_leave_fiber() { in_fiber = false; }
}

Turn current_turn() {
    unsigned threads = blockDim.x * blockDim.y * blockDim.z;
    return {running_block * threads + running, running_block, barriers};
}

const char *run_threads(const Launch &launch) {
    current = &launch;
    if (launch.style == one_thread && !shuffler() && !watches_races()) {
        gridDim = blockDim = {1, 1, 1};
        blockIdx = threadIdx = {0, 0, 0};
        running = 0;
        launch.run(launch.arguments);
        return nullptr;
    }
    gridDim = launch.grid;
    blockDim = launch.block;
    unsigned threads = launch.block.x * launch.block.y * launch.block.z;
    for (unsigned block : order(launch.grid.x * launch.grid.y * launch.grid.z)) {
        blockIdx = place(block, launch.grid);
        running_block = block;
        if (launch.style == together) {
            if (const char *problem = run_block_of_fibers(threads)) return problem;
            continue;
        }
        for (unsigned index : order(threads)) {
            running = index;
            threadIdx = place(index, launch.block);
            launch.run(launch.arguments);
        }
    }
    return watches_races() ? end_of_races() : nullptr;
}
