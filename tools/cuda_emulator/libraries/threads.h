// Runs the threads of a block one after another, as fibers where they wait for each other.
#pragma once

struct Dim {
    unsigned x, y, z;
};

// How a kernel has to be run; written into its library by what compiles it.
enum Style {
    one_thread,   // a loop over all elements: a grid of one thread does the same
    independent,  // threads that never wait
    together,     // threads that wait for each other
};

struct Launch {
    const char *name;
    void (*run)(void **);
    int style;
    Dim grid, block;
    void **arguments;
};

// Which thread runs, in which block, and how many barriers of the launch have opened.
struct Turn {
    unsigned thread, block, barriers;
};
Turn current_turn();

// Whether accesses are watched; end_of_races returns what was found in a launch, or nullptr.
bool watches_races();
const char *end_of_races();

// Return nullptr, or what went wrong.
const char *run_threads(const Launch &launch);
