// SPDX-License-Identifier: LGPL-2.1-or-later
// Converts between the values of the public headers and the messages on the bus. Only this code
// knows the special numbers of the bus: 0 for "unset", the largest number for "unknown".
#pragma once

#include "client/libgenv/dictionary.hpp"
#include "client/libgenv/properties.hpp"
#include "genv/isolation.hpp"
#include "genv/loans.hpp"
#include "genv/options.hpp"
#include "genv/types.hpp"

#include <sdbus-c++/sdbus-c++.h>

#include <map>
#include <string>
#include <vector>

namespace genv::client {

/// The options of Activate and Attach in the form in which they are sent.
Dictionary toDictionary(const ActivateOptions& options);
Dictionary toDictionary(const AttachOptions& options);

/// Converts all properties of an environment. Throws sdbus::Error if one is missing or has another
/// type.
Environment toEnvironment(const Properties& properties);
/// Converts all properties of a device. Throws sdbus::Error if one is missing or has another type.
DeviceState toDeviceState(const Properties& properties);

ServiceStatus toServiceStatus(const Properties& properties);

/// Converts the reply of DescribeIsolation. Throws sdbus::Error if an entry is missing or has
/// another type.
IsolationState toIsolation(const Dictionary& isolation);
/// The reply of ListRefusedOpens: uid, device, node, count, last, pid, command.
using BusRefusedOpens =
    std::vector<sdbus::Struct<std::uint32_t, std::uint32_t, std::string, std::uint64_t,
                              std::uint64_t, std::uint32_t, std::string>>;
std::vector<RefusedOpen> toRefusedOpens(BusRefusedOpens refusals);

/// The reply of Enforce and Execute and the content of the signal Enforced: kind, details.
using BusActions = std::vector<sdbus::Struct<std::string, Dictionary>>;
/// Throws sdbus::Error if a detail has another type.
std::vector<EnforcementAction> toActions(const BusActions& actions);

/// The reply of GetLimits: name to allowed, where the largest number means unlimited, and used.
using BusLimits = std::map<std::string, sdbus::Struct<std::uint64_t, std::uint64_t>>;
std::map<std::string, Limit> toLimits(const BusLimits& limits);

/// Returns a value as text: numbers in decimal, lists separated by commas. Empty for a type that no
/// notice uses.
std::string toText(const sdbus::Variant& value);

/// The reply of ListUse: uid, user, GPU seconds, weight.
using BusUse = std::vector<sdbus::Struct<std::uint32_t, std::string, std::uint64_t, std::uint32_t>>;
std::vector<UserUse> toUse(BusUse use);

/// The environments of a taking: id, name, user, bytes to move, and the estimate of all in µs.
using BusTaking =
    std::vector<sdbus::Struct<std::string, std::string, std::string, std::uint64_t, std::uint64_t>>;

/// Converts an entry of the reply of DescribeQueue. Throws sdbus::Error if a required detail is
/// missing or has another type.
WaitingRequest toWaitingRequest(const Dictionary& row);

/// Converts a signal of dev.genv.Manager to an event, or returns nothing if it is not an event.
/// Throws sdbus::Error if its arguments have other types.
std::optional<Event> toEvent(sdbus::Message& signal);
/// Returns the recipient and the content of a Notice signal. Throws sdbus::Error.
std::pair<std::uint32_t, Notice> toNotice(sdbus::Message& signal);

/// Throws sdbus::Error if an entry is missing or has another type.
HistoryEvent toHistoryEvent(const Dictionary& event);

Time toTime(std::uint64_t microseconds);
/// Returns the current time.
Time now();

/// Returns the object path of the environment with this id.
std::string environmentPath(const std::string& id);
/// Returns the id in an environment's path; empty for another path.
std::string environmentId(const std::string& path);

} // namespace genv::client
