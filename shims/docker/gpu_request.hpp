// SPDX-License-Identifier: LGPL-2.1-or-later
// What somebody asks for with --gpus and --device, and which attached devices that is. Both engines
// would count over all devices of the machine: here every request ends up as names of devices that
// are attached, or is refused.
//
// Which names: --gpus of docker goes to NVIDIA's runtime, which knows every device by its UUID, and
// a UUID is never another device's. A CDI device is known only by the names that are written in the
// machine's specification, and nvidia-ctk has always written the indices, the UUIDs only since it
// writes both. So a GPU is named by its index there, unless the person named it by its UUID. A MIG
// instance is the exception: CDI counts instances within their GPU, genv through the machine, so
// only its UUID means the same to both.
#pragma once

#include "shims/view.hpp"

#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace genv::shims {

/// A request that is not passed on. what() is a line for people, hint() a second one; both hold
/// printable text only.
class Refusal : public std::runtime_error {
  public:
    Refusal(const std::string& message, std::string hint)
        : std::runtime_error(message), hint_(std::move(hint)) {}

    [[nodiscard]] const std::string& hint() const { return hint_; }

  private:
    std::string hint_;
};

/// The devices of an environment, which requests are answered from.
struct Attached {
    std::string environment;
    View devices; ///< by index
};

/// The fields of a comma-separated line, as Go's encoding/csv reads it; nothing where it cannot be
/// read or is more than one line.
std::optional<std::vector<std::string>> splitFields(std::string_view line);

/// The value of docker's --gpus for these devices. Throws Refusal.
std::string dockerGpus(const std::string& value, const Attached& attached);

/// The CDI names of what --gpus asks for. Throws Refusal.
std::vector<std::string> cdiGpus(const std::string& value, const Attached& attached);

/// Whether a value of --device is a CDI name of NVIDIA GPUs.
bool isCdiGpu(std::string_view device);

/// The CDI names of the attached devices that such a value means. Throws Refusal.
std::vector<std::string> cdiDevices(const std::string& device, const Attached& attached);

} // namespace genv::shims
