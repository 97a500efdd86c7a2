// SPDX-License-Identifier: LGPL-2.1-or-later
// The one table of what may be done by whom: every method of the bus interface, what it requires,
// and what polkit calls it. dbus/method_coverage.cpp checks at build time that each method of the
// XML has exactly one row; data/polkit declares the actions, and a test holds the two against each
// other.
#pragma once

#include <array>
#include <string_view>

namespace genv::policy {

/// The polkit actions.
enum class Action {
    Activate,
    Attach,
    OverSubscribe,
    ManageOwn,
    ManageOthers,
    TerminateOthers,
    ExceedLimits,
    Enforce,
    Configure,
    ReadHistory,
    ExtendJob,
};

/// Every action with the id that polkit knows it by.
struct ActionId {
    Action action;
    std::string_view id;
};

inline constexpr std::array actionIds{
    ActionId{Action::Activate, "dev.genv.manager.activate"},
    ActionId{Action::Attach, "dev.genv.manager.attach"},
    ActionId{Action::OverSubscribe, "dev.genv.manager.over-subscribe"},
    ActionId{Action::ManageOwn, "dev.genv.manager.manage-own"},
    ActionId{Action::ManageOthers, "dev.genv.manager.manage-others"},
    ActionId{Action::TerminateOthers, "dev.genv.manager.terminate-others"},
    ActionId{Action::ExceedLimits, "dev.genv.manager.exceed-limits"},
    ActionId{Action::Enforce, "dev.genv.manager.enforce"},
    ActionId{Action::Configure, "dev.genv.manager.configure"},
    ActionId{Action::ReadHistory, "dev.genv.manager.read-history"},
    ActionId{Action::ExtendJob, "dev.genv.manager.extend-job"},
};

/// The id of an action.
constexpr std::string_view idOf(Action action) {
    for (const ActionId& row : actionIds) {
        if (row.action == action)
            return row.id;
    }
    return {};
}

/// What a method requires of its caller; questionFor() turns it into a question.
enum class Requirement {
    Free, ///< reading: who holds what is what people share a machine by
    /// The first that applies of manage-others (also for what another user's environment has),
    /// over-subscribe, attach, activate.
    GiveDevices,
    /// manage-own or manage-others, by the environment's owner; extend-job for the lifetime of
    /// one's own Slurm job
    ManageEnvironment,
    ManageDevice,     ///< manage-others
    TerminateProcess, ///< manage-own or terminate-others, by the process's uids
    Enforce,          ///< enforce; a dry run is free
    Configure,        ///< configure
    ReadHistory,      ///< read-history, but free where the target is the caller
};

/// What a method requires, and what it does to its target, for the person who is asked for a
/// password.
struct MethodRow {
    std::string_view interface;
    std::string_view member;
    Requirement requirement;
    std::string_view deed; ///< "Authentication is required to <deed> <target>"
};

inline constexpr std::array methodTable{
    MethodRow{"dev.genv.Manager", "Activate", Requirement::GiveDevices, "activate"},
    MethodRow{"dev.genv.Manager", "ListEnvironments", Requirement::Free, ""},
    MethodRow{"dev.genv.Manager", "ListDevices", Requirement::Free, ""},
    MethodRow{"dev.genv.Manager", "ListAttachments", Requirement::Free, ""},
    MethodRow{"dev.genv.Manager", "ListProcesses", Requirement::Free, ""},
    MethodRow{"dev.genv.Manager", "DescribeProcesses", Requirement::Free, ""},
    MethodRow{"dev.genv.Manager", "ListReadings", Requirement::Free, ""},
    MethodRow{"dev.genv.Manager", "GetEnvironment", Requirement::Free, ""},
    MethodRow{"dev.genv.Manager", "GetDevice", Requirement::Free, ""},
    MethodRow{"dev.genv.Manager", "GetEnvironmentByPID", Requirement::Free, ""},
    MethodRow{"dev.genv.Manager", "Snapshot", Requirement::Free, ""},
    MethodRow{"dev.genv.Manager", "GetLimits", Requirement::Free, ""},
    MethodRow{"dev.genv.Manager", "Enforce", Requirement::Enforce, "enforce the rules on"},
    MethodRow{"dev.genv.Manager", "Execute", Requirement::Enforce,
              "carry out an enforcement report on"},
    MethodRow{"dev.genv.Manager", "TerminateProcess", Requirement::TerminateProcess, "terminate"},
    MethodRow{"dev.genv.Manager", "ListQueue", Requirement::Free, ""},
    MethodRow{"dev.genv.Manager", "CancelWait", Requirement::ManageEnvironment,
              "cancel a wait for GPUs of"},
    MethodRow{"dev.genv.Manager", "ListEvents", Requirement::ReadHistory, "read the history of"},
    MethodRow{"dev.genv.Manager", "DescribeIsolation", Requirement::Free, ""},
    MethodRow{"dev.genv.Manager", "ListRefusedOpens", Requirement::ReadHistory,
              "read the refused GPU accesses of"},
    MethodRow{"dev.genv.Manager", "SuspendIsolation", Requirement::Configure,
              "suspend or resume the isolation of"},
    MethodRow{"dev.genv.Manager", "Reload", Requirement::Configure, "reload the configuration of"},
    MethodRow{"dev.genv.Environment", "Attach", Requirement::GiveDevices, "attach GPUs to"},
    MethodRow{"dev.genv.Environment", "Detach", Requirement::ManageEnvironment, "detach GPUs from"},
    MethodRow{"dev.genv.Environment", "Configure", Requirement::ManageEnvironment, "configure"},
    MethodRow{"dev.genv.Environment", "AddProcess", Requirement::ManageEnvironment,
              "add a process to"},
    MethodRow{"dev.genv.Environment", "RemoveProcess", Requirement::ManageEnvironment,
              "remove a process from"},
    MethodRow{"dev.genv.Environment", "AddKernel", Requirement::ManageEnvironment,
              "add a kernel to"},
    MethodRow{"dev.genv.Environment", "RemoveKernel", Requirement::ManageEnvironment,
              "remove a kernel from"},
    MethodRow{"dev.genv.Environment", "Deactivate", Requirement::ManageEnvironment, "end"},
    MethodRow{"dev.genv.Environment", "Lock", Requirement::ManageEnvironment, "lock the GPUs of"},
    MethodRow{"dev.genv.Device", "Detach", Requirement::ManageDevice, "detach"},
};

/// Whether a call requires nothing, as one of no method of genv's does. An empty interface may be
/// any.
constexpr bool isFree(std::string_view interface, std::string_view member) {
    for (const MethodRow& row : methodTable) {
        if (row.member == member && (interface.empty() || row.interface == interface) &&
            row.requirement != Requirement::Free)
            return false;
    }
    return true;
}

/// How many rows a method has: one, for every method that may be called.
constexpr int countRows(std::string_view interface, std::string_view member) {
    int count = 0;
    for (const MethodRow& row : methodTable)
        count += row.interface == interface && row.member == member ? 1 : 0;
    return count;
}

/// The row of a method, in a constant expression: there, a method without one does not compile.
constexpr const MethodRow& rowOf(std::string_view interface, std::string_view member) {
    for (const MethodRow& row : methodTable) {
        if (row.interface == interface && row.member == member)
            return row;
    }
    throw "this method has no row in the authorisation table"; // not a constant expression: a build
                                                               // error
}

} // namespace genv::policy
