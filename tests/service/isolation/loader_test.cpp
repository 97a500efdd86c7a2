// SPDX-License-Identifier: LGPL-2.1-or-later
// Installing, replacing and removing the gate, by the loader's class and by its program.
#include "service/isolation/kernel_gates.hpp"
#include "service/isolation/loader.hpp"
#include "service/isolation/shared_nodes.hpp"
#include "tests/service/isolation/gate_machine.hpp"
#include "tests/service/isolation/gate_users.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <optional>
#include <set>

namespace genv::service::isolation {
namespace {

using core::GateMode;
using core::Uid;
using tests::alice;
using tests::bob;
using tests::GateMachine;
using tests::gpu;
using tests::gpuMajor;
using tests::otherGpu;
using Opening = GateMachine::Opening;

class LoaderTest : public testing::Test {
  protected:
    void SetUp() override {
        static const std::string reason = tests::whyNoGate();
        if (!reason.empty())
            GTEST_SKIP() << reason;
        machine_.emplace();
        gates_.emplace(machine_->pins());
    }
    [[nodiscard]] Loader loader() const { return {machine_->pins(), machine_->controlGroup()}; }
    [[nodiscard]] static GatePlan plan(GateMode mode = GateMode::Refuse) {
        return {mode, {gpuMajor}, blocksOf(1, 999, std::nullopt)};
    }
    [[nodiscard]] mode_t modeOf(const std::string& name) const {
        struct stat found {};
        EXPECT_EQ(::stat((machine_->pins() / name).c_str(), &found), 0) << name;
        return found.st_mode & 07777;
    }
    /// Installs the gate of an earlier version of genv, with fewer grants and another mode map.
    void putUpFormer() {
        machine_->putUpGate(gpuMajor);
        for (const GateMap map : {GateMap::Grants, GateMap::Mode}) {
            MapLayout layout = layoutOf(map);
            layout.maxEntries = map == GateMap::Grants ? 128 : 3;
            std::filesystem::remove(machine_->pins() / pinName(map));
            UntypedMap::create(layout).pin(machine_->pins() / pinName(map));
        }
        const GateMapSet maps = GateMapSet::open(machine_->pins());
        maps.mode.put(GENV_MODE_ENTRY, GENV_MODE_REFUSE);
        const core::Descriptor program = loadGateProgram(maps);
        BpfLink::open(machine_->pins() / linkPin).replaceProgram(program.get());
    }

