// SPDX-License-Identifier: LGPL-2.1-or-later
// The files of an attempt: what is written is read, whatever is in the folder, and an attempt is
// either claimed or revoked.
#include "client/jobs/files/attempt.hpp"
#include "client/jobs/files/attempt_text.hpp"
#include "client/jobs/model/job_error.hpp"
#include "core/base/text.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <fstream>
#include <functional>
#include <random>

namespace genv::jobs {

namespace {

const AttemptName attempt{{17, 3}, 2};

std::string everyByte() {
    std::string text;
    for (int byte = 1; byte < 256; ++byte)
        text.push_back(static_cast<char>(byte));
    return text;
}

AttemptOrder orderWith(const std::string& text) {
    AttemptOrder order;
    order.command = {"train", text, "", "$HOME %h {}"};
    order.folder = "/data/" + text;
    order.variables = {"TEXT=" + text, "BASH_FUNC_x%%=() { :\n}", "="};
    order.umask = 027;
    order.statusFile = text;
    order.environmentId = "job-17.3";
    order.output = "/home/" + text;
    order.outputIsLog = true;
    return order;
}

void expectSame(const AttemptOrder& one, const AttemptOrder& other) {
    EXPECT_EQ(one.command, other.command);
    EXPECT_EQ(one.folder, other.folder);
    EXPECT_EQ(one.variables, other.variables);
    EXPECT_EQ(one.umask, other.umask);
    EXPECT_EQ(one.statusFile, other.statusFile);
    EXPECT_EQ(one.environmentId, other.environmentId);
    EXPECT_EQ(one.output, other.output);
    EXPECT_EQ(one.outputIsLog, other.outputIsLog);
}

JobErrorCode codeOf(const std::function<void()>& call) {
    try {
        call();
    } catch (const JobError& error) {
        return error.code();
    }
    ADD_FAILURE() << "nothing was thrown";
    return JobErrorCode::InvalidArgs;
}

std::filesystem::path newFolder() {
    std::string name = testing::TempDir() + "attempts.XXXXXX";
    return mkdtemp(name.data());
}

class AttemptFilesTest : public testing::Test {
  protected:
    ~AttemptFilesTest() override { std::filesystem::remove_all(folder); }

    [[nodiscard]] std::filesystem::path file(const std::string& name) const {
        return folder / name;
    }
    void put(const std::string& name, const std::string& text) const {
        std::ofstream(file(name), std::ios::binary) << text;
    }

