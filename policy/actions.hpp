// SPDX-License-Identifier: LGPL-2.1-or-later
// The table of permissions: every method of the bus interface, its requirement, and the polkit
// actions. dbus/calls/method_coverage.cpp checks at build time that each method of the XML has
// exactly one row. data/polkit declares the actions, and a test compares them with this table.
#pragma once

#include <array>
#include <string_view>

namespace genv::policy {

/// The polkit actions.
enum class Action {
    Activate,
    Attach,
    OverSubscribe,
    OverSubscribeOthers,
    ManageOwn,
    ManageOthers,
    TerminateOthers,
    ExceedLimits,
    Enforce,
    Configure,
    ReadHistory,
    ExtendJob,
};

/// Maps each action to its polkit id.
struct ActionId {
    Action action;
    std::string_view id;
};

inline constexpr std::array actionIds{
    ActionId{Action::Activate, "dev.genv.manager.activate"},
    ActionId{Action::Attach, "dev.genv.manager.attach"},
    ActionId{Action::OverSubscribe, "dev.genv.manager.over-subscribe"},
    ActionId{Action::OverSubscribeOthers, "dev.genv.manager.over-subscribe-others"},
    ActionId{Action::ManageOwn, "dev.genv.manager.manage-own"},
    ActionId{Action::ManageOthers, "dev.genv.manager.manage-others"},
    ActionId{Action::TerminateOthers, "dev.genv.manager.terminate-others"},
    ActionId{Action::ExceedLimits, "dev.genv.manager.exceed-limits"},
    ActionId{Action::Enforce, "dev.genv.manager.enforce"},
    ActionId{Action::Configure, "dev.genv.manager.configure"},
    ActionId{Action::ReadHistory, "dev.genv.manager.read-history"},
    ActionId{Action::ExtendJob, "dev.genv.manager.extend-job"},
};

/// Returns the id of an action.
constexpr std::string_view idOf(Action action) {
    for (const ActionId& row : actionIds) {
        if (row.action == action)
            return row.id;
    }
    return {};
}

/// The requirement for the caller of a method; questionFor() turns it into a question.
enum class Requirement {
    Free, ///< read-only: users who share a machine need to know who holds which device
    /// The first applicable one of manage-others (also for devices of another user's environment),
    /// over-subscribe-others (devices whose holders did not consent), over-subscribe, attach,
    /// activate.
    GiveDevices,
    /// manage-own or manage-others, depending on the environment's owner; extend-job for the
    /// lifetime of the caller's own Slurm job
    ManageEnvironment,
    ManageDevice,     ///< manage-others
    TerminateProcess, ///< manage-own or terminate-others, depending on the process's uids
    Enforce,          ///< enforce; a dry run is free
    Configure,        ///< configure
    ReadHistory,      ///< read-history; free if the target is the caller
};

/// The requirement of a method, and its effect on the target, which is shown in the password
/// prompt.
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
    MethodRow{"dev.genv.Manager", "DescribeQueue", Requirement::Free, ""},
    MethodRow{"dev.genv.Manager", "ListUse", Requirement::ReadHistory, "read the GPU use of"},
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
    MethodRow{"dev.genv.Environment", "RemoveProcessByPIDFD", Requirement::ManageEnvironment,
              "remove a process from"},
    MethodRow{"dev.genv.Environment", "AddKernel", Requirement::ManageEnvironment,
              "add a kernel to"},
    MethodRow{"dev.genv.Environment", "RemoveKernel", Requirement::ManageEnvironment,
              "remove a kernel from"},
    MethodRow{"dev.genv.Environment", "Deactivate", Requirement::ManageEnvironment, "end"},
    MethodRow{"dev.genv.Environment", "Lock", Requirement::ManageEnvironment, "lock the GPUs of"},
    MethodRow{"dev.genv.Environment", "Park", Requirement::ManageEnvironment, "park"},
    MethodRow{"dev.genv.Environment", "Resume", Requirement::ManageEnvironment, "resume"},
    MethodRow{"dev.genv.Device", "Detach", Requirement::ManageDevice, "detach"},
};

/// Returns whether a call needs no authorization. Calls of methods that are not genv's need none.
/// An empty interface matches every interface.
constexpr bool isFree(std::string_view interface, std::string_view member) {
    for (const MethodRow& row : methodTable) {
        if (row.member == member && (interface.empty() || row.interface == interface) &&
            row.requirement != Requirement::Free)
            return false;
    }
    return true;
}

/// Returns the number of rows of a method: one for every method that may be called.
constexpr int countRows(std::string_view interface, std::string_view member) {
    int count = 0;
    for (const MethodRow& row : methodTable)
        count += row.interface == interface && row.member == member ? 1 : 0;
    return count;
}

/// Returns the row of a method. In a constant expression, a method without a row does not compile.
constexpr const MethodRow& rowOf(std::string_view interface, std::string_view member) {
    for (const MethodRow& row : methodTable) {
        if (row.interface == interface && row.member == member)
            return row;
    }
    throw "this method has no row in the authorization table"; // not a constant expression, so the
                                                               // build fails
}

} // namespace genv::policy
