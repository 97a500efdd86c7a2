// SPDX-License-Identifier: LGPL-2.1-or-later
// nvml_filter_bench FILTER: measures the cost of the NVML filter inside an environment, by running
// itself with and without the filter in LD_AUDIT. Measures the first call, later calls and the
// start of a process. LD_LIBRARY_PATH determines the NVML library; only the difference matters.
// Prints one figure per line for bench/run.
#include <dlfcn.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;

double nanoseconds(Clock::duration duration) {
    return std::chrono::duration<double, std::nano>(duration).count();
}

double median(std::vector<double> values) {
    std::nth_element(values.begin(), values.begin() + static_cast<long>(values.size() / 2),
                     values.end());
    return values[values.size() / 2];
}

// Returns the median of batches, per call.
double timeOf(const std::function<void()>& call) {
    constexpr int batches = 200;
    constexpr int perBatch = 50;
    std::vector<double> times;
    for (int batch = 0; batch < batches; ++batch) {
        const auto began = Clock::now();
        for (int i = 0; i < perBatch; ++i)
            call();
        times.push_back(nanoseconds(Clock::now() - began) / perBatch);
    }
    return median(times);
}

template <typename Function>
Function* find(void* library, const char* name) {
    return reinterpret_cast<Function*>(dlsym(library, name));
}

// Prints lines "NANOSECONDS NAME" for the parent process.
int measure() {
    void* library = dlopen("libnvidia-ml.so.1", RTLD_NOW);
    if (library == nullptr)
        return 1;
    find<int()>(library, "nvmlInit_v2")();
    const auto count = find<int(unsigned*)>(library, "nvmlDeviceGetCount_v2");
    const auto byIndex = find<int(unsigned, void**)>(library, "nvmlDeviceGetHandleByIndex_v2");
    const auto name = find<int(void*, char*, unsigned)>(library, "nvmlDeviceGetName");
    const auto memory = find<int(void*, void*)>(library, "nvmlDeviceGetMemoryInfo");
    const auto processes =
        find<int(void*, unsigned*, void*)>(library, "nvmlDeviceGetComputeRunningProcesses_v3");
    unsigned devices = 0;
    void* device = nullptr;
    std::array<char, 4096> buffer{};
    const auto began = Clock::now();
    count(&devices);
    std::printf("%.0f the first call\n", nanoseconds(Clock::now() - began));
    byIndex(0, &device);
    const std::vector<std::pair<const char*, std::function<void()>>> calls{
        {"nvmlDeviceGetCount_v2", [&] { count(&devices); }},
        {"nvmlDeviceGetHandleByIndex_v2", [&] { byIndex(0, &device); }},
        {"nvmlDeviceGetMemoryInfo", [&] { memory(device, buffer.data()); }},
        {"nvmlDeviceGetCompute...Processes",
         [&] {
             unsigned room = 64;
             processes(device, &room, buffer.data());
         }},
        {"nvmlDeviceGetName, unfiltered",
         [&] { name(device, buffer.data(), static_cast<unsigned>(buffer.size())); }},
    };
    for (const auto& [what, call] : calls)
        std::printf("%.0f %s\n", timeOf(call), what);
    return 0;
}

double startOf(const char* program) {
    std::vector<double> times;
    std::array<char*, 2> words{const_cast<char*>(program), nullptr};
    for (int i = 0; i < 300; ++i) {
        const auto began = Clock::now();
        pid_t pid = -1;
        int status = 0;
        if (posix_spawn(&pid, program, nullptr, nullptr, words.data(), environ) != 0)
            std::exit(1);
        waitpid(pid, &status, 0);
        times.push_back(nanoseconds(Clock::now() - began));
    }
    return median(times);
}

std::vector<std::pair<std::string, double>> run() {
    std::vector<std::pair<std::string, double>> results;
    FILE* output = popen("exec /proc/$PPID/exe measure", "r"); // NOLINT(cert-env33-c)
    if (output == nullptr)
        std::exit(1);
    double time = 0;
    std::array<char, 128> name{};
    while (std::fscanf(output, "%lf %127[^\n]", &time, name.data()) == 2)
        results.emplace_back(name.data(), time);
    pclose(output);
    results.emplace_back("the start of /bin/true", startOf("/bin/true"));
    return results;
}

} // namespace

int main(int argc, char** argv) {
    if (argc != 2)
        return 2;
    if (std::strcmp(argv[1], "measure") == 0)
        return measure();
    unsetenv("LD_AUDIT");
    const auto bare = run();
    setenv("LD_AUDIT", argv[1], 1);
    const auto filtered = run();
    constexpr double nanosecondsPerMicrosecond = 1000;
    for (std::size_t i = 0; i < std::min(bare.size(), filtered.size()); ++i)
        std::printf(R"({"part": "nvml", "name": "%s", "with": {"devices": 2}, "unit": "µs", )"
                    R"("median": %.4g, "reference": "without the filter", "ratio": %.3g})"
                    "\n",
                    filtered[i].first.c_str(), filtered[i].second / nanosecondsPerMicrosecond,
                    filtered[i].second / std::max(bare[i].second, 1.0));
    return bare.size() == filtered.size() ? 0 : 1;
}
