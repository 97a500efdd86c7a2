// SPDX-License-Identifier: LGPL-2.1-or-later
// A resource runs out while the service starts. The service starts with its complete state, or it
// does not start and has changed nothing.
#include "tests/faults/changes.hpp"

#include <cerrno>
#include <cstring>
#include <regex>

namespace genv::tests {
namespace {

class Starved : public ChangeTest {
  protected:
    // Returns why a start failed, as its log says, without the name of the error.
    static std::string reasonIn(const std::string& log) {
        const std::regex line("the service cannot go on: \\[\\S+\\] (.*) \\(" +
                              std::string(std::strerror(ENOMEM)) + "\\)");
        std::smatch found;
        return std::regex_search(log, found, line) ? found[1].str() : log;
    }
};

// Descriptors cannot be opened during the start. The service starts with its complete state, or it
// does not start and has changed nothing.
TEST_F(Starved, OfDescriptorsAtItsStartItTakesNobodyForDeadAndNothingForBroken) {
    std::filesystem::remove_all(Service::stateFolder().parent_path() / "broken");
    const UserProcess alices(alice);
    const std::string id = activate(*asAlice, alices, 2);
    const std::string before = describe(id);
    int failed = 0;
    int started = 0;
    for (const int error : {EMFILE, ENOMEM}) {
        bool reached = true;
        for (std::uint32_t point = 1; reached; ++point) {
            SCOPED_TRACE("call " + std::to_string(point) + ": " + std::strerror(error));
            service.end(SIGKILL);
            injector.arm(openCalls, FaultAction::Fail, point, error, 0);
            try {
                service.start();
                ++started;
            } catch (const std::runtime_error&) {
                ++failed;
            }
            reached = injector.fired() > 0;
            injector.disarm();
            if (!service.isRunning())
                service.start();
            ASSERT_EQ(describe(id), before);
            ASSERT_EQ(describe(his), hisState);
            ASSERT_FALSE(std::filesystem::exists(Service::stateFolder().parent_path() / "broken"));
        }
    }
    std::printf("%d starts failed, %d went well\n", failed, started);
    EXPECT_GT(failed, 5);
}

// A document that cannot be read because memory is short is read at a later start. A document that
// the device cannot return is set aside.
TEST_F(Starved, OfMemoryToReadADocumentItStartsAnotherTime) {
    const std::filesystem::path broken = Service::stateFolder().parent_path() / "broken";
    std::filesystem::remove_all(broken);
    for (std::uint32_t point = 1; point <= 3; ++point) {
        UserProcess shell(alice);
        const std::string id = activate(*asAlice, shell, 2);
        const std::string before = describe(id);
        service.end(SIGKILL);
        injector.arm(readCalls, FaultAction::Fail, point, ENOMEM);
        EXPECT_THROW(service.start(), std::runtime_error);
        EXPECT_FALSE(std::filesystem::exists(broken));
        injector.arm(readCalls, FaultAction::None, 1);
        service.start();
        EXPECT_EQ(describe(id), before);
        EXPECT_EQ(describe(his), hisState);
        EXPECT_TRUE(asAlice->environment(id, "Deactivate").ok());
    }
    // The first file that is read is the record of use.
    service.end(SIGKILL);
    injector.arm(readCalls, FaultAction::Fail, 1, EIO);
    service.start();
    EXPECT_EQ(environmentCount(), "1");
    EXPECT_TRUE(std::filesystem::exists(broken.parent_path() / "use.json.broken"));
    service.end(SIGKILL);
    injector.arm(readCalls, FaultAction::Fail, 2, EIO);
    service.start();
    injector.disarm();
    EXPECT_EQ(environmentCount(), "0");
    EXPECT_FALSE(std::filesystem::is_empty(broken));
    EXPECT_FALSE(bobs.hasEnded());
    std::filesystem::remove_all(broken);
}

// Without any one of them, the service would not receive calls, or would serve callers above its
// caps.
TEST_F(Starved, OfARegistrationWithTheBusItDoesNotStartAndSaysWhichOne) {
    service.end(SIGKILL);
    injector.arm(busRegistrations, FaultAction::None, 1);
    service.start();
    const std::uint32_t registrations = injector.seen();
    std::set<std::string> reasons;
    for (std::uint32_t point = 1; point <= registrations; ++point) {
        SCOPED_TRACE("registration " + std::to_string(point));
        service.end(SIGKILL);
        const std::size_t before = service.log().size();
        injector.arm(busRegistrations, FaultAction::Fail, point, ENOMEM);
        EXPECT_THROW(service.start(), std::runtime_error);
        reasons.insert(reasonIn(service.log().substr(before)));
        injector.disarm();
        if (!service.isRunning())
            service.start();
        EXPECT_EQ(describe(his), hisState);
    }
    EXPECT_EQ(reasons, (std::set<std::string>{
                           "cannot filter messages of the bus",
                           "cannot list the objects below /dev/genv/Manager/environment",
                           "cannot serve the object /dev/genv/Manager",
                           "cannot serve the objects below /dev/genv/Manager/environment"}));
}

} // namespace
} // namespace genv::tests
