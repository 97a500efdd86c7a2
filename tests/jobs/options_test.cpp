// SPDX-License-Identifier: LGPL-2.1-or-later
// The options of Submit: what they become, and with which sentence bad ones are refused.
#include "client/jobs/daemon/machine_check.hpp"
#include "client/jobs/daemon/submission_options.hpp"
#include "client/jobs/model/job_error.hpp"
#include "core/base/error.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace genv::jobs {
namespace {

using Bytes = std::vector<std::uint8_t>;
using SentTask = sdbus::Struct<std::uint32_t, Bytes>;
using After = sdbus::Struct<std::uint32_t, std::string>;

Bytes bytes(const std::string& text) {
    return {text.begin(), text.end()};
}

Dictionary usual() {
    return {{"command", sdbus::Variant(std::vector<Bytes>{bytes("train"), bytes("-x {}")})},
            {"folder", sdbus::Variant(bytes("/home/alice"))}};
}

template <typename Value>
Dictionary with(const char* name, const Value& value) {
    Dictionary options = usual();
    options[name] = sdbus::Variant(value);
    return options;
}

std::string refusalOf(const Dictionary& options) {
    try {
        static_cast<void>(readSubmission(options));
    } catch (const JobError& error) {
        EXPECT_EQ(error.code(), JobErrorCode::InvalidArgs);
        return error.what();
    } catch (const core::Error& error) {
        return error.what();
    }
    return "accepted";
}

TEST(SubmitOptions, BecomeASubmission) {
    Dictionary options = usual();
    options["environment"] = sdbus::Variant(std::vector<Bytes>{bytes("A=1\n2"), bytes("B=\xff")});
    options["umask"] = sdbus::Variant(std::uint32_t{077});
    options["name"] = sdbus::Variant(std::string("sweep"));
    options["request"] =
        sdbus::Variant(Dictionary{{"gpus", sdbus::Variant(std::uint32_t{2})},
                                  {"gpu-memory", sdbus::Variant(std::string("4g"))}});
    options["array"] = sdbus::Variant(std::vector<SentTask>{{3, bytes("x")}, {0, bytes("y")}});
    options["parallel"] = sdbus::Variant(std::uint32_t{1});
    options["after"] = sdbus::Variant(std::vector<After>{{7, "any"}, {8, "ok"}});
    options["priority"] = sdbus::Variant(std::int32_t{-5});
    options["begin"] = sdbus::Variant(std::uint64_t{1'800'000'000'000'000});
    options["retries"] = sdbus::Variant(std::uint32_t{2});
    options["cpus"] = sdbus::Variant(std::uint32_t{4});
    options["memory"] = sdbus::Variant(std::uint64_t{1} << 30);
    options["hold"] = sdbus::Variant(true);
    const Submission submission = readSubmission(options);
    EXPECT_EQ(submission.command, (std::vector<std::string>{"train", "-x {}"}));
    EXPECT_EQ(submission.folder, "/home/alice");
    EXPECT_EQ(submission.environment, (std::vector<std::string>{"A=1\n2", "B=\xff"}));
    EXPECT_EQ(submission.umask, 077U);
    EXPECT_EQ(submission.name, "sweep");
    EXPECT_EQ(submission.gpus, 2U);
    EXPECT_TRUE(submission.isArray);
    EXPECT_EQ(submission.tasks.size(), 2U);
    EXPECT_EQ(submission.plan.parallel, 1U);
    EXPECT_EQ(submission.plan.after,
              (std::vector<Dependency>{{7, Condition::Any}, {8, Condition::Ok}}));
    EXPECT_EQ(submission.plan.priority, -5);
    EXPECT_EQ(core::toMicroseconds(*submission.plan.begin), 1'800'000'000'000'000U);
    EXPECT_EQ(submission.plan.retries, 2U);
    EXPECT_EQ(submission.cpus, 4U);
    EXPECT_EQ(submission.memoryBytes, std::uint64_t{1} << 30);
    EXPECT_TRUE(submission.hold);
}

TEST(SubmitOptions, HaveDefaults) {
    const Submission submission = readSubmission(usual());
    EXPECT_EQ(submission.umask, 022U);
    EXPECT_FALSE(submission.isArray);
    EXPECT_EQ(submission.tasks.size(), 1U);
    EXPECT_FALSE(submission.plan.begin);
    EXPECT_EQ(submission.request, "{}");
    EXPECT_FALSE(submission.hold);
}

TEST(SubmitOptions, AreRefusedWithASentence) {
    EXPECT_EQ(refusalOf(with("gpu", std::uint32_t{1})).substr(0, 45),
              "unknown option \"gpu\": expected one of command");
    EXPECT_EQ(refusalOf(with("umask", std::string("022"))),
              "invalid type \"s\" of option \"umask\": expected \"u\"");
    EXPECT_EQ(refusalOf(with("priority", std::int32_t{101})),
              "invalid priority 101: expected -100 to 100");
    EXPECT_EQ(refusalOf(with("memory", std::uint64_t{1})),
              "invalid memory of 1 bytes: expected at least 16 MiB");
    EXPECT_EQ(refusalOf(with("after", std::vector<After>{{1, "maybe"}})),
              "invalid condition \"maybe\" in after: expected ok, fail or any");
    EXPECT_EQ(refusalOf(with("parallel", std::uint32_t{2})),
              "parallel needs array: it bounds how many of its tasks run");
    EXPECT_EQ(refusalOf(with("folder", bytes("/" + std::string(5000, 'x')))),
              "folder of 5001 bytes is too long: expected at most 4095");
    EXPECT_EQ(refusalOf(with("command", std::vector<Bytes>{Bytes(200'000, 'x')})),
              "a word of the command of 200000 bytes is too long: expected at most 131071");
    EXPECT_EQ(refusalOf(with("environment", std::vector<Bytes>(50, Bytes(100'000, 'x')))),
              "the environment is too long: expected at most 4194304 bytes");
}

TEST(SubmitOptions, ChooseGpusAsActivateDoes) {
    const auto refusal = [](const Dictionary& request) {
        return refusalOf(with("request", request));
    };
    EXPECT_EQ(refusal({{"gpus", sdbus::Variant(std::uint64_t{1})}}),
              "invalid type \"t\" of option \"gpus\" of request: expected \"u\"");
    EXPECT_EQ(refusal({{"gpu-memory", sdbus::Variant(true)}}),
              "invalid type \"b\" of option \"gpu-memory\" of request: expected \"s\" or \"t\"");
    EXPECT_EQ(refusal({{"wait", sdbus::Variant(true)}}).substr(0, 32),
              "unknown option \"wait\" of request");
    EXPECT_EQ(refusal({{"model", sdbus::Variant(std::string("H100"))}}),
              "model needs gpus in request");
    EXPECT_EQ(refusal({{"gpus", sdbus::Variant(std::uint32_t{1})},
                       {"indices", sdbus::Variant(std::vector<std::uint32_t>{1})}}),
              "give only one of gpus, indices and uuids in request");
    EXPECT_NE(refusal({{"gpu-memory", sdbus::Variant(std::string("much"))}}), "accepted");
    EXPECT_NE(refusal({{"uuids", sdbus::Variant(std::vector<std::string>{})}}), "accepted");
}

TEST(SubmitOptions, ComeBackFromTheDatabase) {
    const Dictionary request{
        {"indices", sdbus::Variant(std::vector<std::uint32_t>{1, 2})},
        {"gpu-memory", sdbus::Variant(std::uint64_t{1} << 32)},
        {"over-subscribe", sdbus::Variant(true)},
        {"lifetime", sdbus::Variant(std::uint64_t{3600})},
    };
    const Dictionary read = decodeRequest(encodeRequest(request));
    EXPECT_EQ(read.at("indices").get<std::vector<std::uint32_t>>(),
              (std::vector<std::uint32_t>{1, 2}));
    EXPECT_EQ(read.at("gpu-memory").get<std::uint64_t>(), std::uint64_t{1} << 32);
    EXPECT_TRUE(read.at("over-subscribe").get<bool>());
    EXPECT_EQ(read.at("lifetime").get<std::uint64_t>(), 3600U);
    EXPECT_EQ(countGpus(read), 2U);
    EXPECT_THROW(static_cast<void>(decodeRequest("{\"gpus\": {}}")), JobError);
}

TEST(SubmitOptions, AskForWhatTheMachineHas) {
    const std::vector<DeviceRow> devices{{0, "GPU-a", "H100"}, {1, "GPU-b", "A100"}};
    const auto refusal = [&](const Dictionary& request) -> std::string {
        try {
            requireDevices(request, devices);
        } catch (const JobError& error) {
            return error.what();
        }
        return "accepted";
    };
    EXPECT_EQ(refusal({{"gpus", sdbus::Variant(std::uint32_t{3})}}),
              "not enough devices: 3 requested, this machine has 2");
    EXPECT_EQ(refusal({{"gpus", sdbus::Variant(std::uint32_t{2})},
                       {"model", sdbus::Variant(std::string("a100"))}}),
              "not enough devices: 2 requested, this machine has 1 of model \"a100\"");
    EXPECT_EQ(refusal({{"indices", sdbus::Variant(std::vector<std::uint32_t>{5})}}),
              "no device 5: this machine has 2 devices");
    EXPECT_EQ(refusal({{"uuids", sdbus::Variant(std::vector<std::string>{"GPU-c"})}}),
              "no device has the UUID \"GPU-c\"");
    EXPECT_EQ(refusal({{"gpus", sdbus::Variant(std::uint32_t{2})}}), "accepted");
}

} // namespace
} // namespace genv::jobs
