// SPDX-License-Identifier: LGPL-2.1-or-later
// cuda-program: a CUDA program for tests of parking, with the real driver and with the fake one. It
// fills memory on CUDA's first devices and then works in steps: each step reads a block of the
// memory, compares it with what an earlier step wrote, and writes it anew. So its steps go on only
// while it may compute, and only with the right contents. It loads the driver's library at run
// time, so that it can be built without CUDA.
//
// It prints "ready PID" before its first step, or when its first kernel runs, and "done STEPS" at
// the end. Exit status: 0; 1 if a call of CUDA failed or the memory was wrong, with a line on
// standard output; 2 for a usage error.
#include <dlfcn.h>
#include <fcntl.h>
#include <getopt.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

namespace {

using Result = int;                 // CUresult; 0 is success
using Address = unsigned long long; // CUdeviceptr

constexpr std::size_t blockSize = std::size_t{2} << 20U;
constexpr unsigned attachGlobal = 1; // CU_MEM_ATTACH_GLOBAL

constexpr const char* usage =
    "usage: cuda-program [OPTION]...\n"
    "  --memory MIB     memory on each device [default: 64]\n"
    "  --devices N      number of devices [default: 1]\n"
    "  --managed        managed memory in place of device memory\n"
    "  --kernel MS      run a kernel of this time in each step\n"
    "  --pause MS       wait after each step [default: 5]\n"
    "  --steps N        end after N steps [default: at SIGUSR1]\n"
    "  --progress FILE  write the number of steps into FILE after each step, as a line of 20\n"
    "                   characters\n";

// Waits on the GPU for a time in nanoseconds.
constexpr const char* kernelText = R"(
.version 7.0
.target sm_70
.address_size 64
.visible .entry wait(.param .u64 time)
{
    .reg .u64 %time, %start, %now;
    .reg .pred %early;
    ld.param.u64 %time, [time];
    mov.u64 %start, %globaltimer;
again:
    mov.u64 %now, %globaltimer;
    sub.u64 %now, %now, %start;
    setp.lt.u64 %early, %now, %time;
    @%early bra again;
    ret;
}
)";

struct Options {
    std::size_t mebibytes = 64;
    int devices = 1;
    bool isManaged = false;
    std::uint64_t kernelMs = 0;
    long pauseMs = 5;
    std::uint64_t steps = 0; // 0: until SIGUSR1
    const char* progress = nullptr;
};

volatile std::sig_atomic_t isEnding = 0;
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

template <typename Signature, typename... Args>
void call(const char* name, Args... args) {
    if (const Result result = find<Signature>(name)(args...); result != 0) {
        std::printf("%s failed with %d\n", name, result);
        std::exit(1);
    }
}

// The memory on one device.
class Memory {
  public:
    Memory(int number, const Options& options) : blocks_(options.mebibytes * 1048576 / blockSize) {
        int device = 0;
        call<Result(int*, int)>("cuDeviceGet", &device, number);
        call<Result(void**, unsigned, int)>("cuCtxCreate_v2", &context_, 0U, device);
        const std::size_t size = blocks_ * blockSize;
        if (options.isManaged)
            call<Result(Address*, std::size_t, unsigned)>("cuMemAllocManaged", &address_, size,
                                                          attachGlobal);
        else
            call<Result(Address*, std::size_t)>("cuMemAlloc_v2", &address_, size);
        for (std::size_t block = 0; block < blocks_; ++block)
            write(block, 0);
        synchronize();
    }

    void step(std::uint64_t step) const {
        call<Result(void*)>("cuCtxSetCurrent", context_);
        const std::size_t block = step % blocks_;
        require(block, step / blocks_);
        write(block, step / blocks_ + 1);
        synchronize();
    }

    // After this number of steps.
    void requireAll(std::uint64_t steps) const {
        call<Result(void*)>("cuCtxSetCurrent", context_);
        for (std::size_t block = 0; block < blocks_; ++block)
            require(block, steps / blocks_ + (block < steps % blocks_ ? 1 : 0));
    }

    static void synchronize() { call<Result()>("cuCtxSynchronize"); }

  private:
    static std::uint32_t word(std::size_t block, std::uint64_t turn) {
        return static_cast<std::uint32_t>((block + 1) * 2654435761U + turn * 40503U);
    }
    void write(std::size_t block, std::uint64_t turn) const {
        call<Result(Address, unsigned, std::size_t)>("cuMemsetD32_v2", at(block), word(block, turn),
                                                     blockSize / sizeof(std::uint32_t));
    }
    // Compares the first and the last page.
    void require(std::size_t block, std::uint64_t turn) const {
        std::vector<std::uint32_t> words(1024);
        const std::size_t size = words.size() * sizeof words[0];
        for (const std::size_t offset : {std::size_t{0}, blockSize - size}) {
            call<Result(void*, Address, std::size_t)>("cuMemcpyDtoH_v2", words.data(),
                                                      at(block) + offset, size);
            for (const std::uint32_t found : words) {
                if (found == word(block, turn))
                    continue;
                std::printf("wrong: block %zu has %x instead of %x\n", block, found,
                            word(block, turn));
                std::exit(1);
            }
        }
    }
    [[nodiscard]] Address at(std::size_t block) const { return address_ + block * blockSize; }

