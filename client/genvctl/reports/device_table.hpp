// SPDX-License-Identifier: LGPL-2.1-or-later
// Devices with who holds and uses them, as a table and as JSON.
#pragma once

#include "client/genvctl/options/listing_options.hpp"
#include "client/genvctl/reports/user_names.hpp"
#include "client/genvctl/terminal/json.hpp"
#include "client/genvctl/terminal/table.hpp"
#include "genv/types.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace genv::ctl {

/// A device with its attachments, oldest first as the service lists them.
struct HeldDevice {
    Device device;
    std::vector<Attachment> attachments;
};

/// An environment within another one, which holds the devices.
struct Child {
    std::string id;
    std::optional<std::string> name;
    std::vector<std::uint32_t> devices;
};

/// What is known of the holders beside what they hold.
struct Holders {
    /// The processes of the environments that linger, by id.
    std::map<std::string, std::vector<std::uint32_t>> lingering;
    /// The children of each environment, by its id.
    std::map<std::string, std::vector<Child>> children;
};

/// A process on a device that belongs to no environment.
struct OutsideUse {
    std::uint32_t pid = 0;
    std::uint32_t uid = 0;
    std::string user;
};

/// What the extra columns show.
struct DeviceDetails {
    struct Owner {
        std::uint32_t uid = 0;
        std::string user;
    };
    std::map<std::string, Owner> owners;         ///< of environments, by id
    std::map<std::uint32_t, DeviceState> states; ///< by index
    std::map<std::uint32_t, std::vector<OutsideUse>> outside;
    bool driverAnswers = true; ///< else readings are old, and nobody knows who uses what
};

struct DeviceList {
    std::vector<HeldDevice> held;
    Holders holders;
    std::optional<DeviceDetails> details; ///< unset: the extra columns are empty
};

/// The details of a machine; `processes` are unset where the driver does not answer.
DeviceDetails deviceDetails(const Overview& overview,
                            const std::optional<std::vector<ComputeProcess>>& processes,
                            const UserNames& user);

/// A row for each attachment, and for each device that nobody holds.
Table deviceTable(const DeviceList& devices, const ListingOptions& options);

/// The same for programs, which expect the details.
Json devicesJson(const DeviceList& devices,
                 const std::map<std::uint32_t, std::string>& reservations);

/// An amount of memory for people, in GiB; "-" where it is unknown.
std::string memoryText(std::optional<std::uint64_t> bytes);

} // namespace genv::ctl
