// SPDX-License-Identifier: LGPL-2.1-or-later
// The functions that the program calls. Each forwards to the filter's function in genv-nvml-view.so
// or, if that cannot be loaded, to the driver's. No locks are needed, because every thread finds
// the same addresses.
#include "shims/nvml/filter_gate.hpp"

#include "shims/nvml/linked_library.hpp"

#include <dlfcn.h>
#include <unistd.h>

#include <atomic>

namespace genv::shims {

namespace {

using PlainFunction = void (*)();

constexpr char notLoaded[] =
    "genv: cannot load genv-nvml-view.so, so NVML shows the whole machine\n";

std::atomic<const link_map*> nvmlMap;
std::atomic<const link_map*> libcMap;
std::atomic<void*> realFunctions[symbolCount];
void* filterFunctions[filteredCount];
enum State : int { NotTried, Loaded, Failed };
std::atomic<int> state;

// Returns a function of the program's libc.
template <typename Function>
Function* ofLibc(const char* name) {
    const link_map* libc = libcMap.load();
    return libc != nullptr ? reinterpret_cast<Function*>(findSymbol(*libc, name)) : nullptr;
}

void* findReal(Symbol symbol) {
    std::atomic<void*>& kept = realFunctions[static_cast<std::size_t>(symbol)];
    void* address = kept.load(std::memory_order_relaxed);
    const link_map* library = nvmlMap.load();
    if (address == nullptr && library != nullptr) {
        address = findSymbol(*library, nameOf(symbol));
        kept.store(address, std::memory_order_relaxed);
    }
    return address;
}

constexpr GateServices services{findReal};

// dlopen() loads the library into the namespace of the calling library, and searches that library's
// folder.
bool fillFunctions() {
    const auto open = ofLibc<void*(const char*, int)>("dlopen");
    if (open == nullptr)
        return false;
    void* library = open("$ORIGIN/genv-nvml-view.so", RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr)
        return false;
    // In glibc, a handle is the link map.
    const auto fill = reinterpret_cast<FillFunctions*>(
        findSymbol(*static_cast<const link_map*>(library), "genvNvmlFilter"));
    if (fill == nullptr)
        return false;
    fill(&services, filterFunctions);
    return true;
}

void load() {
    const auto errorLocation = ofLibc<int*()>("__errno_location");
    const int error = errorLocation != nullptr ? *errorLocation() : 0;
    const int result = fillFunctions() ? Loaded : Failed;
    if (state.exchange(result) == NotTried && result == Failed) {
        if (const auto libcWrite = ofLibc<ssize_t(int, const void*, std::size_t)>("write"))
            libcWrite(STDERR_FILENO, notLoaded, sizeof(notLoaded) - 1);
    }
    if (errorLocation != nullptr)
        *errorLocation() = error;
}

void* filterFunction(Symbol symbol) {
    if (state.load() == NotTried)
        load();
    return state.load() == Loaded ? filterFunctions[static_cast<std::size_t>(symbol)] : nullptr;
}

template <Symbol symbol, typename Function = typename SignatureOf<symbol>::Type>
struct Entry;

template <Symbol symbol, typename... Args>
struct Entry<symbol, nvml::Return(Args...)> {
    static nvml::Return call(Args... args) {
        void* function = filterFunction(symbol);
        if (function == nullptr)
            function = findReal(symbol);
        if (function == nullptr)
            return nvml::Return::FunctionNotFound;
        return reinterpret_cast<nvml::Return (*)(Args...)>(function)(args...);
    }
};

const struct {
    const char* name;
    PlainFunction function;
} entries[] = {
#define GENV_X(name, ...) {#name, reinterpret_cast<PlainFunction>(&Entry<Symbol::name>::call)},
    GENV_NVML_FILTERED(GENV_X)
#undef GENV_X
#define GENV_X(name, ...) {#name, nullptr},
        GENV_NVML_USED(GENV_X)
#undef GENV_X
};

} // namespace

const char* nameOf(Symbol symbol) {
    return entries[static_cast<std::size_t>(symbol)].name;
}

void* findFiltered(const char* name) {
    for (const auto& entry : entries) {
        if (isSameText(entry.name, name))
            return reinterpret_cast<void*>(entry.function);
    }
    return nullptr;
}

void ProgramLibraries::setNvml(const void* linkMap) {
    nvmlMap.store(static_cast<const link_map*>(linkMap));
}

const void* ProgramLibraries::nvml() {
    return nvmlMap.load();
}

void ProgramLibraries::forgetNvml(const void* linkMap) {
    if (nvmlMap.load() != linkMap)
        return;
    nvmlMap.store(nullptr);
    for (std::atomic<void*>& address : realFunctions)
        address.store(nullptr);
}

void ProgramLibraries::setLibc(const void* linkMap) {
    libcMap.store(static_cast<const link_map*>(linkMap));
}

} // namespace genv::shims
