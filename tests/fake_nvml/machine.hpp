// SPDX-License-Identifier: LGPL-2.1-or-later
// The machine that the fake NVML reports, read from the JSON file that GENV_FAKE_NVML names;
// without one there is no driver. A test changes the machine by renaming another file over it; the
// next call sees that. As with the real library the list of GPUs stays as it was at nvmlInit(): a
// GPU that is taken out of the file is lost until then.
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
// or one; 13 is "the driver behind the library does not know it", 3 "this device does not have it".
// The utilization of a process are its samples, a time and a percentage each; without any it has
// one. Members may be missing: what a device does not have is then not supported. "mig" puts a GPU
// into MIG mode, null being a gap in the indices. Processes are of type compute (the default),
// graphics or mps. The node of a GPU is opened when its handle is asked for: a caller who may not
// open it gets no handle but NVML_ERROR_NO_PERMISSION, though all GPUs are counted, but by the
// first version of the count. A node without a driver is one that may be opened. Events of XIDs are
// told once to each event set that was made before their id first stood in the file. A text may be
// an array of bytes, for what JSON cannot hold.
#pragma once

#include "service/gpu/nvml_abi.hpp"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace genv::service::nvml {

/// What a handle points to. It means something until the nvmlShutdown() that follows its making.
struct OpaqueDevice {
    unsigned generation;
    std::string gpu;      ///< UUID
    std::string instance; ///< UUID of the MIG instance, or empty
};

struct OpaqueEventSet {
    std::set<std::string> gpus; ///< UUIDs
    std::uint64_t lastId;
};

} // namespace genv::service::nvml

namespace genv::fake_nvml {

namespace nvml = service::nvml;
using nlohmann::json;
using nvml::Return;

/// An answer that is an error: functions throw it, the exports return it.
struct Refusal {
    Return result;
};

/// A GPU or MIG instance as the file has it now.
struct FoundDevice {
    const json& values;
    const json& gpu; ///< the same but for a MIG instance
    [[nodiscard]] bool isMig() const { return &values != &gpu; }
};

class Machine {
  public:
    /// Begins a call of this function: reads the file again if it changed, and does what faults
    /// say; a value to return is thrown.
    void enter(const char* function);

    void init();
    void shutdown();
    /// Throws Uninitialized before init().
    void requireInit() const;

    /// UUIDs of the GPUs as they were at init().
    [[nodiscard]] const std::vector<std::string>& gpus() const { return gpus_; }
    [[nodiscard]] const json& file() const { return file_; }
    [[nodiscard]] std::uint64_t lastXid() const;

    /// Whether this process could open the node of a GPU, now or since init().
    bool mayOpen(const std::string& gpu);
    /// The same; throws NoPermission.
    void requireOpen(const std::string& gpu);

    nvml::Device handleOf(const std::string& gpu, const std::string& instance = {});
    /// What a handle points to. Throws what NVML answers for handles that are wrong, lost, or under
    /// a fault.
    FoundDevice find(nvml::Device handle) const;
    /// The MIG instance of this UUID on this GPU, or null.
    [[nodiscard]] const json* findInstance(const std::string& gpu, const std::string& uuid) const;
    /// The index of a handle: of a GPU among the GPUs, of a MIG instance within its GPU.
    [[nodiscard]] unsigned indexOf(nvml::Device handle) const;

    std::mutex mutex;
    std::deque<nvml::OpaqueEventSet> eventSets;

  private:
    void reload();
    [[nodiscard]] const json* findGpu(const std::string& uuid) const;
    void applyFaults(const json& owner) const;

    std::string function_; // the call that is being made
    json file_;
    std::string version_; // which file this is: its inode, size and time of change
    unsigned users_ = 0;
    unsigned generation_ = 0;
    std::vector<std::string> gpus_;
    std::set<std::string> opened_; // since init()
    std::deque<nvml::OpaqueDevice> handles_;
};

Machine& machine();

/// A text member, given as a string or as an array of bytes.
std::string textOf(const json& value);
/// A member, or null.
const json& member(const json& object, const char* name);
/// Copies a text with its zero. Throws InsufficientSize.
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

/// The same for a function about a device.
template <typename Action>
Return callOn(nvml::Device handle, const char* function, Action action) {
    return call(function, [&](Machine& m) { action(m.find(handle)); });
}

} // namespace genv::fake_nvml

#define FAKE_NVML_EXPORT extern "C" __attribute__((visibility("default")))
