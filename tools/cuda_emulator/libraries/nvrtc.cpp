// libnvrtc.so.12: compiles kernels for the processor, with g++. What it returns for a "cubin" is the path of a library, kept under the
// hash of all that went into it.
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>
#include <string>

namespace {

constexpr int compilation_error = 6;

struct Program {
    std::string source, log, library;
    std::set<std::string> instances;  // of templates, as the program names them
    std::string lowered;              // what was last asked for
};

std::string setting(const char *name) {
    const char *value = getenv(name);
    return value ? value : "";
}

bool contains(const std::string &text, const char *part) { return text.find(part) != std::string::npos; }

uint64_t hash(const std::string &text) {
    uint64_t found = 1469598103934665603u;
    for (unsigned char each : text) found = (found ^ each) * 1099511628211u;
    return found;
}

const char *style_of(const std::string &source) {
    if (contains(source, "__syncthreads") || contains(source, "__syncwarp") || contains(source, "__shfl")) return "2";
    // A thread that returns early has done its elements, but one that stands for all has not.
    return contains(source, "CUPY_FOR") && !contains(source, "return;") ? "0" : "1";
}

// Return a name of C for an instance of a template.
std::string lowered(std::string name) {
    for (char &each : name)
        if (!isalnum(static_cast<unsigned char>(each))) each = '_';
    return name;
}

// Return the door of a kernel.
std::string door(const std::string &kernel, const char *style) {
    std::string name = lowered(kernel);
    return "\nextern \"C\" void " + name + "__run(void **given) { emulated_run(&" + kernel + ", given); }" +
           "\nextern \"C\" { int " + name + "__style = " + style + "; }\n";
}

// Return the source for g++: shared memory of a size that the launch gives is one buffer, and every kernel has a door; a template of
// kernels has one for each instance.
std::string translated(const std::string &source, const std::set<std::string> &instances) {
    static const std::regex shared("extern\\s+__shared__\\s+([\\w:<> ]+?)\\s*(\\w+)\\[\\];");
    static const std::regex kernel(
        "(template\\s*<[^>]*>\\s*)?__global__\\s+void\\s+(?:__launch_bounds__\\([^)]*\\)\\s*)?(\\w+)\\s*\\(");
    std::string made = std::regex_replace(source, shared, "$1* $2 = ($1*)emulator_shared_memory;");
    for (std::sregex_iterator each(source.begin(), source.end(), kernel), end; each != end; ++each)
        if (!(*each)[1].matched) made += door((*each)[2], style_of(source));
    for (const std::string &each : instances)
        if (contains(each, "<")) made += door(each, style_of(source));
    return made;
}

std::string quoted(const std::string &text) { return "'" + text + "'"; }

}  // namespace

extern "C" {

int nvrtcVersion(int *major, int *minor) {
    *major = 12;
    *minor = 9;
    return 0;
}
int nvrtcGetNumSupportedArchs(int *count) {
    *count = 3;
    return 0;
}
int nvrtcGetSupportedArchs(int *found) {
    found[0] = 75, found[1] = 80, found[2] = 90;
    return 0;
}
const char *nvrtcGetErrorString(int status) { return status ? "the compiler of the host refuses it" : "no error"; }

int nvrtcCreateProgram(Program **program, const char *source, const char *, int, const char **, const char **) {
    *program = new Program{source, "", "", {}, ""};
    return 0;
}
int nvrtcDestroyProgram(Program **program) {
    delete *program;
    return 0;
}

int nvrtcCompileProgram(Program *program, int count, const char **given) {
    std::string folder = setting("EMULATOR_KERNELS"), home = setting("EMULATOR_HOME"), options;
    for (int i = 0; i < count; ++i) {
        std::string option = given[i];
        bool own = contains(option, "nvidia") || contains(option, "_cccl");  // headers for nvcc
        if ((option.rfind("-D", 0) == 0 || option.rfind("-I", 0) == 0) && !own) options += " " + quoted(option);
    }
    std::string flags = setting("EMULATOR_FLAGS"), source = translated(program->source, program->instances);
    char name[32];
    snprintf(name, sizeof name, "/%016llx", (unsigned long long)hash(source + options + flags + home));
    std::string base = folder + name, own = base + "." + std::to_string(getpid());
    program->library = base + ".so";
    if (access(program->library.c_str(), R_OK) == 0) return 0;
    mkdir(folder.c_str(), 0777);
    std::ofstream(own + ".cpp") << source;
    // In two steps: g++ would link what its flags stand for.
    std::string compile = "g++ -std=c++17 -O1 -w -fpermissive -fwrapv -fPIC -c " + flags + " -include " +
                          quoted(home + "/device/prelude.h") + " -I" + quoted(home + "/device") + options + " " +
                          quoted(own + ".cpp") + " -o " + quoted(own + ".o") + " 2>" + quoted(own + ".log");
    std::string link = "g++ -shared " + quoted(own + ".o") + " -o " + quoted(own + ".so") + " -L" + quoted(home + "/lib") +
                       " -l:libcuda.so.1 2>>" + quoted(own + ".log");
    int status = system((compile + " && " + link).c_str());
    std::stringstream log;
    log << std::ifstream(own + ".log").rdbuf();
    program->log = log.str();
    if (status == 0) status = rename((own + ".so").c_str(), program->library.c_str());
    if (setting("EMULATOR_KEEP").empty()) unlink((own + ".cpp").c_str());
    unlink((own + ".log").c_str());
    unlink((own + ".o").c_str());
    return status ? compilation_error : 0;
}

int nvrtcGetCUBINSize(Program *program, size_t *bytes) {
    *bytes = program->library.size() + 1;
    return 0;
}
int nvrtcGetCUBIN(Program *program, char *made) {
    strcpy(made, program->library.c_str());
    return 0;
}
int nvrtcGetPTXSize(Program *program, size_t *bytes) { return nvrtcGetCUBINSize(program, bytes); }
int nvrtcGetPTX(Program *program, char *made) { return nvrtcGetCUBIN(program, made); }
int nvrtcGetProgramLogSize(Program *program, size_t *bytes) {
    *bytes = program->log.size() + 1;
    return 0;
}
int nvrtcGetProgramLog(Program *program, char *log) {
    strcpy(log, program->log.c_str());
    return 0;
}
int nvrtcAddNameExpression(Program *program, const char *name) {
    program->instances.insert(name);
    return 0;
}
int nvrtcGetLoweredName(Program *program, const char *name, const char **found) {
    program->lowered = lowered(name);
    *found = program->lowered.c_str();
    return 0;
}
}
