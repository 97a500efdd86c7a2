// SPDX-License-Identifier: LGPL-2.1-or-later
// Forged ids and object paths: every method refuses them, and an accepted id names no file but its
// own.
#include "tests/bus/support/fixture.hpp"

#include <algorithm>
#include <filesystem>
#include <set>

namespace genv::tests {
namespace {

std::set<std::string> everyFile(const std::filesystem::path& folder) {
    std::set<std::string> files;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder))
        files.insert(entry.path().string());
    return files;
}

class Ids : public BusTest {
  protected:
    Ids() : id(activate(*asAlice, shell, 1)) {}

    // Expects a refusal whose sentence has no control characters.
    static void expectRefused(const Answer& answer, const std::string& what) {
        EXPECT_NE(answer.error, "") << what;
        EXPECT_NE(answer.error, "org.freedesktop.DBus.Error.Failed") << what << answer.text;
        for (const char c : answer.text)
            EXPECT_TRUE(static_cast<unsigned char>(c) >= ' ' && c != '\x7f') << answer.text;
        for (const char* sequence : {"\u202e", "\u200b", "\u2028", "\ufeff"})
            EXPECT_EQ(answer.text.find(sequence), std::string::npos) << answer.text;
    }

    const UserProcess shell{alice};
    const UserProcess other{alice};
    const std::string id;
};

const std::vector<std::string>& madeUp() {
    static const std::vector<std::string> ids{"",
                                              "../x",
                                              "a/b",
                                              "/etc/passwd",
                                              "%2e%2e",
                                              "a b",
                                              "a\nb",
                                              "a\x1b[2J",
                                              "a\\b",
                                              "*",
                                              "$(id)",
                                              "\u00e4",
                                              "a\u202eb",
                                              "a\u200bb",
                                              "\ufeff",
                                              std::string(65, 'x'),
                                              std::string(1 << 16, '.')};
    return ids;
}

TEST_F(Ids, ThatAreNoneAreRefusedByEveryMethodThatTakesOne) {
    const auto before = everyFile(Service::stateFolder().parent_path());
    for (const std::string& bad : madeUp()) {
        const char* text = bad.c_str();
        expectRefused(
            asAlice->manager("Activate", "a{sv}", 2, "id", "s", text, "pid", "u", other.pid()),
            "Activate id");
        expectRefused(asAlice->manager("Activate", "a{sv}", 1, "kernel", "s", text),
                      "Activate kernel");
        expectRefused(asAlice->manager("GetEnvironment", "s", text), "GetEnvironment");
        expectRefused(asAlice->environment(id, "AddKernel", "s", text), "AddKernel");
        expectRefused(asAlice->environment(id, "RemoveKernel", "s", text), "RemoveKernel");
        for (const char* key : {"environment", "device", "after"})
            expectRefused(asAlice->manager("ListEvents", "tta{sv}", std::uint64_t{0},
                                           std::uint64_t{1}, 1, key, "s", text),
                          "ListEvents");
        expectRefused(asAlice->manager("ListEvents", "tta{sv}", std::uint64_t{0}, std::uint64_t{1},
                                       1, "kinds", "as", 1, text),
                      "ListEvents kinds");
        if (!bad.empty()) // an empty id names every environment, and needs authorization
            expectRefused(asRoot->call(devicePath(0), deviceInterface, "Detach", "s", text),
                          "Device.Detach");
        for (const char* key : {"uuid", "model"})
            expectRefused(asAlice->environment(id, "Attach", "a{sv}", 1, key, "s", text), key);
    }
    EXPECT_EQ(devicesOf(id), "0");
    EXPECT_EQ(environmentCount(), "1");
    EXPECT_EQ(everyFile(Service::stateFolder().parent_path()), before);
}

TEST_F(Ids, OfDotsAreWordsLikeOthers) {
    const auto folder = Service::stateFolder().parent_path();
    const auto before = everyFile(folder);
    const std::vector<std::string> words{".", "..", "...", "-", "@", std::string(64, '.')};
    for (const std::string& dots : words) {
        const UserProcess keeper(alice);
        const Answer made = asAlice->manager("Activate", "a{sv}", 2, "id", "s", dots.c_str(), "pid",
                                             "u", keeper.pid());
        EXPECT_EQ(made.readString(), dots);
        for (const std::string& file : everyFile(folder)) {
            const std::string name = std::filesystem::path(file).stem();
            if (!before.contains(file)) {
                EXPECT_TRUE(std::all_of(name.begin(), name.end(), [](unsigned char c) {
                    return std::isalnum(c) != 0 || c == '_';
                })) << file;
            }
        }
        EXPECT_TRUE(asAlice->environment(dots, "Deactivate").ok());
        EXPECT_EQ(everyFile(folder), before) << "it took what was its own, and nothing else";
    }
}

