// SPDX-License-Identifier: LGPL-2.1-or-later
// The doctor on a node of a Slurm cluster. The tests cause each fault in the files of a separate
// root folder.
#include "client/genvctl/doctor/slurm_check.hpp"
#include "client/genvctl/doctor/slurm_configuration.hpp"
#include "tests/service/temporary_folder.hpp"

#include <gtest/gtest.h>

#include <cstdlib>

namespace genv::ctl::doctor {
namespace {

using enum DoctorVerdict;

constexpr const char* hookFolder = "usr/libexec/genv/slurm/";

class SlurmCheck : public testing::Test {
  protected:
    SlurmCheck() {
        ::unsetenv("SLURM_CONF");
        ::setenv("GENV_RUNTIME_DIRECTORY", "/run/genv", 1);
        places.root = machine.path();
        for (const char* hook : {"prolog", "epilog", "task-prolog"})
            machine.write(hookFolder + std::string(hook),
                          "#!/bin/sh\n/usr/bin/genvctl slurm " + std::string(hook) + "\nexit 0\n");
        machine.write("etc/slurm/slurm.conf", slurm);
        machine.write("etc/slurm/gres.conf", "Name=gpu Type=rtx File=/dev/nvidia[0-1]\n");
        machine.write("etc/slurm/cgroup.conf", "CgroupPlugin=cgroup/v2\nconstraindevices=YES\n");
        machine.write("etc/pam.d/sshd", "account required pam_slurm_adopt.so\n");
        machine.write("run/genv/slurm/devices", "0 GPU-a\n1 GPU-b\n");
    }
    ~SlurmCheck() override { ::unsetenv("GENV_RUNTIME_DIRECTORY"); }
    SlurmCheck(const SlurmCheck&) = delete;
    SlurmCheck& operator=(const SlurmCheck&) = delete;

    /// Replaces a line of slurm.conf.
    void change(const std::string& line, const std::string& to) {
        const std::size_t at = slurm.find(line);
        ASSERT_NE(at, std::string::npos);
        slurm.replace(at, line.size(), to);
        machine.write("etc/slurm/slurm.conf", slurm);
    }
    void remove(const std::string& file) { std::filesystem::remove(machine.path() / file); }
    DoctorFinding look(std::optional<std::set<std::string>> known = std::set<std::string>{
                           "GPU-a", "GPU-b"}) {
        SlurmFacts facts = gatherSlurmFacts(places);
        facts.known = std::move(known);
        DoctorFinding finding = judgeSlurm(facts);
        EXPECT_EQ(finding.advice.empty(), finding.verdict == Ok) << finding.advice;
        return finding;
    }
    void expect(DoctorVerdict verdict, const std::string& found) {
        const DoctorFinding finding = look();
        EXPECT_EQ(finding.found, found);
        EXPECT_EQ(finding.verdict, verdict);
    }

