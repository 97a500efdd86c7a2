// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/genvctl/doctor/genv1_leftovers.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <set>

namespace genv::ctl {
namespace {

namespace fs = std::filesystem;
using Kind = Genv1Leftover::Kind;

constexpr const char* consoleScript = "#!/usr/bin/python3\nfrom genv.cli import main\nmain()\n";

class Genv1Leftovers : public testing::Test {
  protected:
    Genv1Leftovers() {
        std::string name = testing::TempDir() + "genv1-XXXXXX";
        places.root = mkdtemp(name.data());
        places.home = places.root / "home/alice";
    }
    ~Genv1Leftovers() override { fs::remove_all(places.root); }
    Genv1Leftovers(const Genv1Leftovers&) = delete;
    Genv1Leftovers& operator=(const Genv1Leftovers&) = delete;

    fs::path write(const char* path, const std::string& text) const {
        fs::path file = places.at(path);
        fs::create_directories(file.parent_path());
        std::ofstream(file) << text;
        return file;
    }
    fs::path program(const char* path, const std::string& text = consoleScript) const {
        fs::path file = write(path, text);
        fs::permissions(file, fs::perms::owner_all | fs::perms::others_exec);
        return file;
    }
    // The leftovers of one kind, by path.
    std::set<fs::path> found(Kind kind) const {
        std::set<fs::path> paths;
        for (const Genv1Leftover& leftover : findGenv1(places)) {
            if (leftover.kind == kind)
                paths.insert(leftover.path);
        }
        return paths;
    }

    SystemPlaces places;
};

TEST_F(Genv1Leftovers, AreNoneOnAMachineThatNeverHadIt) {
    program("/usr/bin/genv", std::string("\x7f"
                                         "ELF genv"));
    places.searchPath = places.at("/usr/bin");
    EXPECT_EQ(findGenv1(places), std::vector<Genv1Leftover>{});
    EXPECT_EQ(genv1OnPath(places), std::nullopt);
}

TEST_F(Genv1Leftovers, OnThePathWinWhereTheyAreFirst) {
    const fs::path old = program("/usr/local/bin/genv");
    program("/usr/bin/genv", "\x7f"
                             "ELF");
    const std::string local = places.at("/usr/local/bin");
    const std::string usual = places.at("/usr/bin");
    places.searchPath = fmt::format("relative::{}:{}", local, usual);
    EXPECT_EQ(genv1OnPath(places), old);
    EXPECT_EQ(findGenv1(places), (std::vector<Genv1Leftover>{{Kind::Program, old, true}}));
    places.searchPath = fmt::format("{}:{}", usual, local);
    EXPECT_EQ(genv1OnPath(places), std::nullopt);
    EXPECT_EQ(findGenv1(places), (std::vector<Genv1Leftover>{{Kind::Program, old, false}}));
}

TEST_F(Genv1Leftovers, AreFoundWhereTheirInstallersPutThem) {
    const std::set<fs::path> programs{
        program("/usr/local/bin/genv"),
        program("/opt/conda/bin/genv"),
        program("/opt/conda/envs/work/bin/genv"),
        program("/usr/local/miniconda3/bin/genv"),
        program("/home/alice/.pyenv/versions/3.11.2/bin/genv"),
        program("/home/alice/.local/bin/genv"),
        program("/home/alice/genv/bin/genv"),
        program("/home/alice/miniconda3/envs/torch/bin/genv"),
    };
    program("/home/bob/.local/bin/genv");
    program("/root/.local/bin/genv");
    EXPECT_EQ(found(Kind::Program), programs);
    const std::set<fs::path> packages{
        write("/usr/local/lib/python3.11/dist-packages/genv-1.4.3.dist-info/METADATA", "")
            .parent_path(),
        write("/home/alice/.local/lib/python3.11/site-packages/genv-1.0.0.egg-info/PKG-INFO", "")
            .parent_path(),
    };
    write("/home/alice/.local/lib/python3.11/site-packages/genv-2.0.0.dist-info/METADATA", "");
    EXPECT_EQ(found(Kind::Package), packages);
}

TEST_F(Genv1Leftovers, OfEverybodyAreFoundByRoot) {
    const fs::path bobs = program("/home/bob/.local/bin/genv");
    const fs::path roots = program("/root/.local/bin/genv");
    EXPECT_EQ(found(Kind::Program), std::set<fs::path>{});
    places.everybody = true;
    EXPECT_EQ(found(Kind::Program), (std::set<fs::path>{bobs, roots}));
}

TEST_F(Genv1Leftovers, InStartFilesAreLinesThatPutItsProgramOnThePath) {
    program("/home/alice/src/genv/bin/genv");
    program("/srv/genv/bin/genv");
    const fs::path own =
        write("/home/alice/.bashrc", "alias x=y\nexport PATH=\"$HOME/src/genv/bin:$PATH\"\n");
    const fs::path everybodys =
        write("/etc/profile.d/genv.sh",
              fmt::format("PATH={}:$PATH\n", places.at("/srv/genv/bin").string()));
    write("/home/alice/.profile", "export PATH=$HOME/gone/genv/bin:$PATH\n");
    write("/home/alice/.zshrc", "eval \"$(genvctl shell --init)\"\n");
    EXPECT_EQ(found(Kind::StartFile), (std::set<fs::path>{own, everybodys}));
}

TEST_F(Genv1Leftovers, AreNeitherOtherScriptsNorFilesThatAreNone) {
    program("/usr/local/bin/genv", "#!/bin/sh\nexec genvctl \"$@\"\n");
    write("/home/alice/.local/bin/genv", consoleScript); // not executable
    fs::create_directories(places.at("/home/alice/genv/bin/genv"));
    EXPECT_EQ(findGenv1(places), std::vector<Genv1Leftover>{});
}

// With O_RDONLY alone, opening a pipe would succeed, and its writer would notice.
TEST_F(Genv1Leftovers, OpenNothingThatIsNoRegularFile) {
    fs::create_directories(places.at("/home/alice/.local/bin"));
    const fs::path pipe = places.at("/home/alice/.local/bin/genv");
    ASSERT_EQ(mkfifo(pipe.c_str(), 0777), 0);
    const int watch = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    ASSERT_GE(watch, 0);
    inotify_add_watch(watch, pipe.c_str(), IN_OPEN);
    EXPECT_EQ(findGenv1(places), std::vector<Genv1Leftover>{});
    inotify_event event{};
    EXPECT_LT(read(watch, &event, sizeof event), 0) << "the pipe was opened";
    close(watch);
}

TEST_F(Genv1Leftovers, IncludeItsState) {
    const fs::path file = write("/var/tmp/genv/devices.json", "{}");
    EXPECT_EQ(found(Kind::State), std::set<fs::path>{file.parent_path()});
}

} // namespace
} // namespace genv::ctl
