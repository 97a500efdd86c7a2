// SPDX-License-Identifier: LGPL-2.1-or-later
// cuda-holder MIB SECONDS: a CUDA program for tests. It allocates MIB of memory on CUDA's first
// device, prints "ready PID", works for SECONDS, and prints "done". It loads the driver's library
// at run time, so that it can be built without CUDA. Exit status: 0; 1 if a call of CUDA failed,
// with the call and its result on standard output; 2 for a usage error.
#include <dlfcn.h>
#include <unistd.h>

#include <chrono>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <thread>

namespace {

using Result = int;                 // CUresult; 0 is success
using Address = unsigned long long; // CUdeviceptr

constexpr int mebibyteShift = 20;
constexpr std::chrono::milliseconds pause{20};

void* library = nullptr;

template <typename Function>
Function* find(const char* name) {
    auto* found = reinterpret_cast<Function*>(::dlsym(library, name));
    if (found == nullptr) {
        std::printf("%s is missing\n", name);
        std::exit(1);
    }
    return found;
}

void require(const char* call, Result result) {
    if (result == 0)
        return;
    std::printf("%s failed with %d\n", call, result);
    std::exit(1);
}

// Returns the allocated memory, in the context of the first device.
Address allocate(std::size_t size) {
    require("cuInit", find<Result(unsigned)>("cuInit")(0));
    int device = 0;
    require("cuDeviceGet", find<Result(int*, int)>("cuDeviceGet")(&device, 0));
    void* context = nullptr;
    require("cuCtxCreate",
            find<Result(void**, unsigned, int)>("cuCtxCreate_v2")(&context, 0, device));
    Address memory = 0;
    require("cuMemAlloc", find<Result(Address*, std::size_t)>("cuMemAlloc_v2")(&memory, size));
    return memory;
}

void work(Address memory, std::size_t size, std::chrono::duration<double> time) {
    auto* const fill = find<Result(Address, unsigned char, std::size_t)>("cuMemsetD8_v2");
    auto* const synchronize = find<Result()>("cuCtxSynchronize");
    const auto end = std::chrono::steady_clock::now() + time;
    bool isReady = false;
    do {
        require("cuMemsetD8", fill(memory, 1, size));
        require("cuCtxSynchronize", synchronize());
        if (!isReady)
            std::printf("ready %d\n", ::getpid());
        isReady = true;
        std::this_thread::sleep_for(pause);
    } while (std::chrono::steady_clock::now() < end);
}

} // namespace

int main(int count, char** arguments) {
    std::setvbuf(stdout, nullptr, _IOLBF, 0);
    if (count != 3) {
        std::fprintf(stderr, "usage: cuda-holder MIB SECONDS\n");
        return 2;
    }
    library = ::dlopen("libcuda.so.1", RTLD_NOW);
    if (library == nullptr) {
        std::printf("%s\n", ::dlerror());
        return 1;
    }
    const std::size_t size = std::strtoul(arguments[1], nullptr, 10) << mebibyteShift;
    work(allocate(size), size, std::chrono::duration<double>(std::strtod(arguments[2], nullptr)));
    std::printf("done\n");
    return 0;
}
