// SPDX-License-Identifier: LGPL-2.1-or-later
// Reports come from other programs. They may contain only certain members; everything else is
// refused.
#include "core/rules/report.hpp"
#include "tests/core/rules_fixture.hpp"

namespace genv::tests {
namespace {

using core::ErrorCode;
using core::parseReport;
using Indices = std::vector<core::DeviceIndex>;

TEST(Report, IsReadAsSnapshotsWriteEntities) {
    const auto report = parseReport(R"({
        "terminate": {"processes": [
            {"pid": 500, "used_gpu_memory": [{"index": 0, "gpu_memory": "42mi"},
                                             {"index": 1, "gpu_memory": null}], "eid": "20"},
            {"pid": 4294967295, "used_gpu_memory": [], "eid": null},
            {"pid": 7, "used_gpu_memory": []}]},
        "detach": {"0": {"envs": [{"eid": "20", "uid": 1001}, {"eid": "21"}]}, "12": {"envs": []}},
        "something": "else"})");
    ASSERT_EQ(report.terminate.size(), 3U);
    EXPECT_EQ(report.terminate[0].pid, 500U);
    EXPECT_EQ(report.terminate[0].environment, "20");
    EXPECT_EQ(report.terminate[0].devices, (Indices{0, 1}));
    EXPECT_EQ(report.terminate[1].pid, 4294967295U);
    EXPECT_EQ(report.terminate[1].environment, std::nullopt);
    EXPECT_EQ(report.terminate[2].environment, std::nullopt);
    EXPECT_EQ(report.detach,
              (std::map<core::DeviceIndex, std::vector<core::EnvironmentId>>{{0, {"20", "21"}}}));
    EXPECT_TRUE(report.terminateProcesses);
}

TEST(Report, MayBeEmptyAndMayForbidSignals) {
    const auto empty = parseReport("{}");
    EXPECT_TRUE(empty.terminate.empty() && empty.detach.empty() && empty.terminateProcesses);
    EXPECT_FALSE(parseReport(R"({"terminate_processes": false})").terminateProcesses);
}

TEST(Report, IsRefusedWhereItMakesNoSense) {
    const std::string good = R"({"pid": 5, "used_gpu_memory": [{"index": 0}], "eid": "20"})";
    const auto terminate = [](const std::string& process) {
        return R"({"terminate": {"processes": [)" + process + "]}}";
    };
    ASSERT_EQ(parseReport(terminate(good)).terminate.size(), 1U);
    const std::vector<std::string> table{
        "",
        " ",
        "{",
        "null",
        "[]",
        "5",
        "\"report\"",
        "{} {}",
        "{\"detach\": \xff}",
        "{\"\xc0\xaf\": 1}",
        R"({"terminate": []})",
        R"({"terminate": null})",
        R"({"terminate": {}})",
        R"({"terminate": {"processes": {}}})",
        R"({"terminate": {"processes": "500"}})",
        terminate("5"),
        terminate("null"),
        terminate("[]"),
        terminate("{}"),
        terminate(R"({"pid": 5})"),
        terminate(R"({"used_gpu_memory": []})"),
        terminate(R"({"pid": "5", "used_gpu_memory": []})"),
        terminate(R"({"pid": -5, "used_gpu_memory": []})"),
        terminate(R"({"pid": 5.5, "used_gpu_memory": []})"),
        terminate(R"({"pid": true, "used_gpu_memory": []})"),
        terminate(R"({"pid": 4294967296, "used_gpu_memory": []})"),
        terminate(R"({"pid": 99999999999999999999999, "used_gpu_memory": []})"),
        terminate(R"({"pid": 5, "used_gpu_memory": {}})"),
        terminate(R"({"pid": 5, "used_gpu_memory": [0]})"),
        terminate(R"({"pid": 5, "used_gpu_memory": [{"index": "0"}]})"),
        terminate(R"({"pid": 5, "used_gpu_memory": [{"index": 4294967296}]})"),
        terminate(R"({"pid": 5, "used_gpu_memory": [], "eid": 20})"),
        terminate(R"({"pid": 5, "used_gpu_memory": [], "eid": ["20"]})"),
        R"({"terminate_processes": 0})",
        R"({"terminate_processes": "no"})",
        R"({"detach": []})",
        R"({"detach": "all"})",
        R"({"detach": {"": {"envs": []}}})",
        R"({"detach": {"x": {"envs": []}}})",
        R"({"detach": {"-1": {"envs": []}}})",
        R"({"detach": {"0 ": {"envs": []}}})",
        R"({"detach": {"4294967296": {"envs": []}}})",
        R"({"detach": {"0": []}})",
        R"({"detach": {"0": {}}})",
        R"({"detach": {"0": {"envs": {"eid": "20"}}}})",
        R"({"detach": {"0": {"envs": ["20"]}}})",
        R"({"detach": {"0": {"envs": [{"eid": 20}]}}})",
        R"({"detach": {"0": {"envs": [{"uid": 20}]}}})",
    };
    for (const std::string& text : table)
        EXPECT_EQ(codeOf([&] { parseReport(text); }), ErrorCode::InvalidArgs) << text;
}

TEST(Report, IsRefusedWhereverItIsCutOff) {
    const std::string whole =
        R"({"terminate":{"processes":[{"pid":5,"used_gpu_memory":[{"index":0}],"eid":"20"}]},)"
        R"("detach":{"0":{"envs":[{"eid":"20"}]}}})";
    ASSERT_NO_THROW(parseReport(whole));
    for (std::size_t length = 0; length < whole.size(); ++length)
        EXPECT_EQ(codeOf([&] { parseReport(whole.substr(0, length)); }), ErrorCode::InvalidArgs)
            << length;
}

TEST(Report, IsRefusedWhenItIsHugeOrDeep) {
    EXPECT_EQ(codeOf([] { parseReport("{}" + std::string(core::maxReportSize - 1, ' ')); }),
              ErrorCode::InvalidArgs);
    EXPECT_NO_THROW(parseReport("{}" + std::string(core::maxReportSize - 2, ' ')));
    const std::string deep(1 << 20, '[');
    EXPECT_EQ(codeOf([&] { parseReport(R"({"terminate": )" + deep); }), ErrorCode::InvalidArgs);
    EXPECT_EQ(
        codeOf([&] { parseReport(R"({"terminate": )" + deep + std::string(1 << 20, ']') + "}"); }),
        ErrorCode::InvalidArgs);
}

// -- the parts of a report that are still true

class ReportMatching : public RulesTest {
  protected:
    ReportMatching() {
        activate("20", alice);
        attachIndices("20", {0, 1});
        run(500, alice, {{0, gigabytes(1)}}, "20");
        run(501, bob, {{1, gigabytes(1)}});
    }
    core::Consequences match(const core::EnforcementReport& report) {
        const auto isProtected = [this](const core::ObservedProcess& process) {
            return shielded.contains(process.facts.identity.pid);
        };
        auto matched = core::matchReport(report, seen, ledger, isProtected);
        unmatched = std::move(matched.unmatched);
        return matched.consequences;
    }
    Texts refused() const {
        Texts messages;
        for (const core::EnforcementEntry& action : unmatched) {
            EXPECT_EQ(action.kind, core::EnforcementEntry::Kind::Failed);
            messages.push_back(action.message);
        }
        return messages;
    }
    std::vector<core::EnforcementEntry> unmatched;
};

TEST_F(ReportMatching, FindsAProcessByPidEnvironmentAndOneOfItsDevices) {
    EXPECT_EQ(pidsOf(match({{{500, "20", {3, 0}}, {501, std::nullopt, {1}}}, {}})),
              (Pids{500, 501}));
    EXPECT_TRUE(unmatched.empty());
}

TEST_F(ReportMatching, CallsTerminatedWhatIsNotTheProcessThatWasMeant) {
    const std::vector<core::EnforcementReport::Process> cases{
        {502, "20", {0}},         // no such process
        {500, std::nullopt, {0}}, // the PID belongs to another process by now
        {500, "21", {0}},         //
        {501, "20", {1}},         //
        {500, "20", {1}},         // it no longer uses the device
        {500, "20", {}},          {500, "20", {77}},
    };
    for (const auto& process : cases) {
        EXPECT_TRUE(match({{process}, {}}).endings.empty()) << process.pid;
        EXPECT_EQ(refused(),
                  Texts{"[DEBUG] Process " + std::to_string(process.pid) + " already terminated"});
    }
}

TEST_F(ReportMatching, EndsAProcessThatIsNamedTwiceOnce) {
    EXPECT_EQ(pidsOf(match({{{500, "20", {0}}, {500, "20", {0}}}, {}})), Pids{500});
    EXPECT_EQ(unmatched.size(), 1U);
}

TEST_F(ReportMatching, NeverEndsProtectedProcessesAndSaysSo) {
    shielded = {500};
    EXPECT_TRUE(match({{{500, "20", {0}}}, {}}).endings.empty());
    EXPECT_EQ(refused(), Texts{"[DEBUG] Process 500 serves others and is left alone"});
    EXPECT_EQ(unmatched[0].pid, 500U);
}

TEST_F(ReportMatching, DetachesWhatIsStillAttachedOnce) {
    const auto found = match({{}, {{0, {"20", "20"}}, {1, {"20"}}}});
    EXPECT_EQ(detachmentsOf(found), (Texts{"20/GPU-0", "20/GPU-1"}));
    EXPECT_TRUE(unmatched.empty());
}

TEST_F(ReportMatching, SaysWhatIsDetachedAlreadyWithoutRepeatingForeignText) {
    EXPECT_TRUE(match({{}, {{2, {"20"}}, {9, {"20"}}, {0, {"a\x1b[2J"}}}}).detachments.empty());
    EXPECT_EQ(refused(), (Texts{"[DEBUG] Environment a\\x1b[2J already detached from device 0",
                                "[DEBUG] Environment 20 already detached from device 2",
                                "[DEBUG] Environment 20 already detached from device 9"}));
    EXPECT_EQ(unmatched[1].devices, Indices{2});
}

TEST_F(ReportMatching, NamesTheDeviceOfAJobAndTakesNothingFromIt) {
    ledger.reserve({false, {"GPU-2"}});
    ledger.startJob({12, alice, "alice", {"GPU-2"}});
    EXPECT_TRUE(match({{}, {{2, {"slurm-12"}}}}).detachments.empty());
    EXPECT_EQ(refused(), Texts{"[ERROR] GPU 2 belongs to Slurm job 12; scancel 12 ends it"});
    EXPECT_EQ(unmatched[0].devices, Indices{2});
}

} // namespace
} // namespace genv::tests
