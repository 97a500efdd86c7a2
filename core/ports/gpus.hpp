// SPDX-License-Identifier: LGPL-2.1-or-later
// Port: the GPUs, as a driver reports them. A call blocks for as long as the driver takes, so it is
// made on a worker thread only; the adapter bounds the time. The loop reads what came of it through
// the Observer.
#pragma once

#include "core/device.hpp"
#include "core/process.hpp"

#include <stdexcept>
#include <string>
#include <vector>

namespace genv::core {

/// One device in a sample. A device that the driver says is lost is listed with
/// Health::State::Lost; one that it no longer knows is not listed.
struct DeviceSample {
    DeviceFacts facts;
    DeviceReading reading;
    Health health;
    /// What a process must be able to open to use it; empty where the driver does not say so. A MIG
    /// instance has its GPU's node and those of its capabilities (/dev/nvidia-caps).
    std::vector<DeviceNode> nodes{};
    /// Where it is on the PCI bus, such as "0000:65:00.0", a MIG instance where its GPU is; empty
    /// where the driver does not know.
    std::string pciAddress{};
};

/// A process's use of one device.
struct DeviceUse {
    Pid pid = 0;
    DeviceUuid device;
    std::optional<Bytes> usedMemory; ///< empty where the driver does not know; never summed then
    /// The share of the last moments in which its work ran there; empty where the driver does not
    /// know.
    std::optional<std::uint32_t> utilizationPercent{};
};

/// What a working driver reported at one moment. Machines without a driver have none of either.
struct GpuSample {
    std::vector<DeviceSample> devices; ///< by index; MIG instances after the GPUs
    std::vector<DeviceUse> uses;       ///< the compute processes
    std::string noDriver; ///< why there is no driver on this machine; empty when one answered
    std::string driverVersion{}; ///< empty where there is no driver, or it does not say
};

/// The driver did not answer: it hung until the deadline, crashed, or broke off. What was known
/// stays.
class GpuError : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

/// A source of samples. Called from one worker thread at a time.
class Gpus {
  public:
    virtual ~Gpus() = default;

    /// Takes a sample now. Throws GpuError when the driver does not answer; a machine without a
    /// driver gives a sample with nothing but the reason.
    virtual GpuSample sample() = 0;
};

} // namespace genv::core
