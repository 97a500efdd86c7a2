// SPDX-License-Identifier: LGPL-2.1-or-later
// What a person is told, made of what the service told: one message for everything that became of
// one environment for one reason in a short time. All texts are printable: what is foreign in them
// has been escaped.
#pragma once

#include "core/device.hpp"
#include "core/time.hpp"
#include "genv/types.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace genv::notify {

/// A device as a person and as the service knows it.
struct NamedDevice {
    core::DeviceIndex index = 0;
    std::string uuid;
};

/// What a person may answer a message with.
struct Action {
    enum class Kind { Extend, AttachAgain };
    Kind kind = Kind::Extend;
    std::string environment;
    core::WallTime leaseEnd;          ///< of Extend: when the lease is over
    std::vector<NamedDevice> devices; ///< of AttachAgain
};

/// The values of the specification's hint.
enum class Urgency : std::uint8_t { Low = 0, Normal = 1, Critical = 2 };

struct Message {
    std::string subject; ///< a later message about the same replaces this one
    Urgency urgency = Urgency::Normal;
    std::string category; ///< as the specification has them, else "x-genv...."
    std::string title;
    std::vector<std::string> sentences; ///< what happened and why; whole ones with a full stop
    std::string hint;                   ///< what to do next; may be empty
    std::vector<Action> actions;        ///< at most one of a kind
};

/// Something that the service told, and when.
struct Heard {
    Notice notice;
    core::WallTime when;
};

/// A detail that is added here, to a notice of kind "open-refused": others hold the device.
inline constexpr const char* heldByOthers = "held-by-others";

/// What a notice is about: the environment and the cause. Nothing for one that nobody needs to be
/// told of.
std::optional<std::string> subjectOf(const Notice& notice);

/// The message that says all of these; they are of one subject, oldest first, and at least one.
/// `missing` more were heard and are not among them.
Message compose(const std::string& subject, const std::vector<Heard>& heard, std::size_t missing);

/// One message in place of many, and of `missing` more that are not known any longer.
Message summarise(const std::vector<Message>& messages, std::size_t missing);
/// A message that was not shown yet and the one that takes its place, as one.
Message joined(const Message& older, Message newer);

/// A user's name, escaped; "uid N" for one that has none.
std::string userName(std::uint32_t uid);

} // namespace genv::notify
