// SPDX-License-Identifier: LGPL-2.1-or-later
// Takes samples of the driver through NVML. Lives in genv-nvml only: any call here may hang or
// crash. What it knows lasts from one nvmlInit() to the next; what must last longer is the
// service's to remember (nvml_devices.hpp).
#pragma once

#include "service/gpu/nvml_library.hpp"
#include "service/gpu/nvml_nodes.hpp"
#include "service/gpu/nvml_processes.hpp"
#include "service/gpu/nvml_protocol.hpp"

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace genv::service {

/// Takes samples. NVML fixes its list of GPUs when it starts, so it is started anew when the
/// driver's listing of them has changed, and before every sample where there is no listing.
class NvmlSampler {
  public:
    /// `library`: name or path of NVML. `gpuFolder`: where the driver lists its GPUs, an entry
    /// each. `proc`: where proc(5) is, of which the nodes of MIG instances are read.
    NvmlSampler(std::string library, std::filesystem::path gpuFolder, std::filesystem::path proc);
    NvmlSampler(const NvmlSampler&) = delete;
    NvmlSampler& operator=(const NvmlSampler&) = delete;
    ~NvmlSampler();

    /// Takes a sample. Never throws for what the driver does; all texts in the answer are printable
    /// and short.
    NvmlAnswer sample();

  private:
    using Listing = std::optional<std::set<std::string>>;

    // A device that works, and what events and processes tell it apart by.
    struct Entry {
        nvml::Device handle = nullptr;
        nvml::Device gpu = nullptr; // the handle itself, but for MIG instances
        std::uint32_t gpuInstance = nvml::noInstance;
        std::uint32_t computeInstance = nvml::noInstance;
        NvmlDevice device;
    };

    [[nodiscard]] Listing listGpus() const;
    void start();
    void stop();
    void registerForEvents(unsigned gpuCount);
    void drainEvents();
    void noteXid(const nvml::EventData& event);

    NvmlReport report();
    [[nodiscard]] std::string readDriverVersion() const;
    void tellFailures(std::map<unsigned, nvml::Return> failures);
    [[nodiscard]] std::vector<Entry> readGpu(unsigned index) const;
    [[nodiscard]] std::vector<Entry> readMigInstances(unsigned index, nvml::Device gpu) const;
    [[nodiscard]] bool isInMigMode(nvml::Device gpu) const;
    void readDevice(Entry& entry) const;
    void readNodes(Entry& entry) const;
    void readPciAddress(Entry& entry) const;
    void readMemory(Entry& entry) const;
    void readSensors(Entry& entry) const;
    [[nodiscard]] std::vector<core::DeviceUse> readUses(const Entry& entry) const;
    void readUtilizations(const Entry& entry, std::vector<core::DeviceUse>& uses) const;
    [[nodiscard]] std::vector<NvmlProcess> readProcesses(const NvmlProcessVersions& versions,
                                                         const Entry& entry) const;

    std::string libraryName_;
    std::filesystem::path gpuFolder_;
    NvmlNodes nodes_;
    std::unique_ptr<NvmlLibrary> library_;
    bool started_ = false;
    Listing listing_; // as it was when NVML was started
    nvml::EventSet events_ = nullptr;
    std::vector<Entry> entries_;                // of the last sample
    std::map<unsigned, nvml::Return> failures_; // of the last sample, by GPU
    std::map<core::DeviceUuid, std::uint32_t> untoldXids_;
};

} // namespace genv::service
