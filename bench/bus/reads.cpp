// SPDX-License-Identifier: LGPL-2.1-or-later
#include "bench/bus/reads.hpp"

#include "dbus/members.hpp"
#include "policy/actions.hpp"

#include <algorithm>
#include <filesystem>
#include <limits>
#include <stdexcept>

namespace genv::bench {

namespace {

using tests::managerInterface;
using tests::managerPath;

const std::string properties = "org.freedesktop.DBus.Properties";

// Returns whether a method only reads: it requires nothing, or only that users query data about
// themselves.
bool isRead(const policy::MethodRow& row) {
    return row.requirement == policy::Requirement::Free ||
           row.requirement == policy::Requirement::ReadHistory;
}

// Ensures that each new read method in the XML is measured.
void requireEveryRead(const std::vector<Read>& reads) {
    for (const dbus::MethodName& method : dbus::methods) {
        const bool isThere = std::any_of(reads.begin(), reads.end(), [&](const Read& read) {
            return read.operation.name == method.member;
        });
        if (isRead(policy::rowOf(method.interface, method.member)) && !isThere)
            throw std::logic_error("the read method " + std::string(method.member) +
                                   " is not measured");
    }
}

// Without a journal, the call fails, and the time of this error is measured.
std::string errorOfHistory() {
    return std::filesystem::exists("/run/log/journal") ? ""
                                                       : "org.freedesktop.DBus.Error.NotSupported";
}

} // namespace

std::vector<Read> readsIn(Scene& scene) {
    tests::Client& root = scene.root();
    const std::string id = Scene::idOf(0);
    const std::string environment = tests::environmentPath(id);
    const std::string device = tests::devicePath(0);
    const auto manager = [&](const std::string& member, const std::string& signature = "",
                             auto... arguments) {
        return callOf(member, root, managerPath, managerInterface, member, signature, arguments...);
    };
    const auto property = [&](const std::string& name, const std::string& path,
                              const std::string& interface) {
        return callOf("Get " + name, root, path, properties, "Get", "ss", interface, name);
    };
    const auto all = [&](const std::string& of, const std::string& path,
                         const std::string& interface) {
        return callOf("GetAll of " + of, root, path, properties, "GetAll", "s", interface);
    };
    Operation history = manager("ListEvents", "tta{sv}", std::uint64_t{0}, std::uint64_t{0}, 1,
                                std::string("limit"), std::string("u"), 1U);
    history.expectedError = errorOfHistory();
    std::vector<Read> reads{
        {manager("ListEnvironments"), Holds::Environments},
        {manager("ListDevices"), Holds::Devices},
        {manager("ListAttachments"), Holds::Environments},
        {manager("ListProcesses"), Holds::Fixed},
        {manager("DescribeProcesses"), Holds::Fixed},
        // Clients that have all readings request only the newer ones.
        {manager("ListReadings", "t", std::numeric_limits<std::uint64_t>::max()), Holds::Fixed},
        {manager("GetEnvironment", "s", id), Holds::Fixed},
        {manager("GetDevice", "u", 0U), Holds::Fixed},
        {manager("GetEnvironmentByPID", "u", scene.processOf(0)), Holds::Fixed},
        {manager("Snapshot"), Holds::Both},
        {manager("GetLimits", "u", tests::alice), Holds::Fixed},
        {manager("ListQueue"), Holds::Fixed},
        {manager("DescribeQueue"), Holds::Fixed},
        {manager("ListUse", "a{sv}", 0), Holds::Fixed},
        {manager("DescribeIsolation"), Holds::Devices},
        {manager("ListRefusedOpens", "a{sv}", 0), Holds::Fixed},
        {history, Holds::Journal},
        {property("Version", managerPath, managerInterface), Holds::Fixed},
        {property("EnvironmentCount", managerPath, managerInterface), Holds::Fixed},
        {property("Devices", environment, tests::environmentInterface), Holds::Fixed},
        {all("the manager", managerPath, managerInterface), Holds::Fixed},
        {all("an environment", environment, tests::environmentInterface), Holds::Fixed},
        {all("a device", device, tests::deviceInterface), Holds::Fixed},
        {callOf("GetManagedObjects", root, managerPath, "org.freedesktop.DBus.ObjectManager",
                "GetManagedObjects"),
         Holds::Both},
    };
    requireEveryRead(reads);
    return reads;
}

} // namespace genv::bench
