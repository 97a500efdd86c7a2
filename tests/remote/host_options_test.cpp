// SPDX-License-Identifier: LGPL-2.1-or-later
// The options of "genvctl remote", and the exit status for the results of the hosts. No ssh runs.
#include "client/genvctl/common/exit_status.hpp"
#include "client/genvctl/definition/definition.hpp"
#include "client/genvctl/remote/remote_hosts.hpp"

#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>

namespace genv::ctl {
namespace {

using remote::HostFailure;
using remote::Trouble;

constexpr auto unnamed = std::nullopt;

HostOptions parsed(std::vector<std::string> arguments) {
    Definition app;
    HostOptions options;
    options.addTo(app);
    std::reverse(arguments.begin(), arguments.end());
    app.parse(std::move(arguments));
    return options;
}

std::vector<remote::Host> listed(std::vector<std::string> arguments) {
    return parsed(std::move(arguments)).list({});
}

ExitStatus statusOf(const std::function<void()>& call) {
    try {
        call();
    } catch (const Failure& failure) {
        return failure.status();
    }
    return ExitStatus::Ok;
}

ExitStatus listingStatus(const std::vector<std::string>& arguments) {
    return statusOf([&] { (void)listed(arguments); });
}

TEST(HostOptions, NameHostsOnceAndWithTheirUsers) {
    EXPECT_EQ(listed({"-H", "h1,bob@h2:2222,h1"}),
              (std::vector<remote::Host>{{"h1", unnamed, unnamed}, {"h2", "bob", 2222}}));
    EXPECT_EQ(listed({"--host=h1"}).size(), 1U);
}

TEST(HostOptions, AUserIsOfThoseThatNameNone) {
    EXPECT_EQ(listed({"-l", "alice", "-H", "h1,bob@h2"}),
              (std::vector<remote::Host>{{"h1", "alice", unnamed}, {"h2", "bob", unnamed}}));
}

TEST(HostOptions, AHostThatTheUserMakesAnothersTwinIsAskedOnce) {
    EXPECT_EQ(listed({"--username", "alice", "-H", "alice@h1,h1"}),
              (std::vector<remote::Host>{{"h1", "alice", unnamed}}));
}

TEST(HostOptions, ReadAFile) {
    const std::string path = testing::TempDir() + "genv-options-hosts";
    std::ofstream(path) << "h1 # one\nh2\n";
    EXPECT_EQ(listed({"--hostfile", path, "-l", "alice"}),
              (std::vector<remote::Host>{{"h1", "alice", unnamed}, {"h2", "alice", unnamed}}));
    EXPECT_EQ(listingStatus({"--hostfile", path, "-H", "h1"}), ExitStatus::Usage);
    std::remove(path.c_str());
    EXPECT_EQ(listingStatus({"--hostfile", path}), ExitStatus::Usage);
}

TEST(HostOptions, TakeTheHostThatStandsBeforeTheCommand) {
    const std::string ofGlobalOption = "h1,h2";
    EXPECT_EQ(parsed({}).list(ofGlobalOption).size(), 2U);
    EXPECT_EQ(parsed({"-H", "h3"}).list(ofGlobalOption).size(), 1U);
}

TEST(HostOptions, AreWrongWithoutHostsOrWithWhatIsNone) {
    EXPECT_EQ(listingStatus({}), ExitStatus::Usage);
    EXPECT_EQ(listingStatus({"-H", ""}), ExitStatus::Usage);
    EXPECT_EQ(listingStatus({"-H", "h1,-oProxyCommand=id"}), ExitStatus::Usage);
    for (const char* user : {"-oX=y", "a b", "a;id", "a\x1b", "a:22"})
        EXPECT_EQ(listingStatus({"-H", "h1", "-l" + std::string(user)}), ExitStatus::Usage) << user;
}

TEST(HostOptions, TimesAreAtLeastASecond) {
    EXPECT_EQ(parsed({}).deadline(), std::chrono::seconds{10});
    EXPECT_EQ(parsed({"-t", "3"}).deadline(), std::chrono::seconds{3});
    EXPECT_EQ(parsed({"--timeout", "1min 30s"}).deadline(), std::chrono::seconds{90});
    for (const char* time : {"0", "soon", "1.5.2", "99999999999999999999"})
        EXPECT_EQ(statusOf([&] { (void)parsed({"--timeout=" + std::string(time)}).deadline(); }),
                  ExitStatus::Usage)
            << time;
}

/// Returns the output on standard error.
std::string errorOutputOf(const std::function<void()>& call) {
    testing::internal::CaptureStderr();
    call();
    return testing::internal::GetCapturedStderr();
}

/// Queries the hosts "ok..." and "fails..."; the latter fail with this trouble.
std::vector<std::string> asked(const HostOptions& options, Trouble trouble = Trouble::TimedOut) {
    std::vector<std::string> answers;
    for (const auto& one : askHosts<std::string>(
             options, options.list({}),
             [&](const remote::Host&host, const remote::SshBounds&) -> std::string {
                 if (host.name.starts_with("fails"))
                     throw HostFailure(trouble, "what happened", "What to do.");
                 return host.name;
             }))
        answers.push_back(*one.value);
    return answers;
}

TEST(AskHosts, TellsByNameOfThoseThatFailAndReturnsTheOthersInOrder) {
    std::vector<std::string> answers;
    const std::string text = errorOutputOf([&] {
        answers = asked(parsed({"-H", "ok2,fails,ok1"}));
    });
    EXPECT_EQ(answers, (std::vector<std::string>{"ok2", "ok1"}));
    EXPECT_NE(text.find(": fails: what happened\nWhat to do.\n"), std::string::npos) << text;
    EXPECT_EQ(text.find("ok"), std::string::npos) << text;
}

TEST(AskHosts, TellsOfNothingWhenQuiet) {
    EXPECT_EQ(errorOutputOf([] { asked(parsed({"-q", "-H", "ok,fails"})); }), "");
    EXPECT_EQ(errorOutputOf([] {
                  EXPECT_EQ(statusOf([] {
                                asked(parsed({"-q", "-H", "fails"}));
                            }),
                            ExitStatus::NoService);
              }),
              "");
}

TEST(AskHosts, EndsAsAllHostsDidWhereNoneAnswers) {
    const auto status = [](Trouble trouble) {
        ExitStatus found = ExitStatus::Ok;
        errorOutputOf([&] {
            found = statusOf([&] { asked(parsed({"-H", "fails1,fails2"}), trouble); });
        });
        return found;
    };
    EXPECT_EQ(status(Trouble::Unreachable), ExitStatus::NoService);
    EXPECT_EQ(status(Trouble::TimedOut), ExitStatus::NoService);
    EXPECT_EQ(status(Trouble::NoService), ExitStatus::NoService);
    EXPECT_EQ(status(Trouble::NotAuthorized), ExitStatus::NotAuthorized);
    EXPECT_EQ(status(Trouble::Failed), ExitStatus::Failed);
    EXPECT_EQ(noHostAnswered({HostFailure(Trouble::Unreachable, "what"),
                              HostFailure(Trouble::NotAuthorized, "what")})
                  .status(),
              ExitStatus::Failed);
}

TEST(AskHosts, EndsWithTheFirstFailureWhereThatIsWanted) {
    const std::string text = errorOutputOf([] {
        try {
            asked(parsed({"-e", "-H", "ok,fails"}));
            FAIL();
        } catch (const Failure& failure) {
            EXPECT_EQ(failure.status(), ExitStatus::NoService);
            EXPECT_STREQ(failure.what(), "fails: what happened");
            EXPECT_EQ(failure.hint(), "What to do.");
        }
    });
    EXPECT_EQ(text, ""); // the end of the command reports it
    EXPECT_EQ(asked(parsed({"-e", "-H", "ok"})).size(), 1U);
}

TEST(AskEachHost, KeepsThoseThatFailed) {
    errorOutputOf([] {
        const HostOptions options = parsed({"-H", "fails,ok"});
        const auto all =
            askEachHost<int>(options, options.list({}),
                             [](const remote::Host& host, const remote::SshBounds&) -> int {
                                 if (host.name == "fails")
                                     throw HostFailure(Trouble::NoService, "what happened");
                                 return 1;
                             });
        ASSERT_EQ(all.size(), 2U);
        ASSERT_TRUE(all[0].failure);
        EXPECT_EQ(all[0].failure->trouble(), Trouble::NoService);
        EXPECT_EQ(all[1].value, 1);
    });
}

} // namespace
} // namespace genv::ctl
