// SPDX-License-Identifier: LGPL-2.1-or-later
// What "usage snapshot" says, the service's and the old Python genv's, as plain values. The text is
// another machine's: nothing of it is used before its type and its size have been looked at, and
// what does not make sense is refused as a whole.
#pragma once

#include "core/bytes.hpp"
#include "core/device.hpp"
#include "core/process.hpp"
#include "core/time.hpp"

#include <nlohmann/json_fwd.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace genv::remote {

/// A snapshot of one host. Texts are valid UTF-8 of at most longestForeignText bytes and otherwise
/// whatever somebody chose there: they are made safe where they are printed.
struct Snapshot {
    struct Use {
        core::DeviceIndex device = 0;
        std::optional<core::Bytes> memory; ///< unset: not known
    };
    struct Process {
        core::Pid pid = 0;
        std::optional<std::string> environment; ///< its id; one that is not listed has ended
        std::vector<Use> uses;                  ///< each device once
        std::optional<core::Uid> uid;           ///< not part of a snapshot; parsing leaves it unset
    };
    struct Environment {
        std::string id;
        core::Uid uid = 0;
        std::string user;        ///< the uid as text where there is no name
        core::WallTime created;  ///< by this machine's time zone
        std::string createdText; ///< as it came, "%d/%m/%Y %H:%M:%S"
        std::optional<std::string> name;
        std::optional<std::uint32_t> gpus;
        std::optional<core::Bytes> gpuMemory;
        std::vector<core::Pid> processes;
        std::vector<std::string> kernels;
    };
    struct Attachment {
        std::string environment;          ///< its id; one that is not listed has ended
        std::optional<core::Bytes> share; ///< unset: the whole device
        core::WallTime since;             ///< by this machine's time zone
    };
    struct Device {
        core::DeviceIndex index = 0;
        core::Bytes totalMemory;
        std::vector<Attachment> attachments; ///< each environment once
    };

    std::vector<Process> processes;        ///< each pid once
    std::vector<Environment> environments; ///< each id once
    std::vector<Device> devices;           ///< each index once
};

/// The longest id, name and other text in a snapshot, in bytes.
inline constexpr std::size_t longestForeignText = 4096;

/// A text that is no snapshot; what() says why, and is safe to print.
class InvalidSnapshot : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

/// Reads `{"processes": {...}, "envs": {...}, "devices": {...}}`. Keys that are not known are
/// ignored. Throws InvalidSnapshot.
Snapshot parseSnapshot(std::string_view json);

using Json = nlohmann::ordered_json;

/// An environment and a process as a snapshot and a report write them: JSON objects with exactly
/// the keys by which the old genv knows what they are.
Json environmentJson(const Snapshot::Environment& environment);
Json processJson(const Snapshot::Process& process);

/// Writes JSON in ASCII, on one line.
std::string writeJson(const Json& json);

} // namespace genv::remote
