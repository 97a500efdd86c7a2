// SPDX-License-Identifier: LGPL-2.1-or-later
// Reads one GPU through NVML: its devices, and the processes that use them. Used in genv-nvml only.
#pragma once

#include "service/gpu/nvml_library.hpp"
#include "service/gpu/nvml_nodes.hpp"
#include "service/gpu/nvml_processes.hpp"
#include "service/gpu/nvml_protocol.hpp"

#include <cstdint>
#include <vector>

namespace genv::service {

/// A working device, with the keys by which events and processes refer to it.
struct NvmlEntry {
    nvml::Device handle = nullptr;
    nvml::Device gpu = nullptr; ///< equals `handle`, except for MIG instances
    std::uint32_t gpuInstance = nvml::noInstance;
    std::uint32_t computeInstance = nvml::noInstance;
    NvmlDevice device;
};

/// Made for each sample. Its functions throw as succeeded() in nvml_results.hpp does.
class NvmlReader {
  public:
    /// Both must outlive the reader. NVML must be started.
    NvmlReader(const NvmlLibrary& library, const NvmlNodes& nodes)
        : library_(library), nodes_(nodes) {}

    /// Returns the devices of a GPU: the GPU itself or its MIG instances.
    [[nodiscard]] std::vector<NvmlEntry> readGpu(unsigned index) const;
    /// Returns the uses of a device by compute processes, and sets its unaccounted memory.
    [[nodiscard]] std::vector<core::ProcessSample> readUses(NvmlEntry& entry) const;

  private:
    [[nodiscard]] std::vector<NvmlEntry> readMigInstances(unsigned index, nvml::Device gpu) const;
    [[nodiscard]] bool isInMigMode(nvml::Device gpu) const;
    void readDevice(NvmlEntry& entry) const;
    void readNodes(NvmlEntry& entry) const;
    void readPciAddress(NvmlEntry& entry) const;
    void readMemory(NvmlEntry& entry) const;
    void readSensors(NvmlEntry& entry) const;
    void readUtilizations(const NvmlEntry& entry, std::vector<core::ProcessSample>& uses) const;
    std::vector<NvmlProcess> readProcesses(const NvmlProcessVersions& versions,
                                           const NvmlEntry& entry, nvml::Return& result) const;

    const NvmlLibrary& library_;
    const NvmlNodes& nodes_;
};

} // namespace genv::service
