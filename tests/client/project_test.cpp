// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/genvctl/common/exit_status.hpp"
#include "client/genvctl/options/project.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>

namespace genv::ctl {
namespace {

namespace fs = std::filesystem;

const std::vector<Field> every(std::begin(allFields), std::end(allFields));

/// An empty project folder and an empty home folder. The project folder is the working folder.
class Project : public testing::Test {
  protected:
    void SetUp() override {
        std::string name = fs::temp_directory_path() / "genv-project.XXXXXX";
        ASSERT_NE(mkdtemp(name.data()), nullptr);
        root_ = name;
        fs::create_directories(root_ / "home");
        fs::create_directories(folder());
        before_ = fs::current_path();
        fs::current_path(root_ / "work");
        setenv("HOME", (root_ / "home").c_str(), 1);
        setenv("PWD", (root_ / "work").c_str(), 1);
    }
    void TearDown() override {
        fs::current_path(before_);
        fs::remove_all(root_);
    }

    [[nodiscard]] fs::path root() const { return root_; }
    [[nodiscard]] fs::path folder() const { return root_ / "work/.genv"; }

    void write(const char* file, const std::string& text) const {
        std::ofstream(folder() / file) << text;
    }
    [[nodiscard]] std::string read(const char* file) const {
        std::ifstream stream(folder() / file);
        return {std::istreambuf_iterator<char>(stream), {}};
    }

  private:
    fs::path root_;
    fs::path before_;
};

TEST_F(Project, IsTheWorkingFoldersElseTheHomesElseNone) {
    fs::create_directory(root() / "home/.genv");
    EXPECT_EQ(projectFolder(), folder());
    fs::remove(folder());
    EXPECT_EQ(projectFolder(), root() / "home/.genv");
    fs::remove(root() / "home/.genv");
    EXPECT_EQ(projectFolder(), std::nullopt);
    std::ofstream(root() / "work/.genv") << "a file is no folder";
    EXPECT_EQ(projectFolder(), std::nullopt);
    EXPECT_THROW(requireProjectFolder(), Failure);
}

TEST_F(Project, KeepsAFileForEachFieldWithTheValueAndNothingElse) {
    saveProject(folder(), {"my name", 2, 4'000'000'000}, every);
    EXPECT_EQ(read("name"), "my name");
    EXPECT_EQ(read("gpus"), "2");
    EXPECT_EQ(read("gpu-memory"), "4g");
}

TEST_F(Project, ReadsBackWhatItSaved) {
    saveProject(folder(), {"grün", 2, 44'040'192}, every);
    const Configuration loaded = loadProject(folder());
    EXPECT_EQ(loaded.name, "grün");
    EXPECT_EQ(loaded.gpus, 2U);
    EXPECT_EQ(loaded.gpuMemoryBytes, 44'040'192U);
}

TEST_F(Project, RemovesTheFilesOfUnsetFieldsAndLeavesTheOthers) {
    saveProject(folder(), {"a", 2, 1}, every);
    saveProject(folder(), {}, {Field::Gpus});
    EXPECT_FALSE(fs::exists(folder() / "gpus"));
    EXPECT_TRUE(fs::exists(folder() / "name"));
    saveProject(folder(), {}, every);
    EXPECT_TRUE(fs::is_empty(folder()));
}

TEST_F(Project, ReadsWhatPeopleWriteByHand) {
    write("name", "by hand\n");
    write("gpus", " 3 \n");
    write("gpu-memory", "512mi\n");
    const Configuration loaded = loadProject(folder());
    EXPECT_EQ(loaded.name, "by hand");
    EXPECT_EQ(loaded.gpus, 3U);
    EXPECT_EQ(loaded.gpuMemoryBytes, 512U << 20);
    write("name", "\n");
    EXPECT_EQ(loadProject(folder()).name, std::nullopt);
}

TEST_F(Project, RefusesValuesThatMakeNoSense) {
    for (const auto& [file, text] : {std::pair{"gpus", "two"},
                                     {"gpus", "-1"},
                                     {"gpu-memory", "4 apples"},
                                     {"name", "a\x1b[2J"},
                                     {"name", "two\nlines"}}) {
        write(file, text);
        try {
            loadProject(folder());
            ADD_FAILURE() << text;
        } catch (const Failure& failure) {
            EXPECT_NE(std::string(failure.what()).find(folder() / file), std::string::npos)
                << failure.what();
        }
        fs::remove(folder() / file);
    }
}

TEST_F(Project, ReadsNoEndlessFileNoLinkAndNothingThatBlocks) {
    write("name", std::string(100'000, 'x'));
    EXPECT_THROW(loadProject(folder()), Failure);
    fs::remove(folder() / "name");

    std::ofstream(root() / "secret") << "secret";
    fs::create_symlink(root() / "secret", folder() / "name");
    EXPECT_THROW(loadProject(folder()), Failure);
    fs::remove(folder() / "name");

    ASSERT_EQ(mkfifo((folder() / "name").c_str(), 0666), 0);
    EXPECT_THROW(loadProject(folder()), Failure);
}

TEST_F(Project, SavingReplacesALinkAndNotWhatItPointsTo) {
    std::ofstream(root() / "precious") << "precious";
    fs::create_symlink(root() / "precious", folder() / "name");
    saveProject(folder(), {"a", {}, {}}, {Field::Name});
    EXPECT_EQ(read("name"), "a");
    std::ifstream stream(root() / "precious");
    EXPECT_EQ(std::string(std::istreambuf_iterator<char>(stream), {}), "precious");
}

TEST_F(Project, FailsWhereItCannotSaveAndLeavesNothingBehind) {
    fs::create_directory(folder() / "name");
    EXPECT_THROW(saveProject(folder(), {"a", {}, {}}, {Field::Name}), Failure);
    EXPECT_EQ(std::distance(fs::directory_iterator(folder()), {}), 1);
}

TEST(Fields, SayWhatWouldBeRight) {
    Configuration configuration;
    try {
        setField(configuration, Field::GpuMemory, "lots");
        ADD_FAILURE();
    } catch (const Failure& failure) {
        EXPECT_EQ(failure.status(), ExitStatus::Usage);
        EXPECT_NE(std::string(failure.what()).find("such as 4g"), std::string::npos)
            << failure.what();
    }
}

} // namespace
} // namespace genv::ctl
