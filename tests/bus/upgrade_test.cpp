// SPDX-License-Identifier: LGPL-2.1-or-later
// The service is upgraded while users work. It finds the files of earlier versions, and their
// processes are still alive.
#include "tests/bus/support/descriptor_store.hpp"
#include "tests/bus/support/fixture.hpp"
#include "tests/bus/support/queue.hpp"

#include <fcntl.h>
#include <nlohmann/json.hpp>
#include <signal.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>

namespace genv::tests {
namespace {

using nlohmann::json;

std::string textOf(const std::filesystem::path& file) {
    std::ifstream in(file);
    EXPECT_TRUE(in) << file;
    return {std::istreambuf_iterator<char>(in), {}};
}

// proc_pid_stat(5), field 22.
std::uint64_t startTimeOf(core::Pid pid) {
    const std::string stat = textOf("/proc/" + std::to_string(pid) + "/stat");
    std::istringstream fields(stat.substr(stat.rfind(')') + 1));
    std::string field;
    for (int number = 3; number <= 22; ++number)
        fields >> field;
    return std::stoull(field);
}

class Upgrade : public BusTest {
  protected:
    Upgrade() : BusTest({{"GENV_MOCK_DEVICE_COUNT", "4"}}) { service.end(SIGTERM); }

    /// Returns the document that an earlier version wrote, for a process that exists now.
    static json document(const std::string& file) {
        return json::parse(textOf(std::filesystem::path(GENV_STATE_DOCUMENTS) / file));
    }
    static void name(json& process, const UserProcess& today) {
        process["pid"] = today.pid();
        process["start_time"] = startTimeOf(today.pid());
    }
    static std::filesystem::path fileOf(const json& document) {
        const std::string path = environmentPath(document["id"].get<std::string>());
        return Service::stateFolder() / (path.substr(path.rfind('/') + 1) + ".json");
    }
    static void leave(const json& document) { std::ofstream(fileOf(document)) << document; }

    std::string of(const json& document, const char* property) {
        return asRoot->property(environmentPath(document["id"].get<std::string>()),
                                environmentInterface, property);
    }
};

TEST_F(Upgrade, FindsAgainWhatEveryEarlierGenvWroteDown) {
    const UserProcess shell(alice);
    const UserProcess second(alice);
    const UserProcess jupyterKernel(alice);
    const UserProcess bobs(bob);
    UserProcess carols(carol);
    json first = document("version-1-first.json");
    name(first["processes"][0], shell);
    name(first["processes"][1], second);
    name(first["kernels"][0], jupyterKernel);
    json limits = document("version-1-limits.json");
    name(limits["processes"][0], bobs);
    json leases = document("version-1-leases.json");
    name(leases["processes"][0], carols);
    for (const json& each : {first, limits, leases})
        leave(each);
    int lock[2];
    ASSERT_EQ(::pipe2(lock, O_CLOEXEC), 0);
    const SharedDescriptor kept = own(lock[0]);
    const SharedDescriptor held = own(lock[1]);
    service.pass({{"lock-11", *kept}});
    service.start();

    EXPECT_EQ(environmentCount(), "3");
    EXPECT_EQ(of(first, "User"), "alice");
    EXPECT_EQ(of(first, "Name"), "Norwegian Wood");
    EXPECT_EQ(of(first, "Created"), "1795000000000001");
    EXPECT_EQ(of(first, "GpuMemory"), "4000000000");
    EXPECT_EQ(of(first, "Processes"),
              std::to_string(shell.pid()) + "," + std::to_string(second.pid()));
    EXPECT_EQ(of(first, "Kernels"), "kernel-1");
    EXPECT_EQ(of(first, "Devices"), "0,1");
    EXPECT_EQ(of(first, "Expires"), "0");
    EXPECT_EQ(of(limits, "Devices"), "2");
    EXPECT_EQ(of(leases, "Devices"), "3");
    EXPECT_NE(of(leases, "Expires"), "0");
    EXPECT_EQ(asRoot->property(devicePath(3), deviceInterface, "LockedBy"), "evaluation");
    const auto queue = queueOf(*asRoot);
    ASSERT_EQ(queue.size(), 3U);
    EXPECT_EQ(queue[0].ticket, 8U);
    EXPECT_EQ(queue[0].since, 1795000000000400U);
    EXPECT_EQ(queue[2].environment, "evaluation");

    // The document now has the current form, and its environment ends with its process.
    EXPECT_TRUE(json::parse(textOf(fileOf(first))).contains("began"));
    carols.kill(SIGKILL);
    waitUntil([&] { return environmentCount() == "2"; }, "carol's environment to end");
    service.restart(SIGKILL);
    EXPECT_EQ(of(first, "Devices"), "0,1");
    EXPECT_EQ(of(limits, "Devices"), "2");
    EXPECT_TRUE(asRoot->manager("Enforce", "a{sv}", 1, "max-devices-per-user", "u", 0U).ok());
    EXPECT_EQ(of(first, "Devices"), "");
    EXPECT_EQ(of(limits, "Devices"), "2") << "what was granted over a limit still is";
}

TEST_F(Upgrade, SetsWhatALaterGenvWroteAsideAndSaysWhatToDo) {
    UserProcess shell(alice);
    json later = document("version-1-leases.json");
    name(later["processes"][0], shell);
    later["version"] = 99;
    leave(later);
    service.start();
    EXPECT_EQ(environmentCount(), "0");
    service.waitForLog("a newer genv wrote it (version 99; this one reads versions up to 1): "
                       "install that genv again, move the file back to environments/ and restart "
                       "genvd");
    EXPECT_TRUE(std::filesystem::exists(Service::stateFolder().parent_path() / "broken" /
                                        "evaluation.json"));
    EXPECT_FALSE(shell.hasEnded());
}

} // namespace
} // namespace genv::tests
