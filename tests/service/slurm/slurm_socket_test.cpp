// SPDX-License-Identifier: LGPL-2.1-or-later
// The adapter with any process at the other end of the socket: each request is answered once,
// later, and on time.
#include "service/loop/glib_loop.hpp"
#include "service/slurm/slurm_socket.hpp"
#include "tests/service/line_helper.hpp"
#include "tests/service/temporary_folder.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>

namespace genv::service {
namespace {

using namespace std::chrono_literals;
using Helper = tests::LineHelper;
using Texts = std::vector<std::string>;

class SlurmSocketTest : public testing::Test {
  protected:
    [[nodiscard]] std::filesystem::path path() const { return folder.path() / "socket"; }
    [[nodiscard]] SlurmSocketSettings settings() const { return {path(), 10s, 4, 256}; }

    core::Slurm::Done note() {
        ++expected_;
        return [this](const std::optional<core::SlurmFailure>& failure) {
            answers.push_back(failure ? failure->reason : "done");
            if (answers.size() == expected_)
                loop.quit(0);
        };
    }
    void listInto(SlurmSocket& slurm) {
        ++expected_;
        slurm.listDevices([this](const auto& answer) {
            const auto* list = std::get_if<std::vector<core::SlurmDevice>>(&answer);
            answers.push_back(list != nullptr ? fmt::format("{} devices", list->size())
                                              : std::get<core::SlurmFailure>(answer).reason);
            if (answers.size() == expected_)
                loop.quit(0);
        });
    }
    void findInto(SlurmSocket& slurm, core::Sluid sluid) {
        ++expected_;
        slurm.findJob(sluid, [this](const auto& answer) {
            const auto* job = std::get_if<core::SlurmJobId>(&answer);
            answers.push_back(job != nullptr ? fmt::format("job {}", *job)
                                             : std::get<core::SlurmFailure>(answer).reason);
            if (answers.size() == expected_)
                loop.quit(0);
        });
    }
    /// Returns the answer to one request if the helper sends this text.
    std::string answerTo(const std::optional<std::string>& text, SlurmSocketSettings own) {
        const Helper helper(path(), [&](const std::string& /*line*/) { return text; });
        SlurmSocket slurm(std::move(own), loop);
        slurm.cancel(7, note());
        EXPECT_TRUE(answers.empty()); // never before the call returns
        loop.run();
        std::filesystem::remove(path());
        return answers.back();
    }
    std::string answerTo(const std::optional<std::string>& text) {
        return answerTo(text, settings());
    }

    tests::TemporaryFolder folder;
    GlibLoop loop;
    Texts answers;

  private:
    std::size_t expected_ = 0;
};

TEST_F(SlurmSocketTest, SendsEachRequestAndTellsItsAnswer) {
    Helper helper(path(), [](const std::string& line) -> std::optional<std::string> {
        if (line.find("sluid") != std::string::npos)
            return "{\"job\":15}\n";
        return line.find("list") != std::string::npos
                   ? "{\"devices\":[{\"number\":0,\"node\":[195,2]}]}\n"
                   : "{\"done\":true}\n";
    });
    SlurmSocket slurm(settings(), loop);
    listInto(slurm);
    slurm.setEnd(12, core::WallTime(1'795'574'158s), note());
    slurm.cancel(13, note());
    slurm.requeue(14, note());
    findInto(slurm, {15});
    loop.run();
    std::ranges::sort(answers);
    EXPECT_EQ(answers, (Texts{"1 devices", "done", "done", "done", "job 15"}));
    EXPECT_EQ(helper.end(),
              (Texts{R"({"request":"list-devices"})",
                     R"({"end":1795574158,"job":12,"request":"set-end"})",
                     R"({"job":13,"request":"cancel"})", R"({"job":14,"request":"requeue"})",
                     R"({"request":"find-job","sluid":15})"}));
}

TEST_F(SlurmSocketTest, PassesOnWhatTheHelperSays) {
    EXPECT_EQ(answerTo("{\"error\":\"scontrol said: no\"}\n"), "scontrol said: no");
}

TEST_F(SlurmSocketTest, DoesNotBelieveOtherAnswers) {
    EXPECT_EQ(answerTo("{\"devices\":[]}\n"), "genv-slurm answered another request");
}

TEST_F(SlurmSocketTest, NamesAnAnswerThatIsNone) {
    EXPECT_EQ(answerTo("nonsense\n"), "genv-slurm sent an invalid answer: not JSON");
}

TEST_F(SlurmSocketTest, TakesNoAnswerWithoutItsEnd) {
    EXPECT_EQ(answerTo("{\"done\":true}"), "genv-slurm sent an invalid answer: expected one line");
}

TEST_F(SlurmSocketTest, TakesNoSecondAnswer) {
    EXPECT_EQ(answerTo("{\"done\":true}\n{\"done\":true}\n"),
              "genv-slurm sent an invalid answer: expected one line");
}

TEST_F(SlurmSocketTest, NamesAHelperThatEndsWithoutAnAnswer) {
    EXPECT_EQ(answerTo(""), "genv-slurm ended, or systemd refused the connection; \"journalctl -u "
                            "'genv-slurm*'\" may show the reason");
}

TEST_F(SlurmSocketTest, LeavesOneThatHangs) {
    SlurmSocketSettings own = settings();
    own.answerTimeout = 200ms;
    EXPECT_EQ(answerTo(std::nullopt, own), "genv-slurm did not answer in time");
}

TEST_F(SlurmSocketTest, LeavesOneThatDoesNotEnd) {
    EXPECT_EQ(answerTo(std::string(maxSlurmAnswer + 1, ' ')), "genv-slurm sent too long an answer");
}

TEST_F(SlurmSocketTest, SaysWhereNobodyAnswers) {
    SlurmSocket slurm(settings(), loop);
    slurm.requeue(7, note());
    EXPECT_TRUE(answers.empty());
    loop.run();
    EXPECT_EQ(answers, Texts{fmt::format("genv-slurm cannot be reached at {}: No such file or "
                                         "directory; check that its socket unit runs",
                                         path().string())});
}

TEST_F(SlurmSocketTest, AsksAFewAtATimeAndRefusesAFlood) {
    Helper helper(path(), [](const std::string& /*line*/) { return "{\"done\":true}\n"; });
    SlurmSocket slurm({path(), 10s, 1, 2}, loop);
    for (core::SlurmJobId job = 1; job <= 4; ++job)
        slurm.cancel(job, note());
    loop.run();
    std::ranges::sort(answers);
    EXPECT_EQ(answers, (Texts{"done", "done", "done", "too many requests to Slurm are waiting"}));
    EXPECT_EQ(helper.end().size(), 3U);
}

TEST_F(SlurmSocketTest, DropsWhatIsUnderWayWhenItGoes) {
    const Helper helper(path(), [](const std::string& /*line*/) { return "{\"done\":true}\n"; });
    {
        SlurmSocket slurm(settings(), loop);
        slurm.cancel(1, note());
        SlurmSocket unreachable({folder.path() / "nowhere", 10s, 4, 256}, loop);
        unreachable.cancel(1, note());
    }
    GlibLoop::post([this] { loop.quit(0); });
    loop.run();
    EXPECT_EQ(answers, Texts{});
}

} // namespace
} // namespace genv::service
