// SPDX-License-Identifier: LGPL-2.1-or-later
// Port: the GPUs, as a driver reports them. A call blocks for as long as the driver takes, so it is
// made only on a worker thread; the adapter has a timeout. The loop receives the results through
// the Observer.
#pragma once

#include "core/base/process.hpp"
#include "core/model/device.hpp"

#include <stdexcept>
#include <string>
#include <vector>

namespace genv::core {

/// A device node of a GPU's driver, by name.
struct DriverNode {
    DeviceNode node;
    std::string name;    ///< such as "MIG monitor", "renderD128 of GPU 0"
    bool isOpen = false; ///< it gives access to no device, so everybody may open it
    /// The PCI address of its GPU, if it is one of DRM (/dev/dri), through which programs reach the
    /// GPU as well; otherwise empty.
    std::string pciAddress{};

    friend bool operator==(const DriverNode&, const DriverNode&) = default;
};

/// How the memory of a device divides, as far as the driver reports it.
struct MemoryBalance {
    std::optional<Bytes> free; ///< neither used nor reserved by the driver
    /// The used memory that belongs to none of the listed compute, MPS and graphics processes.
    /// Empty if the memory of one of them is not known.
    std::optional<Bytes> unaccounted;

    friend bool operator==(const MemoryBalance&, const MemoryBalance&) = default;
};

/// One device in a sample. A device that the driver reports as lost is listed with
/// Health::State::Lost. A device that the driver no longer knows is not listed.
struct DeviceSample {
    DeviceFacts facts;
    DeviceReading reading;
    Health health;
    /// The nodes that a process must be able to open to use the device; empty if the driver does
    /// not report them. A MIG instance has its GPU's node and the nodes of its capabilities
    /// (/dev/nvidia-caps).
    std::vector<DeviceNode> nodes{};
    /// The PCI address, such as "0000:65:00.0"; for a MIG instance, that of its GPU. Empty if the
    /// driver does not report it.
    std::string pciAddress{};
    /// The driver has no memory reading, since the device shares the machine's memory.
    bool hasUnifiedMemory = false;
    MemoryBalance memory{};
    /// Whether persistence mode is on; empty if the driver does not report it.
    std::optional<bool> persistence{};
};

/// The use of one device by a process.
struct ProcessSample {
    Pid pid = 0;
    DeviceUuid device;
    std::optional<Bytes>
        usedMemory; ///< empty if the driver does not report it; then it is not included in sums
    /// The percentage of the recent time in which its work ran on the device; empty if the driver
    /// does not report it.
    std::optional<std::uint32_t> utilizationPercent{};
};

/// The report of a working driver at one moment. On a machine without a driver, both lists are
/// empty.
struct GpuSample {
    std::vector<DeviceSample> devices; ///< by index; MIG instances after the GPUs
    std::vector<ProcessSample> uses;   ///< the uses by compute processes
    std::string noDriver;              ///< why this machine has no driver; empty if one answered
    std::string driverVersion{}; ///< empty if there is no driver, or it does not report a version
    std::vector<DriverNode> nodes{}; ///< the driver's nodes with their names
};

/// The driver did not answer: it hung until the timeout, crashed, or aborted the call. The last
/// known data stay valid.
class GpuError : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

/// A source of samples. Only one worker thread at a time calls it.
class Gpus {
  public:
    virtual ~Gpus() = default;

    /// Takes a sample now. Throws GpuError if the driver does not answer. On a machine without a
    /// driver, the sample contains only the reason.
    virtual GpuSample sample() = 0;
};

} // namespace genv::core
