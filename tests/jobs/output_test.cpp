// SPDX-License-Identifier: LGPL-2.1-or-later
// The output of an attempt: within its limit, and never in the way of the command.
#include "client/jobs/runner/attempt_output.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace genv::jobs {

namespace {

class OutputTest : public testing::Test {
  protected:
    OutputTest() {
        std::string name = testing::TempDir() + "output.XXXXXX";
        folder = mkdtemp(name.data());
    }
    ~OutputTest() override { std::filesystem::remove_all(folder); }

    [[nodiscard]] std::string file() const { return (folder / "file").native(); }
    [[nodiscard]] std::string content() const {
        std::ostringstream text;
        text << std::ifstream(file()).rdbuf();
        return text.str();
    }
    [[nodiscard]] OutputFile log() const { return {file(), true, 022}; }

    std::filesystem::path folder;
};

const std::string limitLine =
    "genv: the log has reached its limit, and further output is dropped\n";

TEST_F(OutputTest, IsCutAtTheLimitWithOneLineThatSaysSo) {
    Output output(log(), 10);
    ASSERT_EQ(output.open(), std::nullopt);
    output.write("12345\n");
    output.write("789012345");
    output.write("more");
    EXPECT_EQ(content(), "12345\n7890\n" + limitLine);
}

TEST_F(OutputTest, MayFillTheLimitExactly) {
    Output output(log(), 10);
    ASSERT_EQ(output.open(), std::nullopt);
    output.write("123456789\n");
    EXPECT_EQ(content(), "123456789\n");
    output.write("x");
    EXPECT_EQ(content(), "123456789\n" + limitLine);
}

TEST_F(OutputTest, CountsWhatAnEarlierAttemptWrote) {
    std::ofstream(file()) << "12345678";
    Output output(log(), 10);
    ASSERT_EQ(output.open(), std::nullopt);
    output.write("abc");
    EXPECT_EQ(content(), "12345678ab\n" + limitLine);
}

TEST_F(OutputTest, HasNoLimitInAFileOfTheUser) {
    Output output({file(), false, 027}, 10);
    ASSERT_EQ(output.open(), std::nullopt);
    output.write(std::string(100, 'x'));
    EXPECT_EQ(content(), std::string(100, 'x'));
    struct stat status {};
    ASSERT_EQ(stat(file().c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 07777, 0640U);
}

TEST_F(OutputTest, IsDroppedWhileTheDiskIsFull) {
    Output output({"/dev/full", false, 022});
    ASSERT_EQ(output.open(), std::nullopt);
    for (int i = 0; i < 1000; ++i)
        output.write("text\n");
    output.note("note");
}

TEST_F(OutputTest, BeginsLaterIfTheLogCannotBeOpenedYet) {
    Output output({(folder / "later/file").native(), true, 022});
    output.write("lost\n");
    std::filesystem::create_directory(folder / "later");
    output.write("kept\n");
    output.write("kept too\n");
    std::ostringstream text;
    text << std::ifstream(folder / "later/file").rdbuf();
    EXPECT_EQ(text.str(),
              "genv: output is missing here: No space left on device\nkept\nkept too\n");
}

TEST_F(OutputTest, DoesNotWaitForTheReaderOfAPipe) {
    ASSERT_EQ(mkfifo(file().c_str(), 0600), 0);
    Output output({file(), false, 022});
    EXPECT_NE(output.open(), std::nullopt);
    output.write("text");
}

TEST_F(OutputTest, PutsNotesOnLinesOfTheirOwn) {
    Output output(log());
    ASSERT_EQ(output.open(), std::nullopt);
    output.noteAttempt(2); // nothing was written before
    output.write("cut");
    output.note("first");
    output.note("second");
    output.write("text\n");
    output.noteAttempt(3);
    EXPECT_EQ(content(), "cut\ngenv: first\ngenv: second\ntext\ngenv: attempt 3 starts\n");
}

} // namespace

} // namespace genv::jobs
