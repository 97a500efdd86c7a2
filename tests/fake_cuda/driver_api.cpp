// SPDX-License-Identifier: LGPL-2.1-or-later
// A stand-in for libcuda.so.1: the functions of the driver's API that the tests' programs call. It
// reads the GPUs from the machine's file of the fake NVML, shows those that CUDA_VISIBLE_DEVICES
// names and whose nodes can be opened, as CUDA does, and registers its memory with the fake NVML.
#include "tests/fake_cuda/export.hpp"
#include "tests/fake_cuda/process.hpp"

#include <chrono>
#include <cstring>

using namespace genv::fake_cuda;

namespace {

Gpu* gpuOf(Process& process, Address address) {
    const std::size_t number = (address >> 40U) - 1;
    return number < process.gpus().size() ? &process.gpus()[number] : nullptr;
}

Result allocate(Address* address, std::size_t size, bool isManaged) {
    return Process::instance().call([&](Process& process) {
        if (isManaged)
            process.useManagedMemory();
        return process.gpus().at(process.current).allocate(size, *address);
    });
}

Result fill(Address address, std::uint32_t word, std::size_t size) {
    return Process::instance().call([&](Process& process) {
        Gpu* const gpu = gpuOf(process, address);
        return gpu != nullptr && gpu->fill(address, word, size) ? Result::Success
                                                                : Result::InvalidValue;
    });
}

} // namespace

FAKE_CUDA_EXPORT Result cuInit(unsigned) {
    return Process::instance().init();
}

FAKE_CUDA_EXPORT Result cuDeviceGetCount(int* count) {
    return Process::instance().call([&](Process& process) {
        *count = static_cast<int>(process.gpus().size());
        return Result::Success;
    });
}

FAKE_CUDA_EXPORT Result cuDeviceGet(int* device, int ordinal) {
    *device = ordinal;
    return Result::Success;
}

// A context is the number of its GPU, plus one.
FAKE_CUDA_EXPORT Result cuCtxCreate_v2(void** context, unsigned, int device) {
    return Process::instance().call([&](Process& process) {
        const auto number = static_cast<std::size_t>(device);
        if (number >= process.gpus().size())
            return Result::InvalidValue;
        *context = reinterpret_cast<void*>(number + 1); // NOLINT(performance-no-int-to-ptr)
        process.current = number;
        Gpu& gpu = process.gpus()[number];
        return gpu.hasContext() ? Result::Success : gpu.createContext();
    });
}

FAKE_CUDA_EXPORT Result cuCtxSetCurrent(void* context) {
    return Process::instance().call([&](Process& process) {
        process.current = reinterpret_cast<std::size_t>(context) - 1;
        return Result::Success;
    });
}

FAKE_CUDA_EXPORT Result cuCtxSynchronize() {
    return Process::instance().synchronize();
}

FAKE_CUDA_EXPORT Result cuMemAlloc_v2(Address* address, std::size_t size) {
    return allocate(address, size, false);
}

FAKE_CUDA_EXPORT Result cuMemAllocManaged(Address* address, std::size_t size, unsigned) {
    return allocate(address, size, true);
}

FAKE_CUDA_EXPORT Result cuMemsetD8_v2(Address address, unsigned char value, std::size_t size) {
    return fill(address, value * 0x01010101U, size);
}

FAKE_CUDA_EXPORT Result cuMemsetD32_v2(Address address, unsigned value, std::size_t count) {
    return fill(address, value, count * sizeof value);
}

FAKE_CUDA_EXPORT Result cuMemcpyDtoH_v2(void* target, Address address, std::size_t size) {
    return Process::instance().call([&](Process& process) {
        const Gpu* const gpu = gpuOf(process, address);
        return gpu != nullptr && gpu->read(address, target, size) ? Result::Success
                                                                  : Result::InvalidValue;
    });
}

// The only kernel is one that runs for a time, its parameter in nanoseconds.
FAKE_CUDA_EXPORT Result cuModuleLoadData(void** module, const void*) {
    *module = nullptr;
    return Result::Success;
}

FAKE_CUDA_EXPORT Result cuModuleGetFunction(void** function, void*, const char*) {
    *function = nullptr;
    return Result::Success;
}

FAKE_CUDA_EXPORT Result cuLaunchKernel(void*, unsigned, unsigned, unsigned, unsigned, unsigned,
                                       unsigned, unsigned, void*, void** parameters, void**) {
    return Process::instance().call([&](Process& process) {
        std::uint64_t nanoseconds = 0;
        std::memcpy(&nanoseconds, parameters[0], sizeof nanoseconds);
        process.runKernel(std::chrono::nanoseconds{nanoseconds});
        return Result::Success;
    });
}
