// SPDX-License-Identifier: LGPL-2.1-or-later
// Invalid input is refused with the right error name and a sentence. It changes nothing, and the
// log has it once, escaped.
#include "core/settings/caps.hpp"
#include "tests/bus/support/descriptor_store.hpp"
#include "tests/bus/support/fixture.hpp"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>

namespace genv::tests {
namespace {

class Input : public BusTest {
  protected:
    Input() : shell(alice), id(activate(*asAlice, shell, 1)) {}

    // A call of alice's was refused, and the state is as before.
    void refused(const Answer& answer, const char* name, const char* expected) {
        EXPECT_EQ(answer.error, name) << expected;
        EXPECT_NE(answer.text.find(expected), std::string::npos) << answer.text;
        for (const char c : answer.text)
            EXPECT_TRUE(static_cast<unsigned char>(c) >= ' ' && c != '\x7f') << answer.text;
        EXPECT_EQ(devicesOf(id), "0");
        EXPECT_EQ(environmentCount(), "1");
        EXPECT_EQ(asRoot->property(environmentPath(id), environmentInterface, "Name"), "");
    }
    template <typename... Arguments>
    Answer activateWith(Arguments... arguments) {
        return asAlice->manager("Activate", "a{sv}", 2, "pid", "u", other.pid(), arguments...);
    }
    template <typename... Arguments>
    Answer attachWith(Arguments... arguments) {
        return asAlice->environment(id, "Attach", "a{sv}", 1, arguments...);
    }

