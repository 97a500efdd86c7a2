// SPDX-License-Identifier: LGPL-2.1-or-later
// Rewriting a command line of docker or podman: GPUs become the attached ones or are refused, the
// environment is passed on, and every other byte is unchanged.
#include "shims/docker/rewrite.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <ostream>

namespace genv::tests {
namespace {

using shims::ContainerEngine;
using shims::RefusedRequest;
using shims::Words;

// By name: the engine takes the values from the shim's own variables.
const Words ours{"-e", "GENV_ENVIRONMENT_ID", "-e", "GENV_ENVIRONMENT_CREATED"};

Words operator+(Words words, const Words& more) {
    words.insert(words.end(), more.begin(), more.end());
    return words;
}

// Environment 58 with the devices 1 and 3 of a machine.
class Rewrite : public testing::Test {
  protected:
    Words docker(const Words& words) { return rewrite(words, ContainerEngine::Docker); }
    Words podman(const Words& words) { return rewrite(words, ContainerEngine::Podman); }

    Words rewrite(const Words& words, ContainerEngine engine) {
        return shims::rewrite(words, {engine, "58",
                                      [this] {
                                          ++questions;
                                          return view;
                                      },
                                      [](const std::string& file) { return file == "genv.env"; },
                                      [this] { return user; }});
    }
    std::string refusal(const Words& words, ContainerEngine engine = ContainerEngine::Docker) {
        try {
            return "not refused: " + rewrite(words, engine).back();
        } catch (const RefusedRequest& refused) {
            hint = refused.hint();
            return refused.what();
        }
    }
    /// Returns the replacement for docker's --gpus with this value.
    std::string gpus(const std::string& value) {
        const Words words = docker({"run", "--gpus", value, "image"});
        EXPECT_EQ(words.size(), 8U);
        return words.at(6);
    }
    std::string gpusRefusal(const std::string& value) {
        return refusal({"run", "--gpus", value, "image"});
    }

