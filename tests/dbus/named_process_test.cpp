// SPDX-License-Identifier: LGPL-2.1-or-later
// A PID in a call counts only if the caller uses the PIDs of the service.
#include "dbus/calls/named_process.hpp"
#include "tests/dbus/context_fixture.hpp"

namespace genv::tests {
namespace {

class NamedProcess : public ContextTest {
  protected:
    NamedProcess() { callers.learn(":1.7", dbus::raw::Credentials{alice, inside}); }

    /// Returns whether a call about this PID goes on.
    bool goesOn(core::Pid pid, core::Pid caller = inside) {
        bool continued = false;
        const dbus::Reply<> reply{sdbus::Result<>{received()},
                                  dbus::Call{row("dev.genv.Environment", "AddProcess"),
                                             {":1.7", alice, caller, false},
                                             *this,
                                             isEnding}};
        reply.guarded([&] {
            dbus::whenPidIsOurs(context.calls, processes, reply, pid, [&continued, reply] {
                continued = true;
                reply.send();
            });
        });
        return continued;
    }

    static constexpr core::Pid inside = 500;
};

TEST_F(NamedProcess, IsTakenByItsNumberFromTheServicesOwnNamespace) {
    EXPECT_TRUE(goesOn(42));
    EXPECT_TRUE(goesOn(43));
    EXPECT_EQ(processes.numberings, 1) << "a process never changes its namespace";
    EXPECT_TRUE(refusals.empty());
}

TEST_F(NamedProcess, IsRefusedByItsNumberFromAnother) {
    processes.contained.insert(inside);
    EXPECT_FALSE(goesOn(42));
    EXPECT_EQ(refusalText(),
              "the caller, process 500 here, is in another PID namespace, where 42 is "
              "another process; name the process by a pidfd, or call from outside the "
              "container");
    EXPECT_EQ(refusals[0].code, core::ErrorCode::InvalidArgs);
    EXPECT_FALSE(goesOn(43));
    EXPECT_EQ(processes.numberings, 1);
}

TEST_F(NamedProcess, IsTheCallerItselfAsTheBusReportsItFromAnyNamespace) {
    processes.contained.insert(inside);
    EXPECT_TRUE(goesOn(inside));
    EXPECT_EQ(processes.numberings, 0);
}

TEST_F(NamedProcess, IsRefusedWhereTheBusDoesNotSeeTheCaller) {
    EXPECT_FALSE(goesOn(42, 0));
    EXPECT_EQ(refusals.at(0).code, core::ErrorCode::InvalidArgs);
    EXPECT_NE(refusalText().find("another PID namespace"), std::string::npos);
}

} // namespace
} // namespace genv::tests
