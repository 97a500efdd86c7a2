// SPDX-License-Identifier: LGPL-2.1-or-later
// GPUs that appear and disappear, and drivers that are missing, broken or replaced.
#include "tests/service/gpu/nvml_fixture.hpp"

using namespace genv;
using namespace genv::tests;

namespace {

using Strings = std::vector<std::string>;
class Discovery : public NvmlTest {};

TEST_F(Discovery, AGpuThatIsAddedIsFoundOnceTheDriverListsIt) {
    listGpus({"0000:10:00.0"});
    become({{"devices", {gpu(0)}}});
    service::NvmlGpus gpus(settings());
    EXPECT_EQ(uuidsOf(gpus.sample()), Strings{gpuUuid(0)});
    become({{"devices", {gpu(0), gpu(1)}}});
    EXPECT_EQ(uuidsOf(gpus.sample()),
              Strings{gpuUuid(0)}); // NVML lists the GPUs only when it starts
    listGpus({"0000:10:00.0", "0000:11:00.0"});
    EXPECT_EQ(uuidsOf(gpus.sample()), (Strings{gpuUuid(0), gpuUuid(1)}));
}

TEST_F(Discovery, AGpuThatIsRemovedIsLostUntilTheDriverUnlistsIt) {
    listGpus({"0000:10:00.0", "0000:11:00.0"});
    become({{"devices", {gpu(0), gpu(1)}}});
    service::NvmlGpus gpus(settings());
    gpus.sample();
    become({{"devices", {gpu(1)}}});
    const core::GpuSample sample = gpus.sample();
    EXPECT_EQ(deviceOf(sample, gpuUuid(0)).health.state, core::Health::State::Lost);
    listGpus({"0000:11:00.0"});
    EXPECT_EQ(uuidsOf(gpus.sample()), Strings{gpuUuid(1)});
}

TEST_F(Discovery, WithoutTheDriversListingEachSampleLooksAnew) {
    become({{"devices", {gpu(0)}}});
    service::NvmlGpus gpus(settings());
    EXPECT_EQ(uuidsOf(gpus.sample()), Strings{gpuUuid(0)});
    become({{"devices", {gpu(0), gpu(1)}}});
    EXPECT_EQ(uuidsOf(gpus.sample()), (Strings{gpuUuid(0), gpuUuid(1)}));
}

TEST_F(Discovery, AMigInstanceIsFoundWithoutAnyListing) {
    listGpus({"0000:10:00.0"});
    become({{"devices", {gpu(0, {{"mig", {migInstance("MIG-a", 1, 0)}}})}}});
    service::NvmlGpus gpus(settings());
    EXPECT_EQ(uuidsOf(gpus.sample()), Strings{"MIG-a"});
    become({{"devices",
             {gpu(0, {{"mig", {migInstance("MIG-a", 1, 0), migInstance("MIG-b", 2, 0)}}})}}});
    EXPECT_EQ(uuidsOf(gpus.sample()), (Strings{"MIG-a", "MIG-b"}));
}

TEST_F(Discovery, AMachineWithoutTheLibraryHasNoDriver) {
    service::NvmlSettings without = settings();
    without.arguments.push_back("--library=/nowhere/libnvidia-ml.so.1");
    service::NvmlGpus gpus(without);
    const core::GpuSample sample = gpus.sample();
    EXPECT_EQ(sample.devices.size(), 0U);
    EXPECT_EQ(
        sample.noDriver,
        "/nowhere/libnvidia-ml.so.1: cannot open shared object file: No such file or directory");
    EXPECT_EQ(children(), std::vector<pid_t>{}); // a missing driver needs no helper
}

TEST_F(Discovery, ADriverThatIsNotLoadedIsNoneUntilItIs) {
    service::NvmlGpus gpus(settings());
    EXPECT_EQ(gpus.sample().noDriver, "Driver Not Loaded (NVML error 9)");
    EXPECT_EQ(gpus.sample().noDriver, "Driver Not Loaded (NVML error 9)");
    become({{"devices", {gpu(0)}}});
    const core::GpuSample sample = gpus.sample();
    EXPECT_EQ(sample.noDriver, "");
    EXPECT_EQ(uuidsOf(sample), Strings{gpuUuid(0)});
}

TEST_F(Discovery, ADriverThatWorkedAndIsUnloadedIsAnErrorNotAMachineWithoutGpus) {
    become({{"devices", {gpu(0)}}});
    service::NvmlGpus gpus(settings());
    gpus.sample();
    removeDriver();
    EXPECT_EQ(errorOf(gpus), "the NVIDIA driver was unloaded: Driver Not Loaded (NVML error 9)");
    EXPECT_EQ(errorOf(gpus), "the NVIDIA driver was unloaded: Driver Not Loaded (NVML error 9)");
    become({{"devices", {gpu(0)}}});
    EXPECT_EQ(uuidsOf(gpus.sample()), Strings{gpuUuid(0)});
}

TEST_F(Discovery, ADriverThatDoesNotFitItsLibraryIsAnErrorFromTheStart) {
    become({{"faults", {{"nvmlInit_v2", 18}}}});
    service::NvmlGpus gpus(settings());
    EXPECT_EQ(errorOf(gpus),
              "the NVIDIA driver does not work: Driver/library version mismatch (NVML error 18)");
}

TEST_F(Discovery, AnUpgradedDriverIsAskedThroughTheLibraryThatIsThereThen) {
    useLibraryFrom(FAKE_NVML_OLD_FOLDER);
    become({{"devices", {gpu(0, {{"mig", {migInstance("MIG-a", 1, 0)}}})}}});
    service::NvmlGpus gpus(settings());
    EXPECT_EQ(uuidsOf(gpus.sample()), Strings{gpuUuid(0)}); // the old library does not know MIG
    become({{"faults", {{"nvmlDeviceGetCount", 18}}}});
    useLibraryFrom(FAKE_NVML_FOLDER);
    EXPECT_EQ(errorOf(gpus),
              "the NVIDIA driver does not work: Driver/library version mismatch (NVML error 18)");
    become({{"devices", {gpu(0, {{"mig", {migInstance("MIG-a", 1, 0)}}})}}});
    EXPECT_EQ(uuidsOf(gpus.sample()), Strings{"MIG-a"});
}

TEST_F(Discovery, ADriverWithoutGpusIsADriver) {
    become({{"devices", json::array()}});
    service::NvmlGpus gpus(settings());
    const core::GpuSample sample = gpus.sample();
    EXPECT_EQ(sample.noDriver, "");
    EXPECT_EQ(sample.devices.size(), 0U);
    removeDriver();
    EXPECT_NE(errorOf(gpus), "");
}

} // namespace