    std::size_t blocks_;
    void* context_ = nullptr;
    Address address_ = 0;
};

class Kernel {
  public:
    Kernel() {
        void* module = nullptr;
        call<Result(void**, const void*)>("cuModuleLoadData", &module,
                                          static_cast<const void*>(kernelText));
        call<Result(void**, void*, const char*)>("cuModuleGetFunction", &function_, module, "wait");
    }
    /// Does not wait for its end.
    void launch(std::uint64_t nanoseconds) const {
        void* parameters[] = {&nanoseconds};
        call<Result(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                    void*, void**, void**)>(
            "cuLaunchKernel", function_, 1U, 1U, 1U, 1U, 1U, 1U, 0U, static_cast<void*>(nullptr),
            static_cast<void**>(parameters), static_cast<void**>(nullptr));
    }

  private:
    void* function_ = nullptr;
};

class Progress {
  public:
    explicit Progress(const char* file)
        : file_(file != nullptr ? ::open(file, O_WRONLY | O_CREAT | O_CLOEXEC, 0644) : -1) {}
    Progress(const Progress&) = delete;
    Progress& operator=(const Progress&) = delete;
    ~Progress() {
        if (file_ >= 0)
            ::close(file_);
    }
    void write(std::uint64_t steps) const {
        char line[22];
        std::snprintf(line, sizeof line, "%20llu\n", static_cast<unsigned long long>(steps));
        if (file_ >= 0 && ::pwrite(file_, line, 21, 0) != 21)
            std::perror("cuda-program");
    }

  private:
    int file_;
};

void work(const Options& options) {
    call<Result(unsigned)>("cuInit", 0U);
    std::vector<Memory> memories;
    for (int number = 0; number < options.devices; ++number)
        memories.emplace_back(number, options);
    const std::vector<Kernel> kernels(options.kernelMs > 0 ? 1 : 0);
    const Progress progress(options.progress);
    std::uint64_t steps = 0;
    const auto tellReady = [] { std::printf("ready %d\n", ::getpid()); };
    if (kernels.empty())
        tellReady();
    while (isEnding == 0 && (options.steps == 0 || steps < options.steps)) {
        for (const Memory& memory : memories)
            memory.step(steps);
        for (const Kernel& kernel : kernels) {
            kernel.launch(options.kernelMs * 1'000'000);
            if (steps == 0)
                tellReady();
            Memory::synchronize();
        }
        progress.write(++steps);
        std::this_thread::sleep_for(std::chrono::milliseconds{options.pauseMs});
    }
    for (const Memory& memory : memories)
        memory.requireAll(steps);
    std::printf("done %llu\n", static_cast<unsigned long long>(steps));
}

Options parse(int count, char** arguments) {
    const option known[] = {
        {"memory", required_argument, nullptr, 'm'},   {"devices", required_argument, nullptr, 'd'},
        {"managed", no_argument, nullptr, 'u'},        {"kernel", required_argument, nullptr, 'k'},
        {"pause", required_argument, nullptr, 'p'},    {"steps", required_argument, nullptr, 's'},
        {"progress", required_argument, nullptr, 'f'}, {nullptr, 0, nullptr, 0}};
    Options options;
    for (int name = 0; (name = ::getopt_long(count, arguments, "", known, nullptr)) != -1;) {
        const auto number = [&] { return std::strtoull(optarg, nullptr, 10); };
        switch (name) {
        case 'm':
            options.mebibytes = number();
            break;
        case 'd':
            options.devices = static_cast<int>(number());
            break;
        case 'u':
            options.isManaged = true;
            break;
        case 'k':
            options.kernelMs = number();
            break;
        case 'p':
            options.pauseMs = static_cast<long>(number());
            break;
        case 's':
            options.steps = number();
            break;
        case 'f':
            options.progress = optarg;
            break;
        default:
            std::fputs(usage, stderr);
            std::exit(2);
        }
    }
    if (optind != count || options.mebibytes * 1048576 < blockSize) {
        std::fputs(usage, stderr);
        std::exit(2);
    }
    return options;
}

} // namespace

int main(int count, char** arguments) {
    std::setvbuf(stdout, nullptr, _IOLBF, 0);
    const Options options = parse(count, arguments);
    std::signal(SIGUSR1, [](int) { isEnding = 1; });
    library = ::dlopen("libcuda.so.1", RTLD_NOW);
    if (library == nullptr) {
        std::printf("%s\n", ::dlerror());
        return 1;
    }
    work(options);
    return 0;
}
