// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/genvctl/reports/isolation_report.hpp"

#include <gtest/gtest.h>

namespace genv::ctl {
namespace {

IsolationState guarding(IsolationState state, bool areGuarded = true) {
    state.guardsRenderNodes = areGuarded;
    return state;
}

const IsolationState inForce{"user", "user", false, "", {0, 2}, {}, {2}};
const IsolationState notConfigured{"none", "none", false, "", {}, {0, 1}, {}};
const IsolationState failed{"none", "user", false, "there is no BPF file system", {}, {0, 1}, {}};
const IsolationState suspended{"none", "watch", true, "", {0, 1}, {}, {}};
const IsolationState halfGuarded{"watch", "watch", false, "GPU 1 is not guarded", {0}, {1}, {}};

TEST(IsolationReport, IsAsWantedWhereAllIsDoneThatIsConfigured) {
    EXPECT_TRUE(isAsWanted(inForce));
    EXPECT_TRUE(isAsWanted(notConfigured));
    for (const IsolationState& state : {failed, suspended, halfGuarded})
        EXPECT_FALSE(isAsWanted(state)) << state.mode;
}

TEST(IsolationReport, SaysWhatTheKernelDoesAndOfEachGpu) {
    EXPECT_EQ(isolationText(inForce),
              "Isolation is on: the kernel refuses a GPU to users who do not hold it.\n"
              "Configured: Isolation=user\n"
              "GPU 0: guarded\n"
              "GPU 2: guarded, open to everybody (IsolationOpenDevices=)\n"
              "Render nodes (/dev/dri) of GPUs: open to everybody (IsolationRenderNodes=no)\n");
    EXPECT_EQ(isolationText(notConfigured),
              "Isolation is off: it is not configured, so every user can open every GPU.\n");
    EXPECT_EQ(isolationText(suspended),
              "Isolation is suspended: until the next boot or \"genvctl isolation on\" every user "
              "can open every GPU.\n"
              "Configured: Isolation=watch\n"
              "GPU 0: not guarded\n"
              "GPU 1: not guarded\n"
              "Render nodes (/dev/dri) of GPUs: open to everybody (IsolationRenderNodes=no)\n");
    EXPECT_EQ(isolationJson(suspended).at("devices").at(0).at("guarded"), false);
}

TEST(IsolationReport, SaysWhetherRenderNodesAreGuarded) {
    EXPECT_NE(isolationText(guarding(inForce)).find("\nRender nodes (/dev/dri) of GPUs: guarded\n"),
              std::string::npos);
    EXPECT_NE(isolationText(guarding(inForce, false))
                  .find("\nRender nodes (/dev/dri) of GPUs: open to everybody "
                        "(IsolationRenderNodes=no)\n"),
              std::string::npos);
    EXPECT_EQ(isolationText(notConfigured).find("Render"), std::string::npos);
    EXPECT_EQ(isolationJson(guarding(inForce)).at("render_nodes_guarded"), true);
    EXPECT_NE(
        isolationText(guarding(suspended)).find("Render nodes (/dev/dri) of GPUs: not guarded\n"),
        std::string::npos);
    EXPECT_EQ(isolationJson(guarding(suspended)).at("render_nodes_guarded"), false);
}

TEST(IsolationReport, SaysWhyItIsNotInForceAndWhatToDo) {
    EXPECT_EQ(isolationText(failed),
              "Isolation=user is configured but not in force: every user may be able to open every "
              "GPU.\n"
              "Configured: Isolation=user\n"
              "GPU 0: not guarded\n"
              "GPU 1: not guarded\n"
              "Render nodes (/dev/dri) of GPUs: open to everybody (IsolationRenderNodes=no)\n"
              "Problem: there is no BPF file system\n"
              "As root: \"journalctl -u genvd -u genv-isolation\" says more; then systemctl "
              "restart genv-isolation\n");
    EXPECT_EQ(isolationText(halfGuarded),
              "Isolation watches: the kernel counts users who open a GPU that they do not hold, "
              "and refuses nothing.\n"
              "Configured: Isolation=watch\n"
              "GPU 0: guarded\n"
              "GPU 1: not guarded\n"
              "Render nodes (/dev/dri) of GPUs: open to everybody (IsolationRenderNodes=no)\n"
              "Problem: GPU 1 is not guarded\n"
              "As root: \"journalctl -u genvd\" says more. After a change of genvd.conf: systemctl "
              "restart genv-isolation && systemctl reload genvd\n");
}

TEST(IsolationReport, IsJsonWithEachGpu) {
    EXPECT_EQ(
        isolationJson(inForce).dump(),
        R"({"mode":"user","wanted":"user","suspended":false,"trouble":null,)"
        R"("render_nodes_guarded":false,"devices":[{"index":0,"guarded":true,"open":false},{"index":2,"guarded":true,"open":true}]})");
}

TEST(IsolationReport, ListsRefusalsWithHostileNamesMadeSafe) {
    RefusedOpen known;
    known.uid = 1002;
    known.device = 1;
    known.node = "195:1";
    known.count = 7;
    known.pid = 42;
    known.command = "\x1b[2J";
    RefusedOpen gone = known;
    gone.device.reset();
    gone.node = "195:9";
    RefusedOpen named = known;
    named.node = "renderD128 of GPU 1";
    const Table table = refusalTable(
        {known, gone, named}, [](std::uint32_t) { return "bob"; }, [](Time) { return "now"; });
    EXPECT_EQ(table.csv(true), "LAST,USER,NODE,TIMES,PID,PROGRAM\n"
                               "now,bob(1002),GPU 1,7,42,\\x1b[2J\n"
                               "now,bob(1002),195:9,7,42,\\x1b[2J\n"
                               "now,bob(1002),renderD128 of GPU 1,7,42,\\x1b[2J\n");
}

} // namespace
} // namespace genv::ctl
