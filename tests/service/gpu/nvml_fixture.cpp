// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tests/service/gpu/nvml_fixture.hpp"

#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <stdexcept>

namespace genv::tests {

std::string gpuUuid(unsigned number) {
    return fmt::format("GPU-{:08x}-1111-2222-3333-444444444444", number);
}

json gpu(unsigned number, const json& more) {
    json result{{"uuid", gpuUuid(number)},
                {"name", "NVIDIA A100-SXM4-40GB"},
                {"memory", {{"total", 42'949'672'960}, {"used", 1'048'576}, {"reserved", 500'000}}},
                {"utilization", 93},
                {"temperature", 38},
                {"power", 250'000},
                {"power_limit", 400'000}};
    result.update(more);
    return result;
}

json migInstance(const std::string& uuid, unsigned gpuInstance, unsigned computeInstance) {
    return {{"uuid", uuid},      {"name", "NVIDIA A100-SXM4-40GB MIG 1g.5gb"},
            {"gi", gpuInstance}, {"ci", computeInstance},
            {"temperature", 38}, {"memory", {{"total", 5'000'000'000}, {"used", 100}}}};
}

json processes(const std::vector<core::Pid>& pids) {
    json list = json::array();
    for (const core::Pid pid : pids)
        list.push_back({{"pid", pid}, {"memory", pid}});
    return list;
}

std::vector<pid_t> children() {
    std::ifstream file(fmt::format("/proc/self/task/{}/children", ::gettid()));
    std::vector<pid_t> pids;
    for (pid_t pid = 0; file >> pid;)
        pids.push_back(pid);
    return pids;
}

NvmlTest::NvmlTest() {
    std::string name = (std::filesystem::temp_directory_path() / "genv-gpu-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr)
        throw std::runtime_error("no temporary folder");
    folder_ = name;
    if (const char* path = std::getenv("LD_LIBRARY_PATH"))
        libraryPath_ = path;
    ::setenv("GENV_FAKE_NVML", (folder_ / "machine.json").c_str(), 1);
    useLibraryFrom(FAKE_NVML_FOLDER);
    // Some of these tests crash on purpose, so core dumps are off.
    const rlimit none{0, 0};
    ::setrlimit(RLIMIT_CORE, &none);
}

NvmlTest::~NvmlTest() {
    std::error_code error;
    std::filesystem::remove_all(folder_, error);
    ::unsetenv("GENV_FAKE_NVML");
    if (libraryPath_)
        ::setenv("LD_LIBRARY_PATH", libraryPath_->c_str(), 1);
    else
        ::unsetenv("LD_LIBRARY_PATH");
    EXPECT_EQ(children(), std::vector<pid_t>{});
}

void NvmlTest::become(const json& machine) const {
    const auto next = folder_ / "machine.json.next";
    std::ofstream(next) << machine;
    std::filesystem::rename(next, folder_ / "machine.json");
}

void NvmlTest::removeDriver() const {
    std::filesystem::remove(folder_ / "machine.json");
}

void NvmlTest::listGpus(const std::vector<std::string>& names) const {
    const auto next = folder_ / "gpus.next";
    std::filesystem::create_directory(next);
    for (const std::string& name : names)
        std::filesystem::create_directory(next / name);
    std::filesystem::remove_all(folder_ / "gpus");
    std::filesystem::rename(next, folder_ / "gpus");
}

void NvmlTest::writeProc(const std::string& name, std::string_view text) const {
    const auto path = folder_ / "proc" / name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text;
}

void NvmlTest::useLibraryFrom(const char* folder) const {
    ::setenv("LD_LIBRARY_PATH", folder, 1);
}

service::NvmlSettings NvmlTest::settings() const {
    return {GENV_NVML,
            {fmt::format("--gpu-folder={}", (folder_ / "gpus").string()),
             fmt::format("--proc={}", (folder_ / "proc").string()),
             fmt::format("--sys={}", (folder_ / "sys").string())},
            timeout,
            timeout};
}

service::NvmlSettings NvmlTest::hastySettings() const {
    service::NvmlSettings result = settings();
    // In tests where it should not matter, it is never reached.
    result.firstAnswerTime = std::chrono::hours{1};
    result.answerTime = std::chrono::milliseconds{300};
    return result;
}

const core::DeviceSample& deviceOf(const core::GpuSample& sample, std::string_view uuid) {
    for (const core::DeviceSample& device : sample.devices) {
        if (device.facts.uuid == uuid)
            return device;
    }
    throw std::runtime_error("no device " + std::string(uuid));
}

std::vector<std::string> usesOf(const core::GpuSample& sample, const std::string& uuid) {
    std::vector<core::ProcessSample> uses;
    std::ranges::copy_if(sample.uses, std::back_inserter(uses),
                         [&](const core::ProcessSample& use) { return use.device == uuid; });
    std::ranges::sort(uses, {}, &core::ProcessSample::pid);
    std::vector<std::string> result;
    result.reserve(uses.size());
    for (const core::ProcessSample& use : uses)
        result.push_back(fmt::format("{}:{}", use.pid,
                                     use.usedMemory ? std::to_string(use.usedMemory->count) : "?"));
    return result;
}

std::vector<std::string> uuidsOf(const core::GpuSample& sample) {
    std::vector<std::string> result;
    result.reserve(sample.devices.size());
    for (const core::DeviceSample& device : sample.devices)
        result.push_back(device.facts.uuid);
    return result;
}

std::string errorOf(core::Gpus& gpus) {
    try {
        gpus.sample();
    } catch (const core::GpuError& error) {
        return error.what();
    }
    ADD_FAILURE() << "the sample succeeded";
    return {};
}

} // namespace genv::tests