    tests::TemporaryFolder machine;
    SystemPlaces places;
    std::string slurm = "ClusterName=c\n"
                        "GresTypes=gpu,shard # both\n"
                        "TaskPlugin=task/affinity,task/cgroup\n"
                        "PrologFlags=Alloc,Contain\n"
                        "Prolog=/usr/libexec/genv/slurm/prolog\n"
                        "Epilog=\"/usr/libexec/genv/slurm/epilog\"\n"
                        "taskprolog=/usr/libexec/genv/slurm/task-prolog\n"
                        "NodeName=n[1-2] CPUs=8 \\\n"
                        "  Gres=gpu:rtx:2\n";
};

TEST_F(SlurmCheck, FindsNothingWrongWithANodeAsThePageHasIt) {
    expect(Ok, "2 devices of this machine are Slurm's");
    EXPECT_EQ(look(std::nullopt).verdict,
              Ok); // another check reports that the service does not run
}

TEST_F(SlurmCheck, HasNothingToSayWhereThereIsNoSlurmOrNoGpu) {
    remove("run/genv/slurm/devices");
    change("GresTypes=gpu,shard # both\n", "");
    expect(Ok, "Slurm schedules no GPUs");
    remove("etc/slurm/slurm.conf");
    expect(Ok, "no Slurm on this machine");
}

TEST_F(SlurmCheck, TellsDevicesThatSlurmHasNotNamedFromDevicesThatGenvHasNot) {
    remove("run/genv/slurm/devices");
    SlurmFacts facts = gatherSlurmFacts(places);
    EXPECT_EQ(judgeSlurm(facts).found, "Slurm schedules GPUs, and genvd does not know which");
    facts.reserves = true;
    const DoctorFinding finding = judgeSlurm(facts);
    EXPECT_EQ(finding.found, "genvd has not learned from Slurm which GPUs it has here");
    EXPECT_EQ(finding.verdict, Problem);
    EXPECT_EQ(finding.advice, "\"journalctl -u genvd\" says why.");
}

TEST_F(SlurmCheck, NamesAHookThatIsNotConfigured) {
    change("Prolog=/usr/libexec/genv/slurm/prolog\n", "");
    expect(Problem, "slurm.conf has no Prolog=");
    EXPECT_NE(look().advice.find("/slurm/prolog in slurm.conf."), std::string::npos);
}

TEST_F(SlurmCheck, NamesAHookThatIsNotThere) {
    remove("usr/libexec/genv/slurm/task-prolog");
    expect(Problem, "TaskProlog= in slurm.conf names a missing file, which fails each job");
}

TEST_F(SlurmCheck, NamesAHookOfAnotherKind) {
    machine.write("etc/slurm/epilog.sh", "#!/bin/sh\ntrue\n");
    change("/usr/libexec/genv/slurm/epilog", "/etc/slurm/epilog.sh");
    expect(Problem, "Epilog= in slurm.conf does not run genv");
    machine.write("etc/slurm/epilog.sh", "#!/bin/sh\ngenvctl slurm epilog\n");
    expect(Ok, "2 devices of this machine are Slurm's");
}

TEST_F(SlurmCheck, NamesAPatternWithoutAFile) {
    change("Prolog=/usr/libexec/genv/slurm/prolog", "Prolog=/etc/slurm/prolog.d/*");
    expect(Problem, "Prolog= in slurm.conf names a missing file, which fails each job");
}

TEST_F(SlurmCheck, LooksAtAllScriptsOfAPattern) {
    machine.write("etc/slurm/prolog.d/10-site", "#!/bin/sh\ntrue\n");
    change("Prolog=/usr/libexec/genv/slurm/prolog", "Prolog=/etc/slurm/prolog.d/*");
    expect(Problem, "Prolog= in slurm.conf does not run genv");
    machine.write("etc/slurm/prolog.d/20-genv", "#!/bin/sh\n/usr/bin/genvctl slurm prolog\n");
    expect(Ok, "2 devices of this machine are Slurm's");
}

TEST_F(SlurmCheck, NamesJobsWithoutAControlGroup) {
    change("PrologFlags=Alloc,Contain\n", "PrologFlags=Alloc\n");
    expect(Problem, "PrologFlags= in slurm.conf lacks Contain");
    EXPECT_EQ(look().advice, "Set PrologFlags=Alloc,Contain.");
    change("PrologFlags=Alloc\n", "");
    expect(Problem, "PrologFlags= in slurm.conf lacks Contain");
}

TEST_F(SlurmCheck, WarnsOfJobsThatCanOpenTheGpusOfOthers) {
    machine.write("etc/slurm/cgroup.conf", "# ConstrainDevices=yes\n");
    expect(Warning, "Slurm does not keep a job from the GPUs of others");
    machine.write("etc/slurm/cgroup.conf", "ConstrainDevices=yes\n");
    change("task/affinity,task/cgroup", "task/affinity");
    expect(Warning, "Slurm does not keep a job from the GPUs of others");
}

TEST_F(SlurmCheck, WarnsOfProcessesThatComeBySsh) {
    machine.write("etc/pam.d/sshd", "# account required pam_slurm_adopt.so\n");
    expect(Warning, "processes that come by SSH belong to no job");
}

TEST_F(SlurmCheck, WarnsOfSessionsThatLeaveTheirJob) {
    machine.write("etc/pam.d/common-session", "session required pam_unix.so\n"
                                              "session\toptional\tpam_systemd.so\n");
    const std::string adopts = "account required pam_slurm_adopt.so\n";
    for (const char* line : {"@include common-session\n", "session include common-session\n",
                             "-session optional pam_systemd.so\n"}) {
        machine.write("etc/pam.d/sshd", adopts + line);
        expect(Warning, "pam_systemd takes processes that come by SSH out of their job again");
    }
    machine.write("etc/pam.d/sshd", adopts + "session required pam_unix.so\n"
                                             "#@include common-session\n"
                                             "account optional pam_systemd.so\n");
    EXPECT_EQ(look().verdict, Ok);
    machine.write("etc/pam.d/slurm", adopts);
    machine.write("etc/pam.d/sshd", "@include slurm\n@include sshd\n");
    EXPECT_EQ(look().verdict, Ok);
}

TEST_F(SlurmCheck, NamesAConfigurationWithoutGpus) {
    change("  Gres=gpu:rtx:2\n", "\n");
    remove("etc/slurm/gres.conf");
    expect(Problem, "neither slurm.conf nor gres.conf has GPUs");
}

TEST_F(SlurmCheck, WarnsWhereGenvdDoesNotKnowOfSlurmsGpus) {
    remove("run/genv/slurm/devices");
    expect(Warning, "Slurm schedules GPUs, and genvd does not know which");
}

TEST_F(SlurmCheck, NamesDevicesThatDoNotMatch) {
    EXPECT_EQ(look(std::set<std::string>{"GPU-a"}).found,
              "Slurm's GPU 1 is GPU-b, which genvd does not list");
    machine.write("run/genv/slurm/devices", "1 GPU-b\n");
    expect(Problem, "genvd knows no device for Slurm's GPU 0");
    machine.write("run/genv/slurm/devices", "");
    expect(Problem, "no GPU that gres.conf names is a device of genvd");
    machine.write("run/genv/slurm/devices", "nonsense\n");
    EXPECT_EQ(look().verdict, Problem);
}

TEST_F(SlurmCheck, NamesSeveralThingsAtOnce) {
    change("PrologFlags=Alloc,Contain\n", "");
    machine.write("etc/pam.d/sshd", "");
    expect(Problem, "PrologFlags= in slurm.conf lacks Contain; processes that come by SSH belong "
                    "to no job");
}

TEST_F(SlurmCheck, ReadsWhatSlurmConfIncludes) {
    machine.write("etc/slurm/hooks.conf", "PrologFlags=Contain\n");
    change("PrologFlags=Alloc,Contain\n", "Include hooks.conf\n");
    expect(Ok, "2 devices of this machine are Slurm's");
    machine.write("etc/slurm/hooks.conf", "include hooks.conf\n"); // the recursion ends
    expect(Problem, "PrologFlags= in slurm.conf lacks Contain");
}

} // namespace
} // namespace genv::ctl::doctor
