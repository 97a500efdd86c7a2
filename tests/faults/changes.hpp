// SPDX-License-Identifier: LGPL-2.1-or-later
// Every kind of change that a caller can request, for tests that cause a fault meanwhile. Bob has
// an environment that must not change.
#pragma once

#include "tests/faults/fixture.hpp"

#include <algorithm>
#include <functional>

namespace genv::tests {

class ChangeTest : public FaultTest {
  protected:
    /// One change to an environment with a process of alice's.
    struct Act {
        const char* name;
        bool hasEnvironment; ///< before the act
        std::uint32_t gpus;  ///< the devices of the environment before the act
        std::function<std::unique_ptr<PendingCall>(const std::string& id, const UserProcess&)>
            start;
        std::function<bool(const std::string& id)> isDone;
    };

    std::vector<Act> acts() {
        const auto onEnvironment = [this](const char* member, auto... arguments) {
            return [this, member, arguments...](const std::string& id, const UserProcess&) {
                return asAlice->start(environmentPath(id), environmentInterface, member,
                                      arguments...);
            };
        };
        return {
            {"Activate", false, 0,
             [this](const std::string& id, const UserProcess& shell) {
                 return asAlice->start(managerPath, managerInterface, "Activate", "a{sv}", 3, "id",
                                       "s", id.c_str(), "pid", "u", shell.pid(), "gpus", "u", 2U);
             },
             [this](const std::string& id) { return count(devicesOf(id)) == 2; }},
            {"Attach", true, 0, onEnvironment("Attach", "a{sv}", 1, "count", "u", 2U),
             [this](const std::string& id) { return count(devicesOf(id)) == 2; }},
            {"Attach of less", true, 3,
             onEnvironment("Attach", "a{sv}", 2, "count", "u", 1U, "exact", "b", 1),
             [this](const std::string& id) { return count(devicesOf(id)) == 1; }},
            {"Detach", true, 2, onEnvironment("Detach", "au", 0),
             [this](const std::string& id) { return devicesOf(id).empty(); }},
            {"Configure", true, 1,
             onEnvironment("Configure", "a{sv}as", 1, "name", "s", "Yellow Submarine", 0),
             [this](const std::string& id) {
                 return asRoot->property(environmentPath(id), environmentInterface, "Name") ==
                        "Yellow Submarine";
             }},
            {"AddProcess", true, 1,
             [this](const std::string& id, const UserProcess&) {
                 return asAlice->start(environmentPath(id), environmentInterface, "AddProcess", "u",
                                       other.pid());
             },
             [this](const std::string& id) {
                 return asRoot->property(environmentPath(id), environmentInterface, "Processes")
                            .find(std::to_string(other.pid())) != std::string::npos;
             }},
            {"Deactivate", true, 2, onEnvironment("Deactivate"),
             [this](const std::string& id) { return describe(id).empty(); }},
        };
    }

    static std::size_t count(const std::string& list) {
        return list.empty()
                   ? 0
                   : 1 + static_cast<std::size_t>(std::count(list.begin(), list.end(), ','));
    }

    /// Prepares the environment for an act and returns its description.
    std::string prepare(const Act& act, const std::string& id, const UserProcess& shell) {
        if (!act.hasEnvironment)
            return "";
        const Answer made = asAlice->manager("Activate", "a{sv}", 3, "id", "s", id.c_str(), "pid",
                                             "u", shell.pid(), "gpus", "u", act.gpus);
        EXPECT_TRUE(made.ok()) << made.text;
        return describe(id);
    }
    std::string nextId() { return "fault-" + std::to_string(++lastId_); }

    void awaitOnlyBobs() {
        waitUntil([&] { return environmentCount() == "1"; }, "alice's environment to end");
    }

    UserProcess bobs{bob};
    UserProcess other{alice};
    const std::string his = activate(*asBob, bobs, 1);
    const std::string hisState = describe(his);

  private:
    int lastId_ = 0;
};

} // namespace genv::tests
