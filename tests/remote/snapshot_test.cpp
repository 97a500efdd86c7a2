// SPDX-License-Identifier: LGPL-2.1-or-later
// Snapshots of other hosts: the parsing, and the refusal of an invalid snapshot, whatever its fault
// is.
#include "client/remote/fleet/host_snapshot.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <functional>
#include <string>

namespace genv::remote {
namespace {

using nlohmann::ordered_json;

const char* const sample =
    R"({"processes": {"processes": [{"pid": 71, "used_gpu_memory": [)"
    R"({"index": 0, "gpu_memory": "42mi"}, {"index": 1, "gpu_memory": null}], "eid": "7"},)"
    R"({"pid": 72, "used_gpu_memory": [{"index": 1, "gpu_memory": "0mi"}], "eid": null}]},)"
    R"("envs": {"envs": [{"eid": "7", "uid": 1001, "creation": "02/03/2024 05:06:07",)"
    R"("username": "alice", "config": {"name": "train", "gpu_memory": "4g", "gpus": 2},)"
    R"("pids": [70], "kernel_ids": ["k-1"]}, {"eid": "job", "uid": 1002,)"
    R"("creation": "29/02/2024 00:00:00", "username": null,)"
    R"("config": {"name": null, "gpu_memory": null, "gpus": null}, "pids": [], "kernel_ids": []}]},)"
    R"("devices": {"devices": [{"index": 0, "total_memory": "15258mi", "attachments": [)"
    R"({"eid": "7", "gpu_memory": "4g", "time": "02/03/2024 05:06:08"},)"
    R"({"eid": "job", "gpu_memory": null, "time": "02/03/2024 05:06:07"}]},)"
    R"({"index": 1, "total_memory": "15258mi", "attachments": []}]}})";

// Returns why a text is refused; empty if it is accepted.
std::string whyRefused(const std::string& text) {
    try {
        parseSnapshot(text);
    } catch (const InvalidSnapshot& error) {
        return error.what();
    }
    return {};
}

// Returns the same for the sample with one value replaced.
std::string whyRefusedWith(const std::string& pointer, const ordered_json& value) {
    ordered_json document = ordered_json::parse(sample);
    document[ordered_json::json_pointer(pointer)] = value;
    return whyRefused(document.dump());
}

TEST(Snapshot, IsReadWithAllThatItSays) {
    const Snapshot snapshot = parseSnapshot(sample);
    ASSERT_EQ(snapshot.processes.size(), 2U);
    EXPECT_EQ(snapshot.processes[0].pid, 71U);
    EXPECT_EQ(snapshot.processes[0].environment, "7");
    ASSERT_EQ(snapshot.processes[0].uses.size(), 2U);
    EXPECT_EQ(snapshot.processes[0].uses[0].memory, core::Bytes{42U << 20});
    EXPECT_EQ(snapshot.processes[0].uses[1].device, 1U);
    EXPECT_EQ(snapshot.processes[0].uses[1].memory, std::nullopt);
    EXPECT_EQ(snapshot.processes[1].environment, std::nullopt);
    EXPECT_EQ(snapshot.processes[1].uses.at(0).memory, core::Bytes{0});
    EXPECT_EQ(snapshot.processes[1].uid, std::nullopt);

    ASSERT_EQ(snapshot.environments.size(), 2U);
    const Snapshot::Environment& first = snapshot.environments[0];
    EXPECT_EQ(first.id, "7");
    EXPECT_EQ(first.uid, 1001U);
    EXPECT_EQ(first.user, "alice");
    EXPECT_EQ(core::formatLocalTime(first.created), "02/03/2024 05:06:07");
    EXPECT_EQ(first.name, "train");
    EXPECT_EQ(first.gpus, 2U);
    EXPECT_EQ(first.gpuMemory, core::Bytes{4'000'000'000});
    EXPECT_EQ(first.processes, std::vector<core::Pid>{70});
    EXPECT_EQ(first.kernels, std::vector<std::string>{"k-1"});
    EXPECT_EQ(snapshot.environments[1].user, "1002");
    EXPECT_EQ(snapshot.environments[1].name, std::nullopt);

    ASSERT_EQ(snapshot.devices.size(), 2U);
    EXPECT_EQ(snapshot.devices[0].totalMemory, core::Bytes{15'258ULL << 20});
    ASSERT_EQ(snapshot.devices[0].attachments.size(), 2U);
    EXPECT_EQ(snapshot.devices[0].attachments[0].share, core::Bytes{4'000'000'000});
    EXPECT_EQ(core::formatLocalTime(snapshot.devices[0].attachments[0].since),
              "02/03/2024 05:06:08");
    EXPECT_EQ(snapshot.devices[0].attachments[1].share, std::nullopt);
}

TEST(Snapshot, IsWrittenAgainWithExactlyTheKeysOfTheOldGenv) {
    const Snapshot snapshot = parseSnapshot(sample);
    const ordered_json document = ordered_json::parse(sample);
    EXPECT_EQ(processJson(snapshot.processes[0]), document["processes"]["processes"][0]);
    EXPECT_EQ(processJson(snapshot.processes[1]), document["processes"]["processes"][1]);
    EXPECT_EQ(environmentJson(snapshot.environments[0]), document["envs"]["envs"][0]);
}

TEST(Snapshot, MaySayMoreThanIsKnown) {
    EXPECT_EQ(whyRefusedWith("/envs/envs/0/colour", "red"), "");
    EXPECT_EQ(whyRefusedWith("/more", ordered_json::array({1, 2})), "");
}

TEST(Snapshot, MayHaveTextsThatSomebodyChoseToBeOdd) {
    ordered_json document = ordered_json::parse(sample);
    document["envs"]["envs"][0]["username"] = "\x1b[2J\"\n\xe2\x80\xae";
    const Snapshot snapshot = parseSnapshot(document.dump());
    EXPECT_EQ(snapshot.environments[0].user, "\x1b[2J\"\n\xe2\x80\xae");
    // The written text is ASCII.
    const std::string written = writeJson(environmentJson(snapshot.environments[0]));
    EXPECT_EQ(written.find('\x1b'), std::string::npos);
    EXPECT_EQ(written.find('\xe2'), std::string::npos);
}

TEST(Snapshot, IsRefusedWhenItIsNoJson) {
    const std::string whole = sample;
    for (std::size_t length = 0; length + 1 < whole.size(); length += 7)
        EXPECT_NE(whyRefused(whole.substr(0, length)), "") << length;
    for (const std::string text :
         {"[]", "null", "7", "{}", "welcome to h1\n{}", "{\"a\": \"\xff\"}"})
        EXPECT_NE(whyRefused(text), "") << text;
    EXPECT_EQ(whyRefused("\x1b[2J").find('\x1b'), std::string::npos);
}

TEST(Snapshot, IsRefusedWhenItWouldTakeTooMuch) {
    EXPECT_NE(whyRefused(std::string(1'000'000, '[')).find("deeply"), std::string::npos);
    std::string objects;
    for (int depth = 0; depth < 100'000; ++depth)
        objects += "{\"a\":";
    EXPECT_NE(whyRefused(objects).find("deeply"), std::string::npos);
    std::string list = "[";
    for (int count = 0; count < 2'000'001; ++count)
        list += "1,";
    EXPECT_NE(whyRefused(list + "1]").find("too long"), std::string::npos);
    EXPECT_NE(whyRefusedWith("/envs/envs/0/username", std::string(4097, 'a')), "");
    EXPECT_EQ(whyRefusedWith("/envs/envs/0/username", std::string(4096, 'a')), "");
}

TEST(Snapshot, IsRefusedWhenAnythingIsMissing) {
    const std::function<void(const ordered_json&, const ordered_json::json_pointer&)> look =
        [&](const ordered_json& value, const ordered_json::json_pointer& at) {
            if (value.is_object()) {
                for (const auto& [key, inner] : value.items()) {
                    ordered_json document = ordered_json::parse(sample);
                    document[at].erase(key);
                    EXPECT_NE(whyRefused(document.dump()), "") << at << '/' << key;
                    look(inner, at / key);
                }
            } else if (value.is_array() && !value.empty()) {
                look(value[0], at / 0);
            }
        };
    look(ordered_json::parse(sample), ordered_json::json_pointer());
}

TEST(Snapshot, IsRefusedWhenAnythingIsOfAnotherType) {
    const ordered_json whole = ordered_json::parse(sample);
    const std::function<void(const ordered_json&, const ordered_json::json_pointer&)> look =
        [&](const ordered_json& value, const ordered_json::json_pointer& at) {
            for (const ordered_json& other :
                 {ordered_json(true), ordered_json(-1), ordered_json(1.5), ordered_json("\x01"),
                  ordered_json::array({ordered_json::array()}), ordered_json{{"a", 1}}}) {
                const bool isText = value.is_string() && other.is_string();
                const std::string key = at.empty() ? "" : at.back();
                const bool isMore = other.is_object() && value.is_object() && at.empty();
                const bool isFreeText =
                    other.is_string() && (key == "eid" || key == "username" || key == "name" ||
                                          at.to_string().find("kernel_ids/") != std::string::npos);
                if (isFreeText || isMore || (isText && isFreeText))
                    continue;
                ordered_json document = whole;
                document[at] = other;
                EXPECT_NE(whyRefused(document.dump()), "") << at << " as " << other;
            }
            if (value.is_object()) {
                for (const auto& [key, inner] : value.items())
                    look(inner, at / key);
            } else if (value.is_array() && !value.empty()) {
                look(value[0], at / 0);
            }
        };
    look(whole, ordered_json::json_pointer());
}

TEST(Snapshot, IsRefusedWhenANumberOrAnAmountIsAbsurd) {
    for (const std::string pointer : {"/processes/processes/0/pid", "/envs/envs/0/pids/0"}) {
        for (const std::uint64_t pid : {0ULL, 4'194'305ULL, 1ULL << 32, ~0ULL})
            EXPECT_NE(whyRefusedWith(pointer, pid), "") << pointer << ' ' << pid;
        EXPECT_EQ(whyRefusedWith(pointer, 4'194'304), "");
    }
    for (const std::uint64_t uid : {4'294'967'295ULL, 1ULL << 32})
        EXPECT_NE(whyRefusedWith("/envs/envs/0/uid", uid), "") << uid;
    EXPECT_NE(whyRefusedWith("/devices/devices/0/index", 65'536), "");
    EXPECT_NE(whyRefusedWith("/processes/processes/0/used_gpu_memory/0/index", 65'536), "");
    for (const char* amount :
         {"", "mi", "-1mi", "42 mi", "42xi", "0xi", "1e3", "9223372036854775808", "16385gi",
          "99999999999999999999g", "0x10", "42mi\n"}) {
        EXPECT_NE(whyRefusedWith("/devices/devices/0/total_memory", amount), "") << amount;
        if (*amount != '\0') {
            EXPECT_NE(whyRefusedWith("/processes/processes/0/used_gpu_memory/0/gpu_memory", amount),
                      "")
                << amount;
        }
    }
}

TEST(Snapshot, IsRefusedWhenAMomentIsNone) {
    for (const char* moment : {"", "02/03/2024", "2024-03-02 05:06:07", "30/02/2024 00:00:00",
                               "01/13/2024 00:00:00", "00/01/2024 00:00:00", "01/01/1899 00:00:00",
                               "02/03/2024 05:06:0x", "02/03/2024 25:06:07", "02/03/2024 05:06:077",
                               " 2/03/2024 05:06:07", "+2/03/2024 05:06:07"})
        EXPECT_NE(whyRefusedWith("/envs/envs/0/creation", moment), "") << moment;
    EXPECT_NE(whyRefusedWith("/devices/devices/0/attachments/0/time", "now"), "");
}

TEST(Snapshot, IsRefusedWhenSomethingIsListedTwice) {
    const ordered_json whole = ordered_json::parse(sample);
    for (const std::string pointer :
         {"/processes/processes", "/envs/envs", "/devices/devices",
          "/devices/devices/0/attachments", "/processes/processes/0/used_gpu_memory"}) {
        ordered_json document = whole;
        ordered_json& list = document[ordered_json::json_pointer(pointer)];
        list.push_back(list[0]);
        EXPECT_NE(whyRefused(document.dump()).find("twice"), std::string::npos) << pointer;
    }
}

} // namespace
} // namespace genv::remote
