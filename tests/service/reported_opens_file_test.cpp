// SPDX-License-Identifier: LGPL-2.1-or-later
// The file with what was reported of the kernel's counters of opens.
#include "service/state/reported_opens_file.hpp"
#include "tests/core/kept_log.hpp"
#include "tests/service/temporary_folder.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>
#include <limits>

namespace genv::tests {
namespace {

class ReportedOpensFileTest : public ::testing::Test {
  protected:
    void put(const std::string& text) { std::ofstream(path) << text; }

    const TemporaryFolder folder;
    const std::filesystem::path path = folder.path() / "refusals";
    KeptLog log;
    service::ReportedOpensFile file{folder.path(), log};
};

TEST_F(ReportedOpensFileTest, IsReadAsItWasWritten) {
    constexpr auto max = std::numeric_limits<std::uint64_t>::max();
    file.write({{1001, {195, 0}, {3, 0}}, {4294967294U, {4095, 1048575}, {max, max}}});
    const auto read = service::ReportedOpensFile(folder.path(), log).read();
    ASSERT_TRUE(read);
    ASSERT_EQ(read->size(), 2U);
    EXPECT_EQ((*read)[0].uid, 1001U);
    EXPECT_EQ((*read)[0].counts, (core::OpenCounts{3, 0}));
    EXPECT_EQ((*read)[1].node, (core::DeviceNode{4095, 1048575}));
    EXPECT_EQ((*read)[1].counts, (core::OpenCounts{max, max}));
    struct stat status {};
    ASSERT_EQ(::stat(path.c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777, 0600U);
    file.write({});
    EXPECT_TRUE(file.read()->empty());
    EXPECT_TRUE(log.lines.empty());
}

TEST_F(ReportedOpensFileTest, IsEmptyAtTheFirstStart) {
    ASSERT_TRUE(file.read());
    EXPECT_TRUE(file.read()->empty());
    EXPECT_TRUE(log.lines.empty());
}

TEST_F(ReportedOpensFileTest, IsSetAsideWhereItIsBroken) {
    for (const char* text :
         {"", "genv refusals 1", "genv refusals 2\n", "genv refusals 1\n1 2 3 4\n",
          "genv refusals 1\n1 2 3 4 5 6\n", "genv refusals 1\n1 2 3 4 -5\n",
          "genv refusals 1\n99999999999 2 3 4 5\n", "genv refusals 1\n1 2 3 4 5", "{}\n",
          "genv refusals 1\n\n"}) {
        put(text);
        log.lines.clear();
        EXPECT_FALSE(file.read()) << text;
        EXPECT_FALSE(std::filesystem::exists(path)) << text;
        EXPECT_TRUE(std::filesystem::exists(folder.path() / "broken/refusals")) << text;
        EXPECT_EQ(log.lines.size(), 1U) << text;
    }
}

TEST_F(ReportedOpensFileTest, IsNotBelievedWhereOthersMayWriteIt) {
    file.write({{1001, {195, 0}, {3, 0}}});
    ::chmod(path.c_str(), 0666);
    EXPECT_FALSE(file.read());
}

TEST_F(ReportedOpensFileTest, IsALinkThatNobodyFollows) {
    std::filesystem::create_symlink("/etc/passwd", path);
    EXPECT_FALSE(file.read());
}

TEST_F(ReportedOpensFileTest, SaysOnceThatItCannotBeWritten) {
    std::filesystem::create_directory(path);
    file.write({{1001, {195, 0}, {3, 0}}});
    file.write({{1001, {195, 0}, {4, 0}}});
    EXPECT_EQ(log.lines.size(), 1U);
}

} // namespace
} // namespace genv::tests
