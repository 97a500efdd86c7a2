// SPDX-License-Identifier: LGPL-2.1-or-later
// Shows devices with their holders and users as a table.
#pragma once

#include "client/genvctl/environment/loans.hpp"
#include "client/genvctl/options/listing_options.hpp"
#include "client/genvctl/terminal/table.hpp"
#include "genv/machine.hpp"
#include "genv/types.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace genv::ctl {

/// A device with its attachments, oldest first, as the service lists them.
struct HeldDevice {
    Device device;
    std::vector<Attachment> attachments;
};

/// A nested environment that holds some of the devices of its parent.
struct Child {
    std::string id;
    std::optional<std::string> name;
    std::vector<std::uint32_t> devices;
};

/// The properties of the holders, besides their attachments.
struct Holders {
    /// The processes of lingering environments, by id.
    std::map<std::string, std::vector<std::uint32_t>> lingering;
    /// The children of each environment, by its id.
    std::map<std::string, std::vector<Child>> children;
    LoanStates loans;
    /// The environments that are parked and wait for a device again, by its index.
    std::map<std::uint32_t, std::vector<Child>> parked;
};

/// The content of the extra columns.
struct DeviceDetails {
    struct Owner {
        std::uint32_t uid = 0;
        std::string user;
    };
    std::map<std::string, Owner> owners;         ///< of environments, by id
    std::map<std::uint32_t, DeviceState> states; ///< by index
    /// The users whose processes are on a device without an environment, each once, by index.
    std::map<std::uint32_t, std::vector<std::string>> outside;
    bool driverAnswers = true; ///< otherwise the readings are old and the processes are unknown
};

struct DeviceList {
    std::vector<HeldDevice> held;
    Holders holders;
    std::optional<DeviceDetails> details; ///< unset: the extra columns are empty
};

/// Returns the details of a machine. `processes` is unset if the driver does not respond.
DeviceDetails deviceDetails(const Machine& machine,
                            const std::optional<std::vector<ProcessDescription>>& processes);

/// Returns one row for each attachment, and one for each device without attachments.
Table deviceTable(const DeviceList& devices, const ListingOptions& options);

/// Formats an amount of memory in GiB; "-" if it is unknown.
std::string memoryText(std::optional<std::uint64_t> bytes);

} // namespace genv::ctl
