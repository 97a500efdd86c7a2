// SPDX-License-Identifier: LGPL-2.1-or-later
// The machine that the fake NVML reports, read from the JSON file in GENV_FAKE_NVML, or else from
// machine.json beside the library. Without a file there is no driver. Programs with the fake CUDA
// library add processes (allocations.hpp). A test changes the machine by renaming another file over
// it; the next call reads the new file. As in the real library, the list of GPUs stays as it was at
// nvmlInit(): a GPU that is removed from the file is lost until the next nvmlInit().
//
// {"driver": "550.54.15", "nvml": "12.550.54.15", "cuda": 12040,
//  "print": "text to standard output at each call", "error_string": "what nvmlErrorString() says",
//  "faults": {"nvmlDeviceGetName": "hang", "nvmlInit_v2": 18, "*": "crash"},
//  "process_entry_size": {"nvmlDeviceGetComputeRunningProcesses_v3": 32},
//  "xids": [{"id": 1, "device": "GPU-...", "xid": 79, "gi": 1, "ci": 0}],
//  "devices": [
//    {"uuid": "GPU-...", "name": "NVIDIA A100", "pci": "00000000:65:00.0", "minor": 0,
//     "node": "/dev/nvidia0", "serial": "0324...",
//     "memory": {"total": 1000, "used": 10, "reserved": 1},
//     "utilization": 93, "memory_utilization": 5, "temperature": 38, "fan": 30,
//     "power": 250000, "power_limit": 400000, "pstate": 0, "persistence": true, "compute_mode": 0,
//     "lost": true, "faults": {...},
//     "processes": [{"pid": 1, "memory": null, "type": "compute", "name": "train",
//                    "sessions": true, "utilization": [[1, 50]]}],
//     "mig": [{"uuid": "MIG-...", "name": "...", "gi": 1, "ci": 0, "memory": {...},
//              "processes": [...], "faults": {...}},
//             null]}]}
//
// A fault is a hang, a crash or the value to return, for one function or all ("*"), on every device
// or one. Value 13 means that the driver behind the library lacks the function, 3 that this device
// does not support it. The utilization of a process lists its samples, each a time and a
// percentage; the default is one sample. Members may be missing: the device then does not support
// the reading. "mig" puts a GPU into MIG mode; null is a gap in the indices. Processes are of type
// compute (the default), graphics or mps.
//
// The node of a GPU is opened when its handle is requested. A caller who may not open it gets
// NVML_ERROR_NO_PERMISSION and no handle, although all GPUs are counted, except by the first
// version of the count. With "hides_refused", such GPUs do not exist for the caller, as for NVML of
// driver 580. A node without a driver counts as one that can be opened. XID events are
// delivered once to each event set that was created before their id first appeared in the file. A
// text may be an array of bytes, for values that JSON cannot hold.
#pragma once

#include "core/model/nvml_abi.hpp"
#include "tests/fake_nvml/allocations.hpp"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace genv::nvml {

/// The target of a handle. It is valid until the first nvmlShutdown() after its creation.
struct OpaqueDevice {
    unsigned generation;
    std::string gpu;      ///< UUID
    std::string instance; ///< UUID of the MIG instance, or empty
};

struct OpaqueEventSet {
    std::set<std::string> gpus; ///< UUIDs
    std::uint64_t lastId;
};

} // namespace genv::nvml

namespace genv::fake_nvml {

using nlohmann::json;
namespace nvml = genv::nvml;
using nvml::Return;

/// An answer that is an error. Functions throw it; the exports return it.
struct Refusal {
    Return result;
};

/// The current entry of a GPU or MIG instance in the file.
struct FoundDevice {
    const json& values;
    const json& gpu; ///< the same, except for a MIG instance
    [[nodiscard]] bool isMig() const { return &values != &gpu; }
};

class Machine {
  public:
    /// Starts a call of this function: reads the file again if it changed, and applies the faults.
    /// A value to return is thrown.
    void enter(const char* function);

    void init();
    void shutdown();
    /// Throws Uninitialized before init().
    void requireInit() const;

    /// Returns the UUIDs of the GPUs at the time of init().
    [[nodiscard]] const std::vector<std::string>& gpus() const { return gpus_; }
    [[nodiscard]] const json& file() const { return file_; }
    /// Returns the allocations of programs with the fake CUDA library at the time of the call.
    [[nodiscard]] const std::vector<Allocation>& allocations() const { return allocations_; }
    [[nodiscard]] std::uint64_t lastXid() const;

    /// Returns whether this process could open the node of a GPU, now or at any time since init().
    bool mayOpen(const std::string& gpu);
    /// Throws NoPermission unless mayOpen().
    void requireOpen(const std::string& gpu);

    nvml::Device handleOf(const std::string& gpu, const std::string& instance = {});
    /// Returns the device of a handle. Throws NVML's error for an invalid handle, a lost device, or
    /// a fault.
    FoundDevice find(nvml::Device handle) const;
    /// Returns the MIG instance with this UUID on this GPU, or null.
    [[nodiscard]] const json* findInstance(const std::string& gpu, const std::string& uuid) const;
    /// Returns the index of a handle: of a GPU among the GPUs, of a MIG instance within its GPU.
    [[nodiscard]] unsigned indexOf(nvml::Device handle) const;

    std::mutex mutex;
    std::deque<nvml::OpaqueEventSet> eventSets;

  private:
    void reload();
    [[nodiscard]] const json* findGpu(const std::string& uuid) const;
    void applyFaults(const json& owner) const;

    std::string function_; // the current call
    json file_;
    std::vector<Allocation> allocations_;
    std::string version_; // the version of the file: its inode, size and modification time
    unsigned users_ = 0;
    unsigned generation_ = 0;
    std::vector<std::string> gpus_;
    std::set<std::string> opened_; // since init()
    std::deque<nvml::OpaqueDevice> handles_;
};

Machine& machine();

/// Returns a text member, given as a string or as an array of bytes.
std::string textOf(const json& value);
/// Returns a member, or null.
const json& member(const json& object, const char* name);
/// Copies a text and its terminating zero. Throws InsufficientSize.
void copyText(const std::string& text, char* buffer, unsigned size);

/// The common part of all exports.
template <typename Action>
Return call(const char* function, Action action) {
    const std::lock_guard lock(machine().mutex);
    try {
        machine().enter(function);
        machine().requireInit();
        action(machine());
        return Return::Success;
    } catch (const Refusal& refusal) {
        return refusal.result;
    }
}

/// The common part of exports for functions about a device.
template <typename Action>
Return callOn(nvml::Device handle, const char* function, Action action) {
    return call(function, [&](Machine& m) { action(m.find(handle)); });
}

} // namespace genv::fake_nvml

#define FAKE_NVML_EXPORT extern "C" __attribute__((visibility("default")))