    const UserProcess shell;
    const UserProcess other{alice};
    const std::string id;
};

TEST_F(Input, OfTheWrongTypeIsRefused) {
    refused(activateWith("gpus", "s", "two"), error::invalidArgs,
            R"(invalid type "s" of option "gpus": expected "u")");
    refused(activateWith("name", "u", 1U), error::invalidArgs, R"(option "name")");
    refused(activateWith("gpu-memory", "u", 1U), error::invalidArgs, R"(expected "s" or "t")");
    refused(activateWith("over-subscribe", "s", "yes"), error::invalidArgs, R"(expected "b")");
    refused(activateWith("over-subscribable", "s", "yes"), error::invalidArgs, R"(expected "b")");
    refused(asAlice->environment(id, "Configure", "a{sv}as", 1, "over-subscribable", "u", 1U, 0),
            error::invalidArgs, R"(expected "b")");
    refused(asAlice->manager("Activate", "a{sv}", 1, "pid", "i", 1), error::invalidArgs,
            R"(option "pid")");
    refused(attachWith("indices", "as", 1, "0"), error::invalidArgs, R"(expected "au")");
}

TEST_F(Input, OfTheWrongSignatureNeverReachesTheService) {
    refused(asAlice->manager("Activate", "s", "x"), error::invalidArgs, "");
    refused(asAlice->environment(id, "Detach", "ai", 1, 0), error::invalidArgs, "");
    refused(asAlice->manager("NoSuchMethod"), "org.freedesktop.DBus.Error.UnknownMethod", "");
    refused(asAlice->environment("nobody", "Detach", "au", 0),
            "org.freedesktop.DBus.Error.UnknownObject", "");
}

TEST_F(Input, WithUnknownOptionsIsRefused) {
    refused(activateWith("gpu", "u", 1U), error::invalidArgs,
            R"(unknown option "gpu": expected one of id, name)");
    refused(attachWith("gpus", "u", 1U), error::invalidArgs, R"(unknown option "gpus")");
    refused(activateWith("\x1b[31m\n", "u", 1U), error::invalidArgs, R"("\x1b[31m\x0a")");
    refused(asAlice->environment(id, "Configure", "a{sv}as", 0, 1, "colour"), error::invalidArgs,
            R"("colour" cannot be unset)");
}

TEST_F(Input, ThatIsNoIdOrNameIsRefused) {
    for (const char* bad : {"", "a b", "../x", "a/b", "a\nb", "\xc3\xa4"})
        refused(activateWith("id", "s", bad), error::invalidArgs, "cannot be the id");
    refused(activateWith("id", "s", std::string(65, 'x').c_str()), error::invalidArgs,
            "cannot be the id");
    for (const char* bad : {"", "a\nb", "a\x1b[31m", "\xe2\x80\xae", "\xe2\x80\xa8"})
        refused(activateWith("name", "s", bad), error::invalidArgs, "cannot be a name");
    refused(activateWith("name", "s", std::string(1 << 20, 'x').c_str()), error::invalidArgs,
            "cannot be a name");
    refused(activateWith("kernel", "s", "/etc/passwd"), error::invalidArgs, "cannot be the kernel");
}

TEST_F(Input, ThatContradictsItselfIsRefused) {
    refused(activateWith("kernel", "s", "k"), error::invalidArgs,
            "only one of pid, process and kernel");
    refused(asAlice->environment(id, "Attach", "a{sv}", 2, "count", "u", 1U, "index", "u", 1U),
            error::invalidArgs, "only one of count, index, indices, uuid and uuids");
    refused(asAlice->environment(id, "Attach", "a{sv}", 2, "uuid", "s", "x", "model", "s", "y"),
            error::invalidArgs, "model can be combined with count or index only");
    refused(activateWith("attach", "b", 1), error::invalidArgs, "attach needs a device count");
    refused(attachWith("indices", "au", 0), error::invalidArgs, "no device index");
}

TEST_F(Input, ThatNamesWhatIsNotThereIsRefused) {
    refused(attachWith("index", "u", 4U), error::noSuchDevice,
            "there is no device 4 on this machine, which has 0, 1, 2, 3");
    refused(attachWith("uuid", "s", "GPU-\x1b"), error::noSuchDevice, R"("GPU-\x1b")");
    refused(attachWith("count", "u", 4294967295U), error::notEnoughDevices,
            "Requested more devices (4294967295) than total available (4)");
    refused(activateWith("gpu-memory", "s", "4 gigs"), error::invalidArgs,
            "invalid amount of memory");
    refused(asAlice->environment(id, "Detach", "au", 1, 3U), error::notAttached,
            "is not attached to device 3");
    refused(asAlice->environment(id, "RemoveProcess", "u", 4242U), error::noSuchProcess,
            "process 4242 is not registered");
    refused(asAlice->manager("GetEnvironment", "s", "a\x1b"), error::noSuchEnvironment,
            R"("a\x1b")");
    refused(asAlice->manager("GetDevice", "u", 9U), error::noSuchDevice, "there is no device 9");
    refused(asAlice->call(devicePath(1), deviceInterface, "Detach", "s", id.c_str()),
            error::notAttached, "");
}

TEST_F(Input, AboutProcessesOfOthersIsRefused) {
    const UserProcess bobs(bob);
    refused(asAlice->manager("Activate", "a{sv}", 1, "pid", "u", bobs.pid()), error::accessDenied,
            "does not belong to the environment's owner");
    refused(asAlice->environment(id, "AddProcess", "u", bobs.pid()), error::accessDenied, "");
    refused(asAlice->environment(id, "AddProcess", "u", 1U), error::invalidArgs,
            "process 1 cannot keep");
    refused(asAlice->environment(id, "AddProcess", "u", 0U), error::noSuchProcess, "");
    refused(asRoot->environment(id, "AddProcess", "u", 1U), error::invalidArgs, "");
    int descriptors[2];
    ASSERT_EQ(::pipe(descriptors), 0);
    refused(asAlice->manager("Activate", "a{sv}", 1, "process", "h", descriptors[0]),
            error::invalidArgs, "invalid descriptor: expected one of a process");
    ::close(descriptors[0]);
    ::close(descriptors[1]);
}

TEST_F(Input, IsLoggedOnceAndEscaped) {
    refused(activateWith("name", "s", "evil\nFeb 30 root: all is well\x1b[2J"), error::invalidArgs,
            "cannot be a name");
    service.waitForLog("cannot be a name");
    const std::string log = service.log();
    EXPECT_EQ(log.find('\x1b'), std::string::npos);
    EXPECT_NE(log.find(R"("evil\x0aFeb 30 root: all is well\x1b[2J")"), std::string::npos);
    const std::string line = "refused dev.genv.Manager.Activate from uid 1001";
    const std::size_t first = log.find(line);
    EXPECT_NE(first, std::string::npos);
    EXPECT_EQ(log.find(line, first + 1), std::string::npos) << "once";
}

TEST_F(Input, OfHugeSizeDoesNotHurtOthers) {
    Message message =
        asAlice->newCall("dev.genv.Manager", managerPath, managerInterface, "Activate");
    sd_bus_message_open_container(message.get(), 'a', "{sv}");
    for (int i = 0; i < 50'000; ++i)
        sd_bus_message_append(message.get(), "{sv}", ("option" + std::to_string(i)).c_str(), "s",
                              "x");
    sd_bus_message_close_container(message.get());
    refused(asAlice->send(message), error::invalidArgs, "the arguments are too large");
    std::vector<std::uint32_t> indices(1 << 20, 0U);
    Message attach =
        asAlice->newCall("dev.genv.Manager", environmentPath(id), environmentInterface, "Detach");
    sd_bus_message_append_array(attach.get(), 'u', indices.data(),
                                indices.size() * sizeof(indices[0]));
    refused(asAlice->send(attach), error::invalidArgs, "the arguments are too large");
    EXPECT_TRUE(asBob->manager("ListDevices").ok());
}

TEST_F(Input, FloodOfEnvironmentsEndsForThatUserAlone) {
    std::vector<std::unique_ptr<UserProcess>> shells;
    Answer last;
    for (std::size_t i = 0; i < core::caps::environmentsPerUser + 5 && last.ok(); ++i) {
        shells.push_back(std::make_unique<UserProcess>(alice));
        last = asAlice->manager("Activate", "a{sv}", 1, "pid", "u", shells.back()->pid());
    }
    EXPECT_EQ(last.error, error::limitsExceeded);
    EXPECT_EQ(environmentCount(), std::to_string(core::caps::environmentsPerUser));
    const UserProcess bobs(bob);
    EXPECT_EQ(devicesOf(activate(*asBob, bobs, 1)), "1");
}

// -- the configuration

class Configuration : public BusTest {
  protected:
    static void write(const std::string& text) {
        std::ofstream(Service::configurationFolder() / "genvd.conf") << text;
    }
};

TEST_F(Configuration, IsReloadedWholeOrNotAtAll) {
    write("[Enforcement]\nKillAfter=3s\n");
    EXPECT_TRUE(asRoot->manager("Reload").ok());
    const auto policy = [&] {
        const Answer answer = asAlice->call(managerPath, "org.freedesktop.DBus.Properties", "Get",
                                            "ss", managerInterface, "Policy");
        sd_bus_message_enter_container(answer.message.get(), 'v', "a{sv}");
        sd_bus_message_enter_container(answer.message.get(), 'a', "{sv}");
        std::map<std::string, std::uint64_t> values;
        while (sd_bus_message_enter_container(answer.message.get(), 'e', "sv") > 0) {
            const char* name = nullptr;
            std::uint64_t value = 0;
            sd_bus_message_read(answer.message.get(), "s", &name);
            if (sd_bus_message_verify_type(answer.message.get(), 'v', "t") > 0) {
                sd_bus_message_read(answer.message.get(), "v", "t", &value);
                values[name] = value;
            } else {
                sd_bus_message_skip(answer.message.get(), "v");
            }
            sd_bus_message_exit_container(answer.message.get());
        }
        return values;
    };
    EXPECT_EQ(policy()["KillAfter"], 3U);
    EXPECT_EQ(policy()["MaxWait"], 24U * 3600U);
    EXPECT_EQ(policy()["KeepFor"], 3600U);
    write("[Enforcement]\nInterval=5s\nKillAfter=never\n");
    const Answer answer = asRoot->manager("Reload");
    EXPECT_EQ(answer.error, error::invalidArgs);
    EXPECT_NE(answer.text.find("genvd.conf:3: KillAfter: invalid time span \"never\""),
              std::string::npos)
        << answer.text;
    EXPECT_EQ(policy()["KillAfter"], 3U);
    EXPECT_EQ(policy()["Interval"], 10U);
    ::kill(service.pid(), SIGHUP);
    service.waitForLog("the configuration was not reloaded");
    write("[Enforcement]\nKillAfter=4s\n");
    ::kill(service.pid(), SIGHUP);
    waitUntil([&] { return policy()["KillAfter"] == 4U; }, "the reload");
}

TEST_F(Configuration, ThatIsNotReloadedIsInTheStatusOfTheService) {
    DescriptorStore systemd;
    service.set("NOTIFY_SOCKET", systemd.address());
    service.restart(SIGTERM);
    write("[Enforcement]\nKillAfter=never\n");
    EXPECT_EQ(asRoot->manager("Reload").error, error::invalidArgs);
    EXPECT_TRUE(systemd.status().starts_with("the configuration was not reloaded: "))
        << systemd.status();
}

TEST_F(Configuration, ThatIsWrongAtTheStartStopsItWithItsLine) {
    service.end(SIGTERM);
    write("[GPU]\nBackend=cuda\n");
    EXPECT_THROW(service.start(), std::runtime_error);
    EXPECT_NE(service.log().find("genvd.conf:2: Backend: invalid value \"cuda\""),
              std::string::npos);
    write("");
    service.start();
}

TEST_F(Input, ThatWouldShortenWhatIsThereIsRefused) {
    refused(asAlice->manager("Activate", "a{sv}", 3, "pid", "u", other.pid(), "id", "s", id.c_str(),
                             "lifetime", "t", std::uint64_t{60}),
            error::invalidArgs, "configure its lifetime to extend it");
}

} // namespace
} // namespace genv::tests
