// SPDX-License-Identifier: LGPL-2.1-or-later
// genv-nvml with the driver of this machine; label "gpu". Skipped without a driver.
#include "tests/service/gpu/nvml_fixture.hpp"

#include <array>
#include <cstdio>
#include <memory>
#include <sstream>

using namespace genv;
using namespace genv::tests;

namespace {

std::string outputOf(const char* command) {
    const auto close = [](FILE* pipe) { ::pclose(pipe); };
    const std::unique_ptr<FILE, decltype(close)> pipe(::popen(command, "r"), close);
    std::string output;
    std::array<char, 4096> chunk{};
    for (std::size_t got = 0;
         pipe && (got = std::fread(chunk.data(), 1, chunk.size(), pipe.get())) > 0;)
        output.append(chunk.data(), got);
    return output;
}

TEST(RealDriver, TellsOfTheGpusThatNvidiaSmiTellsOf) {
    service::NvmlGpus gpus(service::NvmlSettings{GENV_NVML, {}});
    core::GpuSample sample = gpus.sample();
    if (!sample.noDriver.empty())
        GTEST_SKIP() << "this machine has no NVIDIA driver: " << sample.noDriver;
    ASSERT_FALSE(sample.devices.empty());
    sample = gpus.sample();
    EXPECT_NE(sample.driverVersion, "");
    const std::string list = outputOf("nvidia-smi -L 2>/dev/null");
    std::ostringstream report;
    for (const core::DeviceSample& device : sample.devices) {
        EXPECT_GT(device.facts.totalMemory, core::Bytes{0});
        EXPECT_LT(device.reading.usedMemory.value_or(core::Bytes{}), device.facts.totalMemory);
        EXPECT_EQ(device.health, core::Health{});
        EXPECT_TRUE(service::isPciAddress(device.pciAddress)) << device.pciAddress;
        if (!list.empty()) {
            EXPECT_NE(list.find(device.facts.uuid), std::string::npos) << device.facts.uuid;
        }
        report << device.facts.index << ' ' << device.facts.uuid << ' ' << device.facts.model << ' '
               << device.facts.totalMemory.count << " bytes\n";
    }
    for (const core::ProcessSample& use : sample.uses)
        report << "process " << use.pid << " on " << use.device << '\n';
    std::printf("%s", report.str().c_str());
}

} // namespace