TEST_F(Ids, OfPathsMadeByHandNameNothing) {
    const std::string prefix = "/dev/genv/Manager/environment";
    // The last three would equal this id if paths were parsed less strictly.
    std::vector<std::string> paths{prefix,
                                   prefix + "/_",
                                   prefix + "/_2e_2e",
                                   prefix + "/_2e_2e_2fx",
                                   prefix + "/_zz",
                                   prefix + "/x/y",
                                   prefix + "/" + std::string(4096, 'x'),
                                   "/dev/genv/Manager/device/" + id,
                                   "/",
                                   prefix + "/" + id,
                                   prefix + "/_" + id,
                                   prefix + "/_00" + id};
    if (environmentPath(id) == prefix + "/" + id)
        paths.erase(std::find(paths.begin(), paths.end(), prefix + "/" + id));
    for (const std::string& path : paths) {
        for (const char* member : {"Deactivate", "Lock"})
            expectRefused(asAlice->call(path, environmentInterface, member), path);
        for (const char* member : {"Detach"})
            expectRefused(asAlice->call(path, environmentInterface, member, "au", 0), path);
        for (const char* member : {"AddProcess", "RemoveProcess"})
            expectRefused(asAlice->call(path, environmentInterface, member, "u", shell.pid()),
                          path);
        for (const char* member : {"AddKernel", "RemoveKernel"})
            expectRefused(asAlice->call(path, environmentInterface, member, "s", "k"), path);
        expectRefused(asAlice->call(path, environmentInterface, "Attach", "a{sv}", 0), path);
        expectRefused(asAlice->call(path, environmentInterface, "Configure", "a{sv}as", 0, 0),
                      path);
        expectRefused(asRoot->call(path, deviceInterface, "Detach", "s", ""), path);
    }
    for (const char* number : {"-1", "00", "0_30", "4294967296", "18446744073709551616", "x"})
        expectRefused(asRoot->call(std::string("/dev/genv/Manager/device/") +
                                       (number[0] == '-' ? "_2d1" : number),
                                   deviceInterface, "Detach", "s", ""),
                      number);
    EXPECT_EQ(devicesOf(id), "0");
}

TEST_F(Ids, AndTimesAreBounded) {
    const auto attach = [&](const char* option, std::uint64_t value) {
        return asAlice
            ->environment(id, "Attach", "a{sv}", 3, "count", "u", 1U, "wait", "b", 1, option, "t",
                          value)
            .error;
    };
    for (const std::uint64_t bad :
         {std::uint64_t{0}, std::uint64_t{4'000'000'000}, std::uint64_t{1} << 63, UINT64_MAX}) {
        EXPECT_EQ(attach("timeout", bad), error::invalidArgs) << bad;
        EXPECT_EQ(attach("lifetime", bad), error::invalidArgs) << bad;
        EXPECT_EQ(
            asAlice->environment(id, "Configure", "a{sv}as", 1, "lifetime", "t", bad, 0).error,
            error::invalidArgs)
            << bad;
    }
    // The longest accepted lifetime neither overflows nor ends at once.
    constexpr std::uint64_t hundredYears = 100ULL * 365 * 24 * 60 * 60;
    EXPECT_TRUE(
        asAlice
            ->environment(id, "Attach", "a{sv}", 2, "index", "u", 1U, "lifetime", "t", hundredYears)
            .ok());
    EXPECT_TRUE(
        asAlice->environment(id, "Configure", "a{sv}as", 1, "lifetime", "t", hundredYears, 0).ok());
    EXPECT_EQ(devicesOf(id), "0,1");
    EXPECT_GT(std::stoull(asAlice->property(environmentPath(id), environmentInterface, "Expires")),
              hundredYears * 1'000'000);
    for (const std::uint64_t since : {std::uint64_t{1} << 63, UINT64_MAX})
        EXPECT_EQ(asAlice->manager("ListEvents", "tta{sv}", since, std::uint64_t{0}, 0).error,
                  error::invalidArgs);
    for (const std::uint64_t memory : {UINT64_MAX, std::uint64_t{1} << 63})
        EXPECT_EQ(asAlice
                      ->manager("Activate", "a{sv}", 3, "pid", "u", other.pid(), "gpus", "u", 1U,
                                "gpu-memory", "t", memory)
                      .ok(),
                  false)
            << memory;
}

} // namespace
} // namespace genv::tests
