// SPDX-License-Identifier: LGPL-2.1-or-later
// Calls of a real bus's connection that no client sent. Their replies have no receiver, and the
// refusals are kept for the test.
#pragma once

#include "dbus/calls/reply.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace genv::tests {

class ReplyTest : public ::testing::Test, public dbus::Refusals {
  protected:
    static constexpr core::Uid alice = 1001;
    static constexpr core::Uid bob = 1002;

    void refused(const dbus::Refusal& refusal) override { refusals.push_back(refusal); }
    void mayAsk(const std::string& connection, const policy::MethodRow& /*method*/) override {
        asking.push_back(connection);
    }

    static const policy::MethodRow& row(std::string_view interface, std::string_view member) {
        for (const policy::MethodRow& each : policy::methodTable) {
            if (each.interface == interface && each.member == member)
                return each;
        }
        throw std::logic_error("no such method");
    }
    /// Returns a call as the service receives it.
    static sdbus::MethodCall received() {
        static const auto connection = sdbus::createSystemBusConnection();
        static const auto proxy =
            dbus::compat::makeProxy(*connection, "dev.genv.Manager", "/dev/genv/Manager");
        sdbus::MethodCall call = dbus::compat::makeCall(*proxy, "dev.genv.Environment", "Detach");
        call.seal();
        return call;
    }
    /// Returns a call of Environment.Detach.
    dbus::Reply<> call(core::Uid uid = alice, const std::string& connection = ":1.7",
                       bool interactive = false) {
        return {sdbus::Result<>{received()}, dbus::Call{row("dev.genv.Environment", "Detach"),
                                                        {connection, uid, 500, interactive},
                                                        *this,
                                                        isEnding}};
    }
    /// Returns the message of the only refusal.
    std::string refusalText() const {
        return refusals.size() == 1 ? refusals[0].message : "not one";
    }

    std::vector<dbus::Refusal> refusals;
    std::vector<std::string> asking; ///< connections whose calls may ask for a password
    bool isEnding = false;
};

} // namespace genv::tests
