// SPDX-License-Identifier: LGPL-2.1-or-later
// The lists of dev.genv.Manager, in D-Bus types.
#pragma once

#include "core/devices/reading_ring.hpp"
#include "core/ledger/ledger_view.hpp"
#include "core/limits/limit_use.hpp"
#include "core/ports/observer.hpp"
#include "core/queue/queue.hpp"
#include "core/settings/settings.hpp"
#include "dbus/calls/call_options.hpp"

#include <sdbus-c++/sdbus-c++.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace genv::dbus {

/// Id, uid, user, name, created, root processes, object.
using EnvironmentRows =
    std::vector<sdbus::Struct<std::string, std::uint32_t, std::string, std::string, std::uint64_t,
                              std::vector<std::uint32_t>, sdbus::ObjectPath>>;
EnvironmentRows environmentRows(const core::LedgerView& ledger);

/// Index, UUID, model, total memory, object.
using DeviceRows = std::vector<
    sdbus::Struct<std::uint32_t, std::string, std::string, std::uint64_t, sdbus::ObjectPath>>;
DeviceRows deviceRows(const core::LedgerView& ledger);

/// Device, environment, its name, share of the memory (0: all), start.
using AttachmentRows = std::vector<
    sdbus::Struct<std::uint32_t, std::string, std::string, std::uint64_t, std::uint64_t>>;
AttachmentRows attachmentRows(const core::LedgerView& ledger);

/// PID, uid, environment (empty: none), and the used memory of each device.
using ProcessRows =
    std::vector<sdbus::Struct<std::uint32_t, std::uint32_t, std::string,
                              std::vector<sdbus::Struct<std::uint32_t, std::uint64_t>>>>;
ProcessRows processRows(const core::LedgerView& ledger, const core::Observation& observation);

/// Device, time, used memory, utilisation, temperature, power.
using ReadingRows = std::vector<sdbus::Struct<std::uint32_t, std::uint64_t, std::uint64_t,
                                              std::uint32_t, std::int32_t, std::uint32_t>>;
/// Returns a page of the readings after `since`, in microseconds since the epoch.
ReadingRows readingRows(const core::ReadingRing& readings, std::uint64_t since,
                        const core::DeviceTable& devices);

/// Ticket, environment, uid, number of missing devices, start; in the order in force.
using QueueRows = std::vector<
    sdbus::Struct<std::uint64_t, std::string, std::uint32_t, std::uint32_t, std::uint64_t>>;
QueueRows queueRows(const core::LedgerView& ledger, const core::Queue& queue);

/// Name of the limit: allowed and used amount.
using LimitRows = std::map<std::string, sdbus::Struct<std::uint64_t, std::uint64_t>>;
LimitRows limitRows(const std::vector<core::LimitUse>& uses);

/// Returns the value of the property Policy: settings by their keys in genvd.conf.
VariantMap policyOf(const core::Settings& settings);

} // namespace genv::dbus
