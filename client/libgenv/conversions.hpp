// SPDX-License-Identifier: LGPL-2.1-or-later
// Between the values of the public headers and what goes over the bus. The special numbers of the
// bus (0 = unset, the largest = unknown) are known here only.
#pragma once

#include "client/libgenv/dictionary.hpp"
#include "genv/isolation.hpp"
#include "genv/options.hpp"
#include "genv/types.hpp"

#include <sdbus-c++/sdbus-c++.h>

#include <map>
#include <string>
#include <vector>

namespace genv::client {

/// As GetManagedObjects gives them: path, interface, property.
using ManagedObjects = std::map<sdbus::ObjectPath, std::map<std::string, Dictionary>>;

/// The options of Activate and Attach as they are sent.
Dictionary toDictionary(const ActivateOptions& options);
Dictionary toDictionary(const AttachOptions& options);

/// An environment out of all its properties. Throws sdbus::Error where one is missing or of another
/// type.
Environment toEnvironment(const Dictionary& properties);
/// The environments among all objects, oldest first.
std::vector<Environment> toEnvironments(const ManagedObjects& objects);
/// The environment that one is within, by its properties.
std::optional<std::string> toParent(const Dictionary& properties);
/// The environments within others, and those.
std::map<std::string, std::string> toParents(const ManagedObjects& objects);
/// What toHistoryEvent() leaves out.
HistoryDetails toHistoryDetails(const Dictionary& event);

/// A device out of all its properties. Throws sdbus::Error where one is missing or of another type.
DeviceState toDeviceState(const Dictionary& properties);

/// Every device and environment among all objects. Throws sdbus::Error where a property is missing
/// or of another type.
Overview toOverview(const ManagedObjects& objects);

/// The environment that holds the lock of each device that is locked.
std::map<std::uint32_t, std::string> toLockHolders(const ManagedObjects& objects);
/// For whom each device that is reserved is so; none where the service reserves nothing.
std::map<std::uint32_t, std::string> toReservations(const ManagedObjects& objects);

ServiceStatus toServiceStatus(const Dictionary& properties);

/// As DescribeIsolation gives it. Throws sdbus::Error where something is missing or of another
/// type.
IsolationState toIsolation(const Dictionary& isolation);
/// As ListRefusedOpens gives them: uid, device, node, count, last, pid, command.
using BusRefusedOpens =
    std::vector<sdbus::Struct<std::uint32_t, std::uint32_t, std::string, std::uint64_t,
                              std::uint64_t, std::uint32_t, std::string>>;
std::vector<RefusedOpen> toRefusedOpens(BusRefusedOpens refusals);
/// How often each device among all objects was refused, where the service counts that.
std::map<std::uint32_t, std::uint64_t> toRefusedOpenCounts(const ManagedObjects& objects);

/// As Enforce, Execute and the signal Enforced give them: kind, details.
using BusActions = std::vector<sdbus::Struct<std::string, Dictionary>>;
/// Throws sdbus::Error where a detail is of another type.
std::vector<EnforcementAction> toActions(const BusActions& actions);

/// As GetLimits gives them: name to allowed, with the largest number for unlimited, and used.
using BusLimits = std::map<std::string, sdbus::Struct<std::uint64_t, std::uint64_t>>;
std::map<std::string, Limit> toLimits(const BusLimits& limits);

/// A value as text: numbers in decimal, lists with commas; empty for a type that no notice has.
std::string toText(const sdbus::Variant& value);

/// As ListQueue gives it: ticket, environment, uid, count, since.
using BusQueue = std::vector<
    sdbus::Struct<std::uint64_t, std::string, std::uint32_t, std::uint32_t, std::uint64_t>>;
std::vector<QueueEntry> toQueue(BusQueue queue);

/// The event that a signal of dev.genv.Manager tells; nothing for one that is no event. Throws
/// sdbus::Error where the arguments are others.
std::optional<Event> toEvent(sdbus::Message& signal);
/// The arguments of Notice: whom it is for and what it says. Throws sdbus::Error.
std::pair<std::uint32_t, Notice> toNotice(sdbus::Message& signal);

/// Throws sdbus::Error where something is missing or of another type.
HistoryEvent toHistoryEvent(const Dictionary& event);

Time toTime(std::uint64_t microseconds);
/// The moment now.
Time now();

/// The object path of the environment with this id.
std::string environmentPath(const std::string& id);
/// The id in an environment's path; empty for another path.
std::string environmentId(const std::string& path);

} // namespace genv::client
