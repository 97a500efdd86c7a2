// SPDX-License-Identifier: LGPL-2.1-or-later
// The content of "usage snapshot" as plain values, for the service and for genv 1. The text comes
// from another machine: the type and size of every value are checked before it is used, and an
// invalid text is refused as a whole.
#pragma once

#include "core/base/bytes.hpp"
#include "core/base/process.hpp"
#include "core/base/time.hpp"
#include "core/model/device.hpp"

#include <nlohmann/json_fwd.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace genv::remote {

/// A snapshot of one host. Texts are valid UTF-8 of at most maxForeignTextLength bytes. Their
/// content was chosen by users there and is made safe when it is printed.
struct Snapshot {
    struct Use {
        core::DeviceIndex device = 0;
        std::optional<core::Bytes> memory; ///< unset: not known
    };
    struct Process {
        core::Pid pid = 0;
        std::optional<std::string> environment; ///< its id; an id that is not listed has ended
        std::vector<Use> uses;                  ///< each device once
        std::optional<core::Uid> uid;           ///< not part of a snapshot; unset after parsing
    };
    struct Environment {
        std::string id;
        core::Uid uid = 0;
        std::string user;        ///< the uid as text if there is no name
        core::WallTime created;  ///< in this machine's time zone
        std::string createdText; ///< as received, "%d/%m/%Y %H:%M:%S"
        std::optional<std::string> name;
        std::optional<std::uint32_t> gpus;
        std::optional<core::Bytes> gpuMemory;
        std::vector<core::Pid> processes;
        std::vector<std::string> kernels;
    };
    struct Attachment {
        std::string environment;          ///< its id; an id that is not listed has ended
        std::optional<core::Bytes> share; ///< unset: the whole device
        core::WallTime since;             ///< in this machine's time zone
    };
    struct Device {
        core::DeviceIndex index = 0;
        core::Bytes totalMemory;
        std::vector<Attachment> attachments; ///< each environment once
    };

    std::vector<Process> processes;        ///< each PID once
    std::vector<Environment> environments; ///< each id once
    std::vector<Device> devices;           ///< each index once
};

/// The maximum length of an id, name or other text in a snapshot, in bytes.
inline constexpr std::size_t maxForeignTextLength = 4096;

/// The text is not a valid snapshot. what() contains the reason and is safe to print.
class InvalidSnapshot : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

/// Parses `{"processes": {...}, "envs": {...}, "devices": {...}}`. Unknown keys are ignored. Throws
/// InvalidSnapshot.
Snapshot parseSnapshot(std::string_view json);

using Json = nlohmann::ordered_json;

/// Return an environment and a process in the form of snapshots and reports: JSON objects with
/// exactly the keys by which genv 1 recognises their types.
Json environmentJson(const Snapshot::Environment& environment);
Json processJson(const Snapshot::Process& process);

/// Writes JSON in ASCII, on one line.
std::string writeJson(const Json& json);

} // namespace genv::remote