    shims::View view{{1, "GPU-aaa1", 16, std::nullopt, {}}, {3, "GPU-abb3", 16, std::nullopt, {}}};
    int questions = 0;
    std::optional<std::string> user; ///< the user as whom containers with GPUs must run
    std::string hint;
};

TEST_F(Rewrite, GivesTheAttachedDevicesForAll) {
    EXPECT_EQ(
        docker({"run", "--gpus", "all", "image", "cmd"}),
        (Words{"run"} + ours + Words{"--gpus", "\"device=GPU-aaa1,GPU-abb3\"", "image", "cmd"}));
    EXPECT_EQ(docker({"create", "--gpus=all", "image"}),
              (Words{"create"} + ours + Words{"--gpus=\"device=GPU-aaa1,GPU-abb3\"", "image"}));
    EXPECT_EQ(docker({"container", "run", "--rm", "--gpus", "-1", "image"}).at(8),
              "\"device=GPU-aaa1,GPU-abb3\"")
        << "docker's other word for all";
    EXPECT_EQ(gpus("count=all"), "\"device=GPU-aaa1,GPU-abb3\"");
    EXPECT_EQ(gpus("device=all"), "\"device=GPU-aaa1,GPU-abb3\"");
}

TEST_F(Rewrite, GivesTheFirstOfTheAttachedForANumber) {
    EXPECT_EQ(gpus("1"), "device=GPU-aaa1");
    EXPECT_EQ(gpus("+2"), "\"device=GPU-aaa1,GPU-abb3\"");
    EXPECT_EQ(gpus("count=1"), "device=GPU-aaa1");
    EXPECT_EQ(gpus("0"), "0");
    EXPECT_EQ(gpus("capabilities=utility"), "device=GPU-aaa1,capabilities=utility")
        << "one is docker's default";
    EXPECT_EQ(gpusRefusal("3"), "Requested 3 devices but only 2 are attached to environment");
    EXPECT_EQ(gpusRefusal("18446744073709551616"),
              "invalid value \"18446744073709551616\" of --gpus");
}

TEST_F(Rewrite, GivesNothingWhereNothingIsAttached) {
    view.clear();
    EXPECT_EQ(gpus("all"), "0");
    EXPECT_EQ(gpus("all,capabilities=utility"), "0,capabilities=utility");
    EXPECT_EQ(gpusRefusal("1"), "Requested 1 devices but only 0 are attached to environment");
    EXPECT_EQ(gpusRefusal("device=0"), "Device 0 is not attached to environment 58");
    EXPECT_EQ(hint, "No device is attached. \"genv attach\" attaches devices.");
    EXPECT_EQ(docker({"run", "--device", "nvidia.com/gpu=all", "image"}),
              (Words{"run"} + ours + Words{"image"}));
    EXPECT_EQ(podman({"run", "--gpus", "all", "image"}), (Words{"run"} + ours + Words{"image"}))
        << "a 0 would be podman's index 0";
}

TEST_F(Rewrite, ChecksNamedDevices) {
    EXPECT_EQ(gpus("device=3"), "device=GPU-abb3");
    EXPECT_EQ(gpus("\"device=3,GPU-aaa1\""), "\"device=GPU-abb3,GPU-aaa1\"");
    EXPECT_EQ(gpus("device=3,1"), "\"device=GPU-abb3,GPU-aaa1\"") << "without the inner quotes";
    EXPECT_EQ(gpus("device=GPU-ab"), "device=GPU-abb3") << "the beginning of one UUID";
    EXPECT_EQ(gpus("device=gpu-AAA1"), "device=GPU-aaa1");
    EXPECT_EQ(gpus("driver=nvidia,\"device=1,3\",\"capabilities=compute,utility\""),
              "\"device=GPU-aaa1,GPU-abb3\",driver=nvidia,\"capabilities=compute,utility\"");
    EXPECT_EQ(gpus("device=none"), "device=none");
    EXPECT_EQ(gpus("driver=cdi,device=nvidia.com/gpu=3"), "device=nvidia.com/gpu=3,driver=cdi");
    EXPECT_EQ(gpusRefusal("device=0"), "Device 0 is not attached to environment 58");
    EXPECT_EQ(hint, "Attached devices: 1 (GPU-aaa1), 3 (GPU-abb3).");
    EXPECT_EQ(gpusRefusal("\"device=1,2\""), "Device 2 is not attached to environment 58");
    EXPECT_EQ(gpusRefusal("device=GPU-a"),
              "ambiguous device \"GPU-a\": several UUIDs begin with it");
    for (const char* name : {"GPU-", "GPU-aaa11", "", "-1", "1x", "nvidia.com/gpu=0"})
        EXPECT_EQ(gpusRefusal("device=" + std::string(name)),
                  "Device " +
                      std::string(std::string_view(name).substr(
                          std::string_view(name).find('=') == std::string::npos
                              ? 0
                              : std::string_view(name).find('=') + 1)) +
                      " is not attached to environment 58");
}

TEST_F(Rewrite, KnowsAMigInstanceByItsUuid) {
    view = {{1, "GPU-aaa1", 16, std::nullopt, {}}, {8, "MIG-ccc", 16, std::nullopt, {}}};
    EXPECT_EQ(gpus("device=8"), "device=MIG-ccc");
    EXPECT_EQ(docker({"run", "--device=nvidia.com/gpu=all", "image"}),
              (Words{"run"} + ours +
               Words{"--device=nvidia.com/gpu=1", "--device=nvidia.com/gpu=MIG-ccc", "image"}));
    for (const Words& words : {Words{"run", "--gpus", "device=0:1", "image"},
                               Words{"run", "--device", "nvidia.com/gpu=0:1", "image"}})
        EXPECT_EQ(refusal(words), "cannot check device \"0:1\": name the MIG instance by its UUID");
}

TEST_F(Rewrite, RefusesWhatItCannotRead) {
    for (const char* value : {"", "some", "-2", "1,2", "all,1", "1,device=1", "device=1,device=3",
                              "\"device=1", "\"device=1\"x", "de\"vice=1", "\nall", "all\n",
                              "capabilities=utility\n", "1,", "0x1", "1 ", "all,count=1"})
        EXPECT_TRUE(gpusRefusal(value).ends_with("of --gpus")) << value;
    EXPECT_EQ(gpusRefusal("\x1b[2J\xff"), "invalid value \"\\x1b[2J\\xff\" of --gpus");
}

TEST_F(Rewrite, RewritesCdiNamesAndNoOtherDevice) {
    EXPECT_EQ(docker({"run", "--device", "nvidia.com/gpu=all", "--device=/dev/fuse", "image"}),
              (Words{"run"} + ours +
               Words{"--device", "nvidia.com/gpu=1", "--device", "nvidia.com/gpu=3",
                     "--device=/dev/fuse", "image"}));
    EXPECT_EQ(docker({"run", "--device=nvidia.com/gpu=3", "image"}).at(5),
              "--device=nvidia.com/gpu=3");
    EXPECT_EQ(docker({"run", "--device=nvidia.com/gpu=GPU-abb3", "image"}).at(5),
              "--device=nvidia.com/gpu=GPU-abb3")
        << "as the person named it";
    EXPECT_EQ(docker({"run", "--device=nvidia.com/gpu=GPU-ab", "image"}).at(5),
              "--device=nvidia.com/gpu=3")
        << "what is no name in a specification";
    EXPECT_EQ(docker({"run", "--device=management.nvidia.com/gpu=all", "image"}).at(6),
              "--device=management.nvidia.com/gpu=3");
    EXPECT_EQ(refusal({"run", "--device", "nvidia.com/gpu=0", "image"}),
              "Device 0 is not attached to environment 58");
    const Words others{
        "run",          "-e",       "GENV_ENVIRONMENT_ID=1", "--device",
        "/dev/nvidia0", "--device", "amd.com/gpu=all",       "--device=xnvidia.com/gpu=0",
        "image"};
    questions = 0;
    EXPECT_EQ(docker(others), others);
    EXPECT_EQ(questions, 0) << "the service is not needed";
}

TEST_F(Rewrite, NamesDevicesInPodmansWay) {
    EXPECT_EQ(podman({"run", "--gpus", "all", "image"}),
              (Words{"run"} + ours +
               Words{"--device", "nvidia.com/gpu=1", "--device", "nvidia.com/gpu=3", "image"}));
    EXPECT_EQ(podman({"create", "--gpus=1", "image"}),
              (Words{"create"} + ours + Words{"--device=nvidia.com/gpu=1", "image"}));
    EXPECT_EQ(podman({"run", "--gpus=\"device=3\",capabilities=utility", "image"}).at(5),
              "--device=nvidia.com/gpu=3");
    EXPECT_EQ(podman({"run", "--device", "/dev/fuse,nvidia.com/gpu=all", "image"}),
              (Words{"run"} + ours +
               Words{"--device", "/dev/fuse", "--device", "nvidia.com/gpu=1", "--device",
                     "nvidia.com/gpu=3", "image"}));
    EXPECT_EQ(podman({"run", "--device=/dev/a,/dev/b", "image"}).at(5), "--device=/dev/a,/dev/b");
    EXPECT_EQ(refusal({"run", "--gpus", "3", "image"}, ContainerEngine::Podman),
              "Requested 3 devices but only 2 are attached to environment");
    EXPECT_EQ(refusal({"run", "--device", "\"nvidia.com/gpu=0", "image"}, ContainerEngine::Podman),
              "invalid value \"\"nvidia.com/gpu=0\" of --device");
}

TEST_F(Rewrite, RewritesEachOfSeveralRequestsAndAsksOnce) {
    EXPECT_EQ(docker({"run", "--gpus", "1", "--gpus=device=3", "--device=nvidia.com/gpu=1", "i"}),
              (Words{"run"} + ours +
               Words{"--gpus", "device=GPU-aaa1", "--gpus=device=GPU-abb3",
                     "--device=nvidia.com/gpu=1", "i"}));
    EXPECT_EQ(questions, 1);
}

TEST_F(Rewrite, FindsTheCommandBehindGlobalOptions) {
    for (const Words& before :
         {Words{"--debug"}, Words{"-D"}, Words{"--context", "run"}, Words{"-c", "exec"},
          Words{"-crun"}, Words{"--host=run"}, Words{"-H", "tcp://host", "-l", "debug"},
          Words{"-DH", "run"}, Words{"--tlsverify", "--tlscacert", "run"},
          Words{"--log-level", "run", "container"}, Words{"--config", "", "container"},
          Words{"--tls=false"}, Words{"--new=value"}}) {
        EXPECT_EQ(docker(before + Words{"run", "--gpus", "1", "image"}),
                  (before + Words{"run"} + ours + Words{"--gpus", "device=GPU-aaa1", "image"}));
    }
    for (const Words& before :
         {Words{"--root", "run"}, Words{"-r"}, Words{"--connection", "run", "--syslog"},
          Words{"--storage-opt", "run", "container", "--log-level", "run"}})
        EXPECT_EQ(podman(before + Words{"exec", "name"}),
                  (before + Words{"exec"} + ours + Words{"name"}));
}

TEST_F(Rewrite, LeavesEveryOtherCommandAlone) {
    for (const Words& words :
         {Words{}, Words{"--version"}, Words{"ps", "-a"}, Words{"build", "--device", "run"},
          Words{"container"}, Words{"container", "ls", "run"}, Words{"image", "run"},
          Words{"compose"}, Words{"compose", "up", "--gpus", "all"}, Words{"start", "run"},
          Words{"--context", "run"}, Words{"--context"}, Words{"RUN", "--gpus", "all"},
          Words{"", "run", "--gpus", "all"}, Words{"compose", "-f", "run"}, Words{"-", "run"},
          Words{"container", "compose", "run"}})
        EXPECT_EQ(docker(words), words);
    EXPECT_EQ(questions, 0);
}

TEST_F(Rewrite, TellsTheEnvironmentWithEachCommandThatStartsSomething) {
    for (const Words& command :
         {Words{"run"}, Words{"create"}, Words{"exec"}, Words{"container", "run"},
          Words{"container", "create"}, Words{"container", "exec"}, Words{"compose", "run"},
          Words{"compose", "exec"}, Words{"compose", "-f", "a.yaml", "--profile", "run", "run"},
          Words{"compose", "--dry-run", "-prun", "exec"}}) {
        EXPECT_EQ(docker(command + Words{"-it", "target", "--gpus", "all"}),
                  (command + ours + Words{"-it", "target", "--gpus", "all"}));
        EXPECT_EQ(podman(command + Words{"target"}), (command + ours + Words{"target"}));
    }
    EXPECT_EQ(docker({"run"}), (Words{"run"} + ours)) << "docker says what is missing";
}

TEST_F(Rewrite, KeepsTheEnvironmentThatThePersonGave) {
    for (const Words& given :
         {Words{"-e", "GENV_ENVIRONMENT_ID=x"}, Words{"-eGENV_ENVIRONMENT_ID=x"},
          Words{"-e=GENV_ENVIRONMENT_ID=x"}, Words{"--env=GENV_ENVIRONMENT_ID="},
          Words{"-ite", "GENV_ENVIRONMENT_ID=x"}, Words{"-iteGENV_ENVIRONMENT_ID=x"},
          Words{"--env-file", "genv.env"}, Words{"-e", "A=b", "--env-file=genv.env"}}) {
        const Words words = Words{"run"} + given + Words{"image"};
        EXPECT_EQ(docker(words), words);
    }
    for (const Words& given :
         {Words{"-e", "GENV_ENVIRONMENT_IDX=x"}, Words{"-e", "A=GENV_ENVIRONMENT_ID=x"},
          Words{"--label", "GENV_ENVIRONMENT_ID=x"}, Words{"--env-file", "other.env"}})
        EXPECT_EQ(docker(Words{"run"} + given + Words{"image"}),
                  (Words{"run"} + ours + given + Words{"image"}));
    EXPECT_EQ(docker({"run", "image", "-e", "GENV_ENVIRONMENT_ID=x"}),
              (Words{"run"} + ours + Words{"image", "-e", "GENV_ENVIRONMENT_ID=x"}));
}

TEST_F(Rewrite, AddsTheStampToAnIdThatIsNamedWithoutAValue) {
    const Words stamp{"-e", "GENV_ENVIRONMENT_CREATED"};
    for (const Words& given :
         {Words{"--env", "GENV_ENVIRONMENT_ID"}, Words{"-eGENV_ENVIRONMENT_ID"}})
        EXPECT_EQ(docker(Words{"run"} + given + Words{"image"}),
                  (Words{"run"} + stamp + given + Words{"image"}));
    const Words both{"run", "-e", "GENV_ENVIRONMENT_ID", "-e", "GENV_ENVIRONMENT_CREATED", "image"};
    EXPECT_EQ(docker(both), both);
    EXPECT_EQ(
        docker({"run", "-e", "GENV_ENVIRONMENT_CREATED=7", "image"}),
        (Words{"run", "-e", "GENV_ENVIRONMENT_ID", "-e", "GENV_ENVIRONMENT_CREATED=7", "image"}));
}

TEST_F(Rewrite, TouchesNeitherValuesNorTheCommand) {
    for (const Words& words :
         {Words{"image", "--gpus", "all"},
          Words{"--", "--gpus", "all"},
          Words{"--", "image", "--gpus=all"},
          Words{"--name", "--gpus", "all"},
          Words{"-e", "--gpus", "all", "image"},
          Words{"-v", "--gpus=all", "image"},
          Words{"-itv", "--gpus=all", "image"},
          Words{"-itv--gpus=all", "image"},
          Words{"--rm=false", "-t=false", "image", "--gpus", "all"},
          Words{"--rm", "false", "--gpus", "all"},
          Words{"-", "--gpus", "all"},
          Words{"", "--gpus", "all"},
          Words{"--entrypoint", "", "image", "--gpus", "all"},
          Words{"-h", "--gpus", "image"},
          Words{"-hi--gpus", "image"},
          Words{"--label=--gpus=all", "a b", "--gpus", "all"},
          Words{"-e", "A=\xff\n \x01", "-l", "", "im\nage", "\xc3", "--gpus", "", "all"},
          Words{"--gpus"},
          Words{"--name"},
          Words{"-it", "-e"},
          Words{"--help"}})
        EXPECT_EQ(docker(Words{"run"} + words), (Words{"run"} + ours + words));
    EXPECT_EQ(docker({"exec", "--gpus", "all", "name"}),
              (Words{"exec"} + ours + Words{"--gpus", "all", "name"}))
        << "which docker refuses itself";
    EXPECT_EQ(questions, 0);
}

TEST_F(Rewrite, StopsAtAnOptionThatItDoesNotKnow) {
    EXPECT_EQ(docker({"run", "--new=x", "--gpus", "1", "image"}).at(7), "device=GPU-aaa1")
        << "with its value it is clear";
    EXPECT_EQ(docker({"run", "-X=x", "--gpus", "1", "image"}).at(7), "device=GPU-aaa1");
    EXPECT_EQ(docker({"run", "--new", "image", "-e", "GENV_ENVIRONMENT_ID=x"}),
              (Words{"run"} + ours + Words{"--new", "image", "-e", "GENV_ENVIRONMENT_ID=x"}))
        << "the person's is the later one";
    for (const Words& words :
         {Words{"run", "--new", "--gpus", "all", "image"}, Words{"run", "--new", "x", "--gpus=1"},
          Words{"run", "--gpus", "1", "--new", "x", "--device", "nvidia.com/gpu=all", "image"},
          Words{"--new", "x", "run", "--gpus", "all", "image"}}) {
        EXPECT_EQ(refusal(words), "unknown option \"--new\": cannot read the GPU options after it");
        EXPECT_EQ(hint, "Write its value with \"=\": --new=VALUE, or =true for a switch.");
    }
    EXPECT_TRUE(
        refusal({"run", "-tX", "--gpus", "all", "image"}).starts_with("unknown option \"-tX\""));
    EXPECT_EQ(docker({"--new", "run", "image"}), (Words{"--new", "run", "image"}));
}

TEST(OptionTables, NameEachOptionOnce) {
    for (const shims::OptionTable* table :
         {&shims::globalOptions, &shims::runOptions, &shims::execOptions, &shims::composeOptions,
          &shims::composeRunOptions, &shims::composeExecOptions}) {
        std::vector<std::string> words{""};
        for (const char c : std::string(table->values) + " " + std::string(table->switches)) {
            if (c == ' ')
                words.emplace_back();
            else
                words.back() += c;
        }
        EXPECT_EQ(std::count(words.begin(), words.end(), ""), 0) << "two blanks";
        for (std::string& word : words) {
            if (word.size() > 2 && word[1] == '/')
                word = word.substr(2);
        }
        std::sort(words.begin(), words.end());
        const auto twice = std::adjacent_find(words.begin(), words.end());
        EXPECT_EQ(twice, words.end()) << *twice;
    }
}

TEST_F(Rewrite, RunsContainersWithGpusAsTheirUserWhereThatIsConfigured) {
    user = "1001:1001";
    const Words gpu{"--gpus", "device=GPU-aaa1", "image"};
    EXPECT_EQ(docker({"run", "--gpus", "1", "image"}),
              (Words{"run"} + ours + Words{"--user", "1001:1001"} + gpu));
    EXPECT_EQ(docker({"run", "image"}), (Words{"run"} + ours + Words{"image"})) << "without a GPU";
    EXPECT_EQ(docker({"run", "-u", "7", "--gpus", "1", "image"}),
              (Words{"run"} + ours + Words{"-u", "7"} + gpu));
    EXPECT_EQ(podman({"run", "--device", "nvidia.com/gpu=1", "image"}),
              (Words{"run"} + ours + Words{"--device", "nvidia.com/gpu=1", "image"}))
        << "root in a container of podman's is its user";
}

} // namespace
} // namespace genv::tests