    std::filesystem::path folder = newFolder();
    AttemptFiles files{folder};
};

TEST(AttemptName, IsReadOnlyInTheFormInWhichItIsWritten) {
    EXPECT_EQ(textOf(attempt), "17.3.2");
    EXPECT_EQ(parseAttemptName("17.3.2"), attempt);
    EXPECT_EQ(parseAttemptName("4294967295.0.1"), (AttemptName{{4294967295, 0}, 1}));
    for (const char* text :
         {"", "17", "17.3", "17.3.", "17.3.2.1", "17.3.2 ", " 17.3.2", "+17.3.2", "-1.3.2",
          "017.3.2", "17.03.2", "0.3.2", "17.3.0", "4294967296.0.1", "a.b.c", "17..2", "17/3/2"})
        EXPECT_EQ(parseAttemptName(text), std::nullopt) << text;
}

TEST_F(AttemptFilesTest, CarryEveryByteExceptZero) {
    const AttemptOrder order = orderWith(everyByte());
    files.write(attempt, order);
    expectSame(files.read(attempt).value(), order);
    expectSame(files.claim(attempt).value(), order);

    const AttemptEnding ending{-1, 9, everyByte(), core::fromMicroseconds(1234567890123456)};
    files.writeEnding(attempt, ending);
    const AttemptEnding read = files.ending(attempt).value();
    EXPECT_EQ(read.status, -1);
    EXPECT_EQ(read.signal, 9);
    EXPECT_EQ(read.reason, core::printable(everyByte())); // it is shown to people
    EXPECT_EQ(read.at, ending.at);
}

TEST_F(AttemptFilesTest, RefuseAZeroByteAndWriteNothing) {
    const std::string text("a\0b", 3);
    EXPECT_EQ(codeOf([&] { files.write(attempt, orderWith(text)); }), JobErrorCode::StorageFailed);
    EXPECT_TRUE(std::filesystem::is_empty(folder));
}

TEST_F(AttemptFilesTest, AreOfTheirUserAlone) {
    files.write(attempt, orderWith("x"));
    struct stat status {};
    ASSERT_EQ(stat(file("17.3.2.ready").c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 07777, 0600U);
}

TEST_F(AttemptFilesTest, AreClaimedOnceAndOnlyIfReady) {
    EXPECT_FALSE(files.claim(attempt));
    EXPECT_FALSE(files.isClaimed(attempt));
    files.write(attempt, orderWith("x"));
    EXPECT_FALSE(files.isClaimed(attempt));
    EXPECT_TRUE(files.claim(attempt));
    EXPECT_TRUE(files.isClaimed(attempt));
    EXPECT_FALSE(files.claim(attempt));
    EXPECT_FALSE(files.read(attempt));
    EXPECT_FALSE(files.revoke(attempt));
    EXPECT_EQ(codeOf([&] { files.write(attempt, orderWith("x")); }), JobErrorCode::StorageFailed);
}

TEST_F(AttemptFilesTest, AreNotClaimedAfterTheyWereRevoked) {
    files.write(attempt, orderWith("x"));
    EXPECT_TRUE(files.revoke(attempt));
    EXPECT_TRUE(files.revoke(attempt));
    EXPECT_FALSE(files.claim(attempt));
    EXPECT_TRUE(std::filesystem::is_empty(folder));
}

TEST_F(AttemptFilesTest, AreClaimedAsLongAsTheirEndingIsThere) {
    files.write(attempt, orderWith("x"));
    ASSERT_TRUE(files.claim(attempt));
    files.writeEnding(attempt, {0, 0, {}, {}});
    std::filesystem::remove(file("17.3.2.started"));
    EXPECT_TRUE(files.isClaimed(attempt));
    EXPECT_FALSE(files.revoke(attempt));
}

TEST_F(AttemptFilesTest, ReplaceAReservedEndingWhole) {
    files.reserveEnding(attempt);
    EXPECT_FALSE(files.ending(attempt));
    files.writeEnding(attempt, {3, 0, std::string(5000, 'x'), {}});
    EXPECT_EQ(files.ending(attempt).value().status, 3);
    EXPECT_FALSE(std::filesystem::exists(file("17.3.2.reserved")));
    files.writeEnding(attempt, {4, 0, {}, {}});
    EXPECT_EQ(files.ending(attempt).value().status, 4);
}

TEST_F(AttemptFilesTest, AreListedAndRemovedByAttempt) {
    const AttemptName other{{1, 0}, 1};
    files.write(attempt, orderWith("x"));
    files.reserveEnding(attempt);
    files.write(other, orderWith("y"));
    ASSERT_TRUE(files.claim(other));
    put("jobs.sqlite", "");
    put("17.3.2.other", "");
    put("0.3.2.ready", "");
    EXPECT_EQ(files.list(), (std::vector{other, attempt}));
    files.remove(attempt);
    EXPECT_EQ(files.list(), std::vector{other});
    files.remove(attempt);
    EXPECT_EQ(codeOf([&] { (void)AttemptFiles(folder / "gone").list(); }),
              JobErrorCode::StorageFailed);
}

TEST_F(AttemptFilesTest, DoNotFollowSymbolicLinks) {
    files.write(attempt, orderWith("x"));
    std::filesystem::rename(file("17.3.2.ready"), file("order"));
    std::filesystem::create_symlink("order", file("17.3.2.ready"));
    EXPECT_EQ(codeOf([&] { (void)files.read(attempt); }), JobErrorCode::StorageFailed);
    EXPECT_EQ(codeOf([&] { (void)files.claim(attempt); }), JobErrorCode::StorageFailed);
    EXPECT_FALSE(files.isClaimed(attempt));

    put("kept", "kept");
    std::filesystem::create_symlink("kept", file("17.3.2.reserved"));
    EXPECT_EQ(codeOf([&] { files.writeEnding(attempt, {}); }), JobErrorCode::StorageFailed);
    files.reserveEnding(attempt);
    EXPECT_EQ(std::filesystem::file_size(file("kept")), 4U);

    std::filesystem::create_directory_symlink(folder, file("link"));
    EXPECT_EQ(codeOf([&] { (void)AttemptFiles(folder / "link").read(attempt); }),
              JobErrorCode::StorageFailed);
}

TEST_F(AttemptFilesTest, DoNotWaitForAPipeInPlaceOfAFile) {
    ASSERT_EQ(mkfifo(file("17.3.2.ready").c_str(), 0600), 0);
    EXPECT_EQ(codeOf([&] { (void)files.claim(attempt); }), JobErrorCode::StorageFailed);
    ASSERT_EQ(mkfifo(file("17.3.2.reserved").c_str(), 0600), 0);
    EXPECT_EQ(codeOf([&] { files.writeEnding(attempt, {}); }), JobErrorCode::StorageFailed);
}

TEST_F(AttemptFilesTest, RefuseATextThatWasCutAnywhere) {
    const std::string order = encode(orderWith("x"));
    for (std::size_t length = 0; length < order.size(); ++length)
        EXPECT_THROW((void)decodeOrder(order.substr(0, length)), JobError) << length;
    EXPECT_THROW((void)decodeOrder(order + "x"), JobError);
    const std::string ending = encode(AttemptEnding{1, 0, "reason", {}});
    for (std::size_t length = 0; length < ending.size(); ++length)
        EXPECT_THROW((void)decodeEnding(ending.substr(0, length)), JobError) << length;
    EXPECT_THROW((void)decodeOrder(ending), JobError);
    EXPECT_THROW((void)decodeEnding(order), JobError);
}

TEST_F(AttemptFilesTest, RefuseANewerVersion) {
    std::string order = encode(orderWith("x"));
    order.replace(order.find(" 1\n"), 3, " 2\n");
    put("17.3.2.ready", order);
    EXPECT_EQ(codeOf([&] { (void)files.claim(attempt); }), JobErrorCode::StorageFailed);
    EXPECT_TRUE(std::filesystem::exists(file("17.3.2.ready"))); // for the program that knows it
}

TEST_F(AttemptFilesTest, SurviveAnyDamage) {
    std::mt19937 random(7); // NOLINT(cert-msc32-c,cert-msc51-cpp): the same damage each time
    const std::string whole = encode(orderWith("12"));
    const auto upTo = [&](std::size_t end) { return random() % end; };
    for (int round = 0; round < 20'000; ++round) {
        std::string text = whole;
        for (std::size_t change = 0; change <= upTo(4); ++change)
            text.at(upTo(text.size())) =
                static_cast<char>(upTo(2) == 0 ? '0' + upTo(10) : upTo(256));
        try {
            const AttemptOrder order = decodeOrder(text);
            EXPECT_FALSE(order.command.empty());
        } catch (const JobError& error) {
            EXPECT_EQ(error.code(), JobErrorCode::StorageFailed);
        }
    }
}

enum : int { Refused = 0, Succeeded = 1, Broken = 2 };

// The child waits until the pipe's writing end, which is open only in the parent, is closed.
pid_t race(const std::function<bool()>& step, const std::array<int, 2>& pipe) {
    const pid_t child = fork();
    if (child != 0)
        return child;
    close(pipe[1]);
    char byte = 0;
    int result = Broken;
    try {
        if (read(pipe[0], &byte, 1) == 0)
            result = step() ? Succeeded : Refused;
    } catch (const std::exception&) { // NOLINT(bugprone-empty-catch): the result says it
    }
    _exit(result);
}

int resultOf(pid_t child) {
    int status = 0;
    return waitpid(child, &status, 0) == child && WIFEXITED(status) ? WEXITSTATUS(status) : Broken;
}

TEST_F(AttemptFilesTest, AreEitherClaimedOnceOrRevokedWhoeverRaces) {
    constexpr int rounds = 150;
    constexpr std::size_t each = 3;
    int claimed = 0;
    for (std::uint32_t round = 1; round <= rounds; ++round) {
        const AttemptName raced{{1, 0}, round};
        files.write(raced, orderWith("x"));
        std::array<int, 2> start{};
        ASSERT_EQ(pipe(start.data()), 0);
        std::vector<pid_t> claims;
        std::vector<pid_t> revocations;
        for (std::size_t i = 0; i < each; ++i) {
            claims.push_back(race([&] { return files.claim(raced).has_value(); }, start));
            revocations.push_back(race([&] { return files.revoke(raced); }, start));
        }
        close(start[0]);
        close(start[1]);
        std::size_t won = 0;
        for (const pid_t child : claims) {
            const int result = resultOf(child);
            ASSERT_NE(result, Broken);
            won += result == Succeeded ? 1 : 0;
        }
        ASSERT_LE(won, 1U);
        for (const pid_t child : revocations)
            ASSERT_EQ(resultOf(child), won == 1 ? Refused : Succeeded);
        ASSERT_EQ(files.isClaimed(raced), won == 1);
        claimed += static_cast<int>(won);
    }
    RecordProperty("claimed", claimed);
}

} // namespace

} // namespace genv::jobs