    std::optional<GateMachine> machine_;
    std::optional<KernelGates> gates_;
};

// MIG's monitor, for example, which the driver gives to everybody.
TEST_F(LoaderTest, OpensNodesOfAGuardedMajorThatGiveAccessToNoGpu) {
    GatePlan open = plan();
    open.open = {gpu};
    loader().putUp(open);
    EXPECT_EQ(machine_->open(gpu, alice), Opening::LetThrough);
    EXPECT_EQ(machine_->open(otherGpu, alice), Opening::Refused);
}

TEST_F(LoaderTest, GuardsTheRenderNodesOfThePlanAndNoOthersOfTheirMajor) {
    const core::DeviceNode gpus{drmMajor, 200};
    GatePlan rendering = plan();
    rendering.renderNodes = std::vector{gpus};
    loader().putUp(rendering);
    EXPECT_EQ(machine_->open(gpus, alice), Opening::Refused);
    EXPECT_NE(machine_->open({drmMajor, 201}, alice), Opening::Refused);
    EXPECT_TRUE(gates_->guardRenderNodes({{drmMajor, 201}})) << "the service adds later ones";
    EXPECT_EQ(machine_->open({drmMajor, 201}, alice), Opening::Refused);
    loader().putUp(plan());
    EXPECT_NE(machine_->open(gpus, alice), Opening::Refused);
    EXPECT_FALSE(gates_->guardRenderNodes({gpus}));
}

TEST_F(LoaderTest, PutsUpTheGateAsPlanned) {
    const GateState state = loader().putUp(plan());
    EXPECT_FALSE(state.wasReplaced);
    EXPECT_FALSE(state.isSuspended);
    EXPECT_EQ(gates_->absence(), "");
    EXPECT_EQ(gates_->mode(), GateMode::Refuse);
    EXPECT_EQ(machine_->open(gpu, alice), Opening::Refused);
    EXPECT_EQ(machine_->open(gpu, 999), Opening::LetThrough);
    for (const std::uint32_t minor : {254U, 255U})
        EXPECT_EQ(machine_->open({gpuMajor, minor}, alice), Opening::LetThrough) << minor;
    EXPECT_NE(machine_->open({drmMajor, 200}, alice), Opening::Refused);
    EXPECT_TRUE(gates_->grants().empty());
}

TEST_F(LoaderTest, KeepsItsFilesFromEverybodyAndTheLinkFromTheService) {
    loader().putUp(plan());
    struct stat folder {};
    ASSERT_EQ(::stat(machine_->pins().c_str(), &folder), 0);
    EXPECT_EQ(folder.st_mode & 07777, 0700U);
    EXPECT_EQ(modeOf(linkPin), 0U);
    for (const GateMap map : gateMaps)
        EXPECT_EQ(modeOf(pinName(map)), 0600U) << pinName(map);
    loader().putUp(plan());
    EXPECT_EQ(modeOf(linkPin), 0U);
}

TEST_F(LoaderTest, KeepsGrantsWhenItRunsAgainAndTakesOverTheRest) {
    loader().putUp(plan());
    gates_->grant({gpu, alice});
    GatePlan other = plan(GateMode::Watch);
    other.majors = {gpuMajor, 196};
    EXPECT_TRUE(loader().putUp(other).wasReplaced);
    EXPECT_EQ(gates_->grants(), (std::vector<core::Grant>{{gpu, alice}}));
    EXPECT_EQ(gates_->mode(), GateMode::Watch);
    EXPECT_TRUE(gates_->guard(196));
    loader().putUp(plan());
    EXPECT_FALSE(gates_->guard(196));
    EXPECT_EQ(machine_->open(gpu, alice), Opening::LetThrough);
    EXPECT_EQ(machine_->open(otherGpu, alice), Opening::Refused);
}

TEST_F(LoaderTest, CopiesTheGrantsOfAnEarlierVersion) {
    putUpFormer();
    EXPECT_NE(gates_->absence(), "");
    const GrantsMap former(UntypedMap::open(machine_->pins() / "grants"));
    const std::set<core::Grant> held{{gpu, alice}, {gpu, bob}, {otherGpu, bob}};
    for (const core::Grant& grant : held)
        former.put({grant.node.major, grant.node.minor, *grant.uid}, 1);
    EXPECT_EQ(machine_->open(gpu, alice), Opening::LetThrough);
    EXPECT_TRUE(loader().putUp(plan()).wasReplaced);
    EXPECT_EQ(gates_->absence(), "");
    const std::vector<core::Grant> grants = gates_->grants();
    EXPECT_EQ(std::set(grants.begin(), grants.end()), held);
    EXPECT_EQ(machine_->open(gpu, alice), Opening::LetThrough);
    EXPECT_EQ(machine_->open(otherGpu, alice), Opening::Refused);
}

TEST_F(LoaderTest, LeavesTheGateOpenThatAPersonOpened) {
    loader().putUp(plan());
    gates_->setSuspended(true);
    gates_->setMode(GateMode::Open);
    EXPECT_TRUE(loader().putUp(plan()).isSuspended);
    EXPECT_EQ(gates_->mode(), GateMode::Open);
    gates_->setMode(GateMode::Refuse);
    EXPECT_FALSE(loader().putUp(plan()).isSuspended);
    EXPECT_FALSE(gates_->isSuspended());
    gates_->setMode(GateMode::Open); // as a configuration without isolation sets it
    loader().putUp(plan());
    EXPECT_EQ(gates_->mode(), GateMode::Refuse);
}

TEST_F(LoaderTest, LeavesItOpenAlsoWhenTheMapOfTheModeIsReplaced) {
    putUpFormer();
    const ModeMap mode(UntypedMap::open(machine_->pins() / "mode"));
    mode.put(GENV_SUSPENDED_ENTRY, 1);
    mode.put(GENV_MODE_ENTRY, GENV_MODE_OPEN);
    EXPECT_TRUE(loader().putUp(plan()).isSuspended);
    EXPECT_EQ(gates_->mode(), GateMode::Open);
    EXPECT_TRUE(gates_->isSuspended());
}

TEST_F(LoaderTest, MendsWhatAPersonRemoved) {
    loader().putUp(plan());
    for (const std::string name : {"grants", "mode", "link"}) {
        std::filesystem::remove(machine_->pins() / name);
        EXPECT_NE(gates_->absence(), "");
        loader().putUp(plan());
        EXPECT_EQ(gates_->absence(), "");
        EXPECT_EQ(machine_->open(gpu, alice), Opening::Refused) << name;
        gates_->grant({gpu, alice});
        EXPECT_EQ(machine_->open(gpu, alice), Opening::LetThrough) << name;
        gates_->revoke({gpu, alice});
    }
}

TEST_F(LoaderTest, RemovesWhatALoaderLeftThatWasEndedHalfway) {
    loader().putUp(plan());
    UntypedMap::create(layoutOf(GateMap::Grants)).pin(machine_->pins() / "grants-new");
    loader().putUp(plan());
    EXPECT_FALSE(std::filesystem::exists(machine_->pins() / "grants-new"));
}

TEST_F(LoaderTest, TakesNoFolderThatSomebodyElseMayWriteTo) {
    std::filesystem::create_directory(machine_->pins());
    ASSERT_EQ(::chown(machine_->pins().c_str(), alice, alice), 0);
    try {
        loader().putUp(plan());
        FAIL() << "it was taken";
    } catch (const std::filesystem::filesystem_error& error) {
        EXPECT_EQ(error.code(), std::errc::operation_not_permitted);
    }
    EXPECT_NE(gates_->absence().find("belongs to uid 4001"), std::string::npos);
}

TEST_F(LoaderTest, TakesTheGateAway) {
    EXPECT_FALSE(loader().takeDown());
    loader().putUp(plan());
    EXPECT_TRUE(loader().takeDown());
    EXPECT_FALSE(std::filesystem::exists(machine_->pins()));
    EXPECT_EQ(machine_->openWithoutGate(gpu, alice), Opening::LetThrough);
    EXPECT_FALSE(loader().takeDown());
}

// Counts of a child that repeatedly opens one GPU that it holds and one that it does not.
struct Counts {
    std::atomic<std::uint64_t> opens{0};
    std::atomic<std::uint64_t> wrong{0};
};

[[noreturn]] void openForEver(const std::filesystem::path& held, const std::filesystem::path& other,
                              Counts& counts) {
    for (;;) {
        counts.wrong += tests::tryToOpen(held) != Opening::LetThrough;
        counts.wrong += tests::tryToOpen(other) != Opening::Refused;
        counts.opens += 2;
    }
}

TEST_F(LoaderTest, ReplacesTheGateWithoutAMomentInBetween) {
    void* shared =
        ::mmap(nullptr, sizeof(Counts), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(shared, MAP_FAILED);
    Counts& counts = *new (shared) Counts;
    putUpFormer();
    GrantsMap(UntypedMap::open(machine_->pins() / "grants")).put({gpu.major, gpu.minor, alice}, 1);
    const std::filesystem::path held = machine_->pathOf(gpu);
    const std::filesystem::path other = machine_->pathOf(otherGpu);
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0)
        machine_->inGroup(alice, [&]() -> int { openForEver(held, other, counts); });

    const auto afterMoreOpens = [&] {
        for (const std::uint64_t before = counts.opens; counts.opens < before + 100;) {
            if (::waitpid(child, nullptr, WNOHANG) != 0)
                return false;
        }
        return true;
    };
    for (int n = 0; n < 20; ++n) {
        ASSERT_TRUE(afterMoreOpens());
        ASSERT_TRUE(loader().putUp(plan()).wasReplaced);
        ASSERT_TRUE(afterMoreOpens());
        for (const char* name : {"grants", "identities", "majors"}) { // with other layouts
            const std::filesystem::path pin = machine_->pins() / name;
            std::filesystem::rename(pin, pin.string() + "-old");
        }
        std::filesystem::rename(machine_->pins() / "grants-old", machine_->pins() / "grants");
    }
    ASSERT_TRUE(afterMoreOpens());
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    EXPECT_EQ(counts.wrong, 0U) << "of " << counts.opens;
    ::munmap(shared, sizeof(Counts));
}

class LoaderProgram : public LoaderTest {
  protected:
    void configure(const std::string& text) const {
        std::filesystem::create_directory(machine_->folder() / "etc");
        machine_->write("etc/genvd.conf", text);
    }
    /// Returns the exit status and the output.
    [[nodiscard]] std::pair<int, std::string> run(const std::string& before = "",
                                                  const std::string& options = "",
                                                  std::string pins = "",
                                                  std::string group = "") const {
        if (pins.empty())
            pins = machine_->pins();
        if (group.empty())
            group = machine_->controlGroup();
        const std::string command = fmt::format(
            "env -u JOURNAL_STREAM CONFIGURATION_DIRECTORY={0}/etc:/nowhere {1} {2} --pins={3} "
            "--control-group={4} {5} 2>&1",
            machine_->folder().string(), before, GENV_TEST_ISOLATION, pins, group, options);
        FILE* pipe = ::popen(command.c_str(), "r");
        std::string output;
        for (int c = 0; (c = std::fgetc(pipe)) != EOF;)
            output += static_cast<char>(c);
        const int status = ::pclose(pipe);
        return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, output};
    }
    using Outcome = std::pair<int, std::string>;
};

// Inheritable capabilities are dropped as well, which a child of a container's init may have.
constexpr const char* withoutCapabilities =
    "setpriv --inh-caps -bpf,-sys_admin --bounding-set -bpf,-sys_admin";
constexpr const char* withoutProgramType = GENV_TEST_WITHOUT_BPF " program-type";
constexpr const char* withoutSystemCall = GENV_TEST_WITHOUT_BPF " system-call";

TEST_F(LoaderProgram, DoesWhatTheConfigurationSays) {
    configure("[Isolation]\nIsolation=user\n");
    EXPECT_EQ(run(),
              Outcome(0,
                      "genv-isolation: Isolation=user: installed the gate, which refuses GPUs to "
                      "users who do not hold them\n"));
    EXPECT_EQ(machine_->open(gpu, alice), Opening::Refused);
    configure("[Isolation]\nIsolation=watch\n");
    EXPECT_EQ(
        run(),
        Outcome(
            0,
            "genv-isolation: Isolation=watch: replaced the gate, which watches who opens GPUs\n"));
    EXPECT_EQ(machine_->open(gpu, alice), Opening::LetThrough);
    EXPECT_EQ(gates_->refusals().size(), 1U);
    configure("[Isolation]\nIsolation=none\n");
    EXPECT_EQ(
        run(),
        Outcome(
            0,
            "genv-isolation: Isolation=none: removed the gate; every user can open every GPU\n"));
    EXPECT_NE(gates_->absence(), "");
    EXPECT_EQ(run(), Outcome(0, ""));
}

TEST_F(LoaderProgram, PrintsItsVersion) {
    EXPECT_EQ(run("", "--version"), Outcome(0, "genv-isolation " GENV_VERSION "\n"));
}

TEST_F(LoaderProgram, GivesItsFilesTheirModesWhateverTheUmask) {
    configure("[Isolation]\nIsolation=user\n");
    EXPECT_EQ(run("sh -c 'umask 0777 && exec \"$@\"' sh").first, 0);
    struct stat folder {};
    ASSERT_EQ(::stat(machine_->pins().c_str(), &folder), 0);
    EXPECT_EQ(folder.st_mode & 07777, 0700U);
    for (const GateMap map : gateMaps)
        EXPECT_EQ(modeOf(pinName(map)), 0600U) << pinName(map);
}

TEST_F(LoaderProgram, LeavesWhatIsInForceIfTheConfigurationIsWrong) {
    configure("[Isolation]\nIsolation=yes\n");
    const std::string file = (machine_->folder() / "etc" / "genvd.conf").string();
    const std::string error = "genv-isolation: " + file +
                              ":2: Isolation: invalid mode \"yes\": expected none, watch or user\n";
    EXPECT_EQ(
        run(),
        Outcome(78,
                error + "genv-isolation: GPUs are not isolated: every user can open every GPU\n"));
    loader().putUp(plan());
    EXPECT_EQ(
        run(),
        Outcome(
            78,
            error +
                "genv-isolation: the previous gate stays, and refuses users without a grant\n"));
    EXPECT_EQ(machine_->open(gpu, alice), Opening::Refused);
}

TEST_F(LoaderProgram, AppliesItsSettingsDespiteAnErrorElsewhere) {
    const std::string limits = "[Limits]\nMaxDevices=2\n";
    configure("[Isolation]\nIsolation=user\n" + limits);
    for (const char* what : {"installed", "replaced"}) {
        const auto [status, output] = run();
        EXPECT_EQ(status, 0) << output;
        EXPECT_NE(output.find("genvd.conf:4: unknown setting \"MaxDevices\""), std::string::npos)
            << output;
        EXPECT_NE(output.find(what), std::string::npos) << output;
        EXPECT_EQ(machine_->open(gpu, alice), Opening::Refused);
    }
}

// The error may hide what is wanted, such as "[Isolaton]".
TEST_F(LoaderProgram, OpensNothingWhileThereIsAnErrorElsewhere) {
    for (const std::string error : {"[Limits]\nMaxDevices=2\n", "[Isolaton]\nIsolation=user\n"}) {
        configure(error);
        EXPECT_EQ(run().first, 78) << "nothing stands, so the machine may be open by mistake";
    }
    loader().putUp(plan());
    for (const std::string mode : {"none", "watch"}) {
        configure("[Isolation]\nIsolation=" + mode + "\n[Limits]\nMaxDevices=2\n");
        const auto [status, output] = run();
        EXPECT_EQ(status, 0) << output;
        EXPECT_EQ(gates_->mode(), GateMode::Refuse) << mode;
        EXPECT_EQ(machine_->open(gpu, alice), Opening::Refused) << mode;
    }
    configure("[Isolation]\nIsolation=none\n");
    EXPECT_EQ(run().first, 0);
    EXPECT_NE(gates_->absence(), "");
}

TEST_F(LoaderProgram, ChecksTheMachineAndChangesNothing) {
    configure("[Isolation]\nIsolation=user\n");
    EXPECT_EQ(run("", "--check"), Outcome(0, ""));
    EXPECT_FALSE(std::filesystem::exists(machine_->pins()));
    EXPECT_EQ(run(withoutProgramType, "--check"),
              Outcome(1,
                      "cannot load the program: Invalid argument; the kernel may have been built "
                      "without CONFIG_CGROUP_BPF, or be older than 5.10\n"));
    EXPECT_EQ(run(withoutCapabilities, "--check").first, 1);
    const std::string parent = (machine_->folder() / "nodes").string();
    const auto [status, output] = run("", "--check", parent + "/genv");
    EXPECT_EQ(status, 1);
    EXPECT_TRUE(output.starts_with("no BPF file system on " + parent)) << output;
}

TEST_F(LoaderProgram, SaysWhatItLacksInAContainer) {
    configure("[Isolation]\nIsolation=user\n");
    const auto [status, output] = run(withoutCapabilities);
    EXPECT_EQ(status, 1);
    EXPECT_EQ(output,
              "genv-isolation: cannot make the map genv_majors: Operation not permitted; this "
              "needs CAP_BPF, CAP_NET_ADMIN and CAP_PERFMON, which root lacks in a "
              "container\ngenv-isolation: GPUs are not isolated: every user can open every GPU\n");
    loader().putUp(plan());
    const auto [again, secondOutput] = run(withoutCapabilities);
    EXPECT_EQ(again, 1);
    EXPECT_NE(secondOutput.find("the previous gate stays, and refuses"), std::string::npos)
        << secondOutput;
    EXPECT_EQ(machine_->open(gpu, alice), Opening::Refused);
}

TEST_F(LoaderProgram, FailsOnAKernelWithoutTheProgramType) {
    configure("[Isolation]\nIsolation=user\n");
    EXPECT_EQ(run(withoutProgramType),
              Outcome(1,
                      "genv-isolation: cannot load the program: Invalid argument; the kernel may "
                      "have been built without CONFIG_CGROUP_BPF, or be older than 5.10\n"
                      "genv-isolation: GPUs are not isolated: every user can open every GPU\n"));
    EXPECT_NE(gates_->absence(), "");
    EXPECT_EQ(machine_->open(gpu, alice), Opening::LetThrough);
}

TEST_F(LoaderProgram, FailsOnAKernelWithoutBpf) {
    configure("[Isolation]\nIsolation=user\n");
    EXPECT_EQ(
        run(withoutSystemCall),
        Outcome(1, "genv-isolation: cannot open " + (machine_->pins() / "majors").string() +
                       ": Function not implemented; the kernel was built without "
                       "CONFIG_BPF_SYSCALL\n"
                       "genv-isolation: GPUs are not isolated: every user can open every GPU\n"));
    EXPECT_NE(gates_->absence(), "");
}

TEST_F(LoaderProgram, ChangesNothingIfTheProgramDoesNotLoad) {
    GatePlan former = plan(GateMode::Watch);
    former.majors = {gpuMajor, 196};
    loader().putUp(former);
    configure("[Isolation]\nIsolation=user\nIsolationExempt=root\n");
    const auto [status, output] = run(withoutProgramType);
    EXPECT_EQ(status, 1);
    EXPECT_NE(output.find("genv-isolation: the previous gate stays, and only watches\n"),
              std::string::npos)
        << output;
    EXPECT_EQ(gates_->mode(), GateMode::Watch);
    EXPECT_TRUE(gates_->guard(196));
    std::vector<IdentityBlock> blocks =
        readIdentities(GateMapSet::open(machine_->pins()).identities);
    std::ranges::sort(blocks);
    std::ranges::sort(former.identities);
    EXPECT_EQ(blocks, former.identities);
    EXPECT_EQ(machine_->open(gpu, alice), Opening::LetThrough);
    EXPECT_EQ(gates_->refusals().size(), 1U);
}

TEST_F(LoaderProgram, SaysThatThereIsNoBpfFileSystem) {
    configure("[Isolation]\nIsolation=user\n");
    const std::string parent = (machine_->folder() / "nodes").string();
    EXPECT_EQ(
        run("", "", parent + "/genv"),
        Outcome(1,
                "genv-isolation: no BPF file system on " + parent +
                    ": mount one (mount -t bpf -o mode=0700 bpf " + parent +
                    ")\ngenv-isolation: GPUs are not isolated: every user can open every GPU\n"));
}

TEST_F(LoaderProgram, SaysThatThereIsNoSuchControlGroup) {
    configure("[Isolation]\nIsolation=user\n");
    const auto [status, output] = run("", "", "", "/proc/nowhere");
    EXPECT_EQ(status, 1);
    EXPECT_NE(output.find("cannot open the control group /proc/nowhere: No such file or directory"),
              std::string::npos)
        << output;
}

TEST_F(LoaderProgram, WarnsOfUnknownUsersAndExemptsNobodyForThem) {
    configure("[Isolation]\nIsolation=user\nIsolationExempt=no-such-user-here\n");
    const auto [status, output] = run();
    EXPECT_EQ(status, 0);
    EXPECT_TRUE(output.starts_with("genv-isolation: IsolationExempt: unknown user "
                                   "\"no-such-user-here\": the name exempts nobody\n"))
        << output;
    EXPECT_EQ(machine_->open(gpu, 999), Opening::Refused);
}

TEST_F(LoaderProgram, SaysThatTheGateStaysOpenThatAPersonOpened) {
    configure("[Isolation]\nIsolation=user\n");
    loader().putUp(plan());
    gates_->setSuspended(true);
    gates_->setMode(GateMode::Open);
    const auto [status, output] = run();
    EXPECT_EQ(status, 0);
    EXPECT_NE(output.find("suspended it until the next boot"), std::string::npos) << output;
}

TEST_F(LoaderProgram, TakesTheGateAwayWhateverTheConfigurationSays) {
    configure("[Isolation]\nIsolation=yes\n");
    EXPECT_EQ(run("", "--remove"), Outcome(0, ""));
    loader().putUp(plan());
    EXPECT_EQ(
        run(withoutCapabilities, "--remove"),
        Outcome(0, "genv-isolation: --remove: removed the gate; every user can open every GPU\n"));
    EXPECT_FALSE(std::filesystem::exists(machine_->pins()));
}

} // namespace
} // namespace genv::service::isolation
