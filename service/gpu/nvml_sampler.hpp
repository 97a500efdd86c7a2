// SPDX-License-Identifier: LGPL-2.1-or-later
// Takes samples of the driver through NVML. Used in genv-nvml only, because any call here may hang
// or crash. State here lasts from one nvmlInit() to the next; the service keeps state that must
// last longer (nvml_devices.hpp).
#pragma once

#include "service/gpu/nvml_library.hpp"
#include "service/gpu/nvml_nodes.hpp"
#include "service/gpu/nvml_protocol.hpp"
#include "service/gpu/nvml_reader.hpp"

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace genv::service {

/// Takes samples. NVML fixes its list of GPUs when it starts. It is therefore restarted when the
/// driver's list of GPUs has changed, and before every sample if the driver provides no list.
class NvmlSampler {
  public:
    /// `library` is the name or path of NVML. `gpuFolder` is the folder in which the driver has one
    /// entry for each GPU. `proc` is the mount point of proc(5), which has the nodes of MIG
    /// instances, and `sys` that of sysfs, which has those of DRM.
    NvmlSampler(std::string library, std::filesystem::path gpuFolder, std::filesystem::path proc,
                std::filesystem::path sys);
    NvmlSampler(const NvmlSampler&) = delete;
    NvmlSampler& operator=(const NvmlSampler&) = delete;
    ~NvmlSampler();

    /// Takes a sample. Never throws because of the driver's behaviour. All texts in the answer are
    /// printable and short.
    NvmlAnswer sample();

  private:
    using Listing = std::optional<std::set<std::string>>;

    [[nodiscard]] Listing listGpus() const;
    void start();
    void stop();
    void registerForEvents(unsigned gpuCount);
    void drainEvents();
    void noteXid(const nvml::EventData& event);

    NvmlReport report();
    [[nodiscard]] std::string readDriverVersion() const;
    [[nodiscard]] std::vector<core::DriverNode> readDriverNodes() const;
    void logFailures(std::map<unsigned, nvml::Return> failures);

    std::string libraryName_;
    std::filesystem::path gpuFolder_;
    NvmlNodes nodes_;
    std::filesystem::path sys_;
    std::unique_ptr<NvmlLibrary> library_;
    bool started_ = false;
    Listing listing_; // as of the last start of NVML
    nvml::EventSet events_ = nullptr;
    std::vector<NvmlEntry> entries_;            // from the last sample
    std::map<unsigned, nvml::Return> failures_; // from the last sample, by GPU
    std::map<core::DeviceUuid, std::uint32_t> unreportedXids_;
};

} // namespace genv::service
