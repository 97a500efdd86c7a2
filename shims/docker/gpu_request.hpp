// SPDX-License-Identifier: LGPL-2.1-or-later
// Maps the GPUs that a user requests with --gpus and --device to attached devices. Both engines
// would count all devices of the machine. Here, each request either becomes a list of names of
// attached devices or is refused.
//
// The form of the names depends on the option. docker passes --gpus to NVIDIA's runtime, which
// knows every device by its UUID, and a UUID never refers to another device. A CDI device is known
// only by the names in the machine's specification. nvidia-ctk has always written indices there,
// but UUIDs only in versions that write both. A GPU is therefore named by its index, unless the
// user named it by its UUID. MIG instances are an exception: CDI counts instances within their GPU,
// and genv counts them across the machine, so only the UUID has the same meaning in both.
#pragma once

#include "shims/program_view.hpp"

#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace genv::shims {

/// A request that is not passed on. what() is a message for users, hint() a second line. Both
/// contain printable text only.
class RefusedRequest : public std::runtime_error {
  public:
    RefusedRequest(const std::string& message, std::string hint)
        : std::runtime_error(message), hint_(std::move(hint)) {}

    [[nodiscard]] const std::string& hint() const { return hint_; }

  private:
    std::string hint_;
};

/// The devices of an environment, from which requests are fulfilled.
struct AttachedDevices {
    std::string environment;
    View devices; ///< by index
};

/// Returns the fields of a comma-separated line, parsed like Go's encoding/csv. Returns nothing if
/// the line is invalid or there is more than one line.
std::optional<std::vector<std::string>> splitFields(std::string_view line);

/// Returns the value of docker's --gpus for these devices. Throws RefusedRequest.
std::string dockerGpus(const std::string& value, const AttachedDevices& attached);

/// Returns the CDI names of the devices that a --gpus value requests. Throws RefusedRequest.
std::vector<std::string> cdiGpus(const std::string& value, const AttachedDevices& attached);

/// Returns whether a value of --device is a CDI name of NVIDIA GPUs.
bool isCdiGpu(std::string_view device);

/// Returns the CDI names of the attached devices to which such a value refers. Throws
/// RefusedRequest.
std::vector<std::string> cdiDevices(const std::string& device, const AttachedDevices& attached);

} // namespace genv::shims
