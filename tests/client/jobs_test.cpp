// SPDX-License-Identifier: LGPL-2.1-or-later
// What the commands for jobs make of words: arrays, times, names, scripts and options; and what
// they print.
#include "client/genvctl/command_line.hpp"
#include "client/genvctl/common/exit_status.hpp"
#include "client/genvctl/definition/definition.hpp"
#include "client/genvctl/jobs/array_values.hpp"
#include "client/genvctl/jobs/begin_time.hpp"
#include "client/genvctl/jobs/detached_run.hpp"
#include "client/genvctl/jobs/job_names.hpp"
#include "client/genvctl/jobs/job_text.hpp"
#include "client/genvctl/jobs/script.hpp"
#include "client/genvctl/jobs/script_options.hpp"
#include "client/genvctl/jobs/selection.hpp"
#include "client/genvctl/jobs/shell_words.hpp"
#include "client/genvctl/jobs/submit_options.hpp"
#include "client/genvctl/terminal/terminal_text.hpp"
#include "client/jobs/link/jobs_unavailable.hpp"
#include "client/jobs/link/user_bus.hpp"

#include <CLI/CLI.hpp>
#include <gtest/gtest.h>

#include <algorithm>
#include <ctime>
#include <string>
#include <vector>

namespace genv::ctl {

namespace {

using Words = std::vector<std::string>;

ArrayValues arrayOf(const std::string& text) {
    return parseArray(text, [](const std::string& file) { return file + "\n\n{} x\nlast"; });
}

std::string shortly(const std::vector<jobs::TaskValue>& tasks) {
    std::string text;
    for (const jobs::TaskValue& task : tasks)
        text += std::to_string(task.number) + "=" + task.value + ";";
    return text;
}

std::string refusalOf(const auto& function) {
    try {
        function();
    } catch (const Failure& failure) {
        EXPECT_EQ(failure.status(), ExitStatus::Usage);
        return failure.what();
    }
    return "";
}

core::WallTime local(int year, int month, int day, int hour, int minute) {
    std::tm time{};
    time.tm_year = year - 1900;
    time.tm_mon = month - 1;
    time.tm_mday = day;
    time.tm_hour = hour;
    time.tm_min = minute;
    time.tm_isdst = -1;
    return core::WallTime{std::chrono::seconds{std::mktime(&time)}};
}

TEST(JobArrays, AreNumbersRangesWordsOrLines) {
    EXPECT_EQ(shortly(arrayOf("1-3").tasks), "1=1;2=2;3=3;");
    EXPECT_EQ(shortly(arrayOf("0-25:10").tasks), "0=0;10=10;20=20;");
    EXPECT_EQ(shortly(arrayOf("7,1-2").tasks), "1=1;2=2;7=7;");
    EXPECT_EQ(shortly(arrayOf("5").tasks), "5=5;");
    EXPECT_EQ(shortly(arrayOf("a,b b,1-3").tasks), "1=a;2=b b;3=1-3;");
    EXPECT_EQ(shortly(arrayOf("0.1,0.01").tasks), "1=0.1;2=0.01;");
    EXPECT_EQ(shortly(arrayOf("007,1").tasks), "1=007;2=1;");
    EXPECT_EQ(shortly(arrayOf("@lines").tasks), "1=lines;2={} x;3=last;");
    EXPECT_EQ(arrayOf("1-100000").tasks.size(), 100'000U);
    EXPECT_EQ(shortly(arrayOf("4294967295").tasks), "4294967295=4294967295;");
}

TEST(JobArrays, BoundHowManyTasksRunAtOnce) {
    EXPECT_EQ(arrayOf("1-200").parallel, 0U);
    EXPECT_EQ(arrayOf("1-200%8").parallel, 8U);
    EXPECT_EQ(arrayOf("a,b%1").parallel, 1U);
    EXPECT_EQ(arrayOf("@lines%2").parallel, 2U);
    EXPECT_EQ(shortly(arrayOf("50%,x%y").tasks), "1=50%;2=x%y;");
}

TEST(JobArrays, ThatCannotBeAreRefused) {
    for (const char* text : {"", "%8", "@", "1-2%0", "9-1", "1-9:0", "1,1", "1-3,2", "a,,b", ",",
                             "1-1000000", "0-4294967295", "1-60000,70000-120000"})
        EXPECT_NE(refusalOf([&] { arrayOf(text); }), "") << text;
    EXPECT_NE(refusalOf([] { parseArray("@x", [](const std::string&) { return "\n\n"; }); }), "");
    EXPECT_NE(refusalOf([] {
                  parseArray("@x", [](const std::string&) { return std::string("a\0b", 3); });
              }),
              "");
    EXPECT_EQ(refusalOf([] { arrayOf("1-1000000"); }),
              "invalid value \"1-1000000\" for --array: it has 1000000 tasks, expected at most "
              "100000");
}

TEST(JobBegins, AreTimesFromNowOn) {
    const auto now = local(2026, 11, 27, 12, 30);
    EXPECT_EQ(parseBegin("2h", now), now + std::chrono::hours{2});
    EXPECT_EQ(parseBegin("+90min", now), now + std::chrono::minutes{90});
    EXPECT_EQ(parseBegin("now", now), now);
    EXPECT_EQ(parseBegin("22:00", now), local(2026, 11, 27, 22, 0));
    EXPECT_EQ(parseBegin("8:00", now), local(2026, 11, 28, 8, 0));
    EXPECT_EQ(parseBegin("12:30", now), now);
    EXPECT_EQ(parseBegin("tomorrow", now), local(2026, 11, 28, 0, 0));
    EXPECT_EQ(parseBegin("tomorrow 8:00", now), local(2026, 11, 28, 8, 0));
    EXPECT_EQ(parseBegin("today 18:15", now), local(2026, 11, 27, 18, 15));
    EXPECT_EQ(parseBegin("2026-12-01 08:00", now), local(2026, 12, 1, 8, 0));
    EXPECT_EQ(parseBegin("2026-12-01 8:00", now), local(2026, 12, 1, 8, 0));
    EXPECT_EQ(parseBegin("2026-12-01", now), local(2026, 12, 1, 0, 0));
}

TEST(JobBegins, InThePastOrInNoFormAreRefused) {
    const auto now = local(2026, 11, 27, 12, 30);
    for (const char* text : {"yesterday", "-2h", "2h ago", "2020-01-01", "today 8:00", "@0"})
        EXPECT_NE(refusalOf([&] { parseBegin(text, now); }).find("is in the past"),
                  std::string::npos)
            << text;
    for (const char* text :
         {"", "soon", "25:00", "2", "22", "tomorrow 8", "2026-13-01 08:00", "8:00 tomorrow"})
        EXPECT_NE(refusalOf([&] { parseBegin(text, now); }).find("expected 2h, 22:00"),
                  std::string::npos)
            << text;
}

TEST(JobNames, AreJobsTasksAndRanges) {
    EXPECT_TRUE(parseTasks("17").isWhole);
    EXPECT_EQ(parseTasks("17.3").from, 3U);
    EXPECT_TRUE(parseTasks("17.0").isOne());
    EXPECT_TRUE(parseTasks("17.1-20").contains(20));
    EXPECT_FALSE(parseTasks("17.1-20").contains(21));
    for (const char* text : {"", "0", "x", "17.", ".3", "17.3.1", "17.5-2", "17-20", "17.1-", "+1"})
        EXPECT_NE(refusalOf([&] { parseTasks(text); }), "") << text;
    EXPECT_NE(refusalOf([] { parseTask("17.1-20"); }), "");
}

TEST(JobNames, HaveConditionsAfterOthers) {
    const auto after = parseAfter("17,18:fail,19:any,20:ok");
    ASSERT_EQ(after.size(), 4U);
    EXPECT_EQ(after[0], (jobs::Dependency{17, jobs::Condition::Ok}));
    EXPECT_EQ(after[1], (jobs::Dependency{18, jobs::Condition::Fail}));
    EXPECT_EQ(after[2], (jobs::Dependency{19, jobs::Condition::Any}));
    for (const char* text : {"", ",", "x", "17:", "17:done", "17,,18", "0"})
        EXPECT_NE(refusalOf([&] { parseAfter(text); }), "") << text;
}

TEST(ShellWords, AreSplitAsAShellDoes) {
    EXPECT_EQ(shellWords("--gpus 2\t--name 'the night'"),
              (Words{"--gpus", "2", "--name", "the night"}));
    EXPECT_EQ(shellWords("a\"b c\"'d' \"\" e\\ f \"g\\\"h\\i\""),
              (Words{"ab cd", "", "e f", "g\"h\\i"}));
    EXPECT_EQ(shellWords("--gpus 2 # not three"), (Words{"--gpus", "2"}));
    EXPECT_EQ(shellWords(" "), Words{});
    EXPECT_EQ(shellWords("'a"), std::nullopt);
    EXPECT_EQ(shellWords("a\\"), std::nullopt);
}

TEST(JobScripts, HaveOptionsInTheCommentsAtTheirTop) {
    const Script script{"night.sh",
                        "#!/bin/sh\n\n# why\n#genv --gpus 2\r\n  #genv --hold\n#genvious x\n"
                        "echo\n#genv --gpus 3\n"};
    const auto lines = optionLines(script);
    ASSERT_EQ(lines.size(), 2U);
    EXPECT_EQ(lines[0].number, 4U);
    EXPECT_EQ(lines[0].words, (Words{"--gpus", "2"}));
    EXPECT_EQ(lines[1].words, (Words{"--hold"}));
    EXPECT_EQ(refusalOf([] {
                  optionLines({"a.sh", "#!/bin/sh\n#genv 'x\n"});
              }),
              "a.sh:2: a quotation mark is not closed");
}

TEST(JobScripts, AreKeptByteForByteInTheCommand) {
    const Script script{"a {}.sh", "echo {} % %7b %25 \xff {"};
    const Words command = commandOf(script, "/usr/bin/genvctl", {"{}", "b"});
    for (std::size_t i = 0; i < command.size(); ++i)
        EXPECT_EQ(command[i].find("{}") != std::string::npos, i == 4) << command[i];
    EXPECT_EQ(scriptWords(command), (Words{"a {}.sh", "{}", "b"}));
    EXPECT_EQ(scriptWords({"echo", "run-script", "a", "b"}), std::nullopt);
    EXPECT_EQ(scriptWords({"genvctl", "run"}), std::nullopt);
}

TEST(JobScripts, RunByTheInterpreterOfTheirFirstLine) {
    EXPECT_EQ(interpreterOf("echo"), Words{"/bin/sh"});
    EXPECT_EQ(interpreterOf("#!/bin/bash\necho"), Words{"/bin/bash"});
    EXPECT_EQ(interpreterOf("#! /usr/bin/env -S python3 -u \r\nx"),
              (Words{"/usr/bin/env", "-S python3 -u"}));
}

/// A command line "genvctl submit" with these options.
struct Given {
    explicit Given(Words words) {
        options.addTo(app);
        std::ranges::reverse(words);
        app.parse(words);
    }
    Definition app;
    SubmitOptions options;
};

TEST(JobScripts, YieldToTheOptionsOfTheCommandLine) {
    const Script script{"s",
                        "#genv --gpus 2 --lifetime 8h --priority -3\n#genv --retries 1 --hold\n"
                        "#genv --array 1-3 --name 'in it'\n"};
    const Given given({"--gpus", "1", "--priority=-7", "--array", "a,b%1"});
    const jobs::NewJob job = readWithScript(given.app, script);
    EXPECT_EQ(job.request.gpus, 1U);
    EXPECT_EQ(job.request.lifetimeSeconds, 8U * 3600);
    EXPECT_EQ(job.plan.priority, -7);
    EXPECT_EQ(job.plan.retries, 1U);
    EXPECT_TRUE(job.hold);
    EXPECT_EQ(job.name, "in it");
    EXPECT_EQ(shortly(job.tasks), "1=a;2=b;");
    EXPECT_EQ(job.plan.parallel, 1U);
    const Given indices({"--index", "1,3"});
    EXPECT_EQ(readWithScript(indices.app, {"s", "#genv --hold\n"}).request.indices,
              (std::vector<std::uint32_t>{1, 3}));
}

TEST(JobScripts, NameTheLineOfAWrongOption) {
    const Given given({});
    EXPECT_EQ(refusalOf([&] {
                  readWithScript(given.app, {"s", "#genv --hold\n#genv --color red\n"});
              }),
              "s:2: unknown option \"--color\" for \"genvctl submit\"");
    EXPECT_EQ(refusalOf([&] {
                  readWithScript(given.app, {"s", "#genv --gpus 1 echo\n"});
              }),
              "s:1: unexpected argument \"echo\" for \"genvctl submit\"");
    EXPECT_NE(refusalOf([&] { readWithScript(given.app, {"s", "#genv --wait\n"}); }), "");
}

TEST(RunDetach, IsSubmitWhereverTheOptionStands) {
    const auto all = [](const Words& words) {
        return withDetachedRun(words, [](const auto& use) { withCommandLine(use, {"submit"}); });
    };
    const auto changed = [&](const Words& words) { return all(words)[0]; };
    EXPECT_EQ(changed({"run", "--detach", "true"}), "submit");
    EXPECT_EQ(changed({"run", "--gpus", "2", "--detach", "--", "true"}), "submit");
    EXPECT_EQ(changed({"run", "--wait", "2h", "--detach", "true"}), "submit");
    EXPECT_EQ(changed({"run", "--array", "1-3", "--detach", "true"}), "submit");
    EXPECT_EQ(all({"--json=short", "run", "--detach", "true"})[1], "submit");
    EXPECT_EQ(changed({"run", "true", "--detach"}), "run");
    EXPECT_EQ(changed({"run", "--", "--detach"}), "run");
    EXPECT_EQ(changed({"run", "--name", "--detach", "true"}), "run");
    EXPECT_EQ(all({"lock", "run", "--detach"})[0], "lock");
}

jobs::JobRow row(const std::string& state, const std::string& reason = "") {
    jobs::JobRow job;
    job.number = 17;
    job.state = state;
    job.reason = reason;
    job.tasks = 1;
    return job;
}

TEST(JobTexts, SayTheStateInOneLine) {
    const auto now = local(2026, 11, 27, 12, 30);
    jobs::JobRow waiting = row("waiting", "waits for free GPUs");
    waiting.waiting = 1;
    waiting.expected = core::toMicroseconds(local(2026, 11, 27, 22, 5));
    EXPECT_EQ(stateText(waiting, now), "waiting for free GPUs, expected at 22:05");
    EXPECT_EQ(stateText(row("waiting", "earlier tasks are next"), now),
              "waiting: earlier tasks are next");
    EXPECT_EQ(stateText(row("held", "held"), now), "held");
    EXPECT_EQ(stateText(row("running", "starting"), now), "starting");
    EXPECT_EQ(stateText(row("done"), now), "done");
    EXPECT_EQ(stateText(row("failed", "exit status 1"), now), "failed: exit status 1");

    jobs::JobRow array = row("running");
    array.isArray = true;
    array.tasks = 200;
    array.done = 137;
    array.running = 4;
    array.failed = 2;
    array.waiting = 57;
    EXPECT_EQ(stateText(array, now), "137/200 done, 4 running, 2 failed");
    array.running = 0;
    array.state = "waiting";
    array.reason = "waits for job 5";
    EXPECT_EQ(stateText(array, now), "137/200 done, 2 failed, waiting for job 5");
}

TEST(JobTexts, FitATerminalOf80Columns) {
    std::vector<jobs::JobRow> rows{row("waiting", std::string(90, 'r')), row("done"), row("lost")};
    rows[0].name = std::string(64, 'n');
    rows[1].command = "a\x1b[2J" + std::string(100, 'c');
    rows[2].number = 4294967295;
    Table table = jobsTable(rows, local(2026, 11, 27, 12, 30));
    table.fit(80);
    const std::string text = table.text(true);
    for (std::size_t begin = 0; begin < text.size(); begin = text.find('\n', begin) + 1)
        EXPECT_LE(cells(text.substr(begin, text.find('\n', begin) - begin)), 80U);
    EXPECT_EQ(text.find('\x1b'), std::string::npos);
}

TEST(JobStatuses, AreTheWorst) {
    jobs::JobRow job = row("failed", "exit status 7");
    job.status = 7;
    EXPECT_EQ(ctl::statusOf(job), 7);
    EXPECT_EQ(ctl::statusOf(row("done")), 0);
    EXPECT_EQ(ctl::statusOf(row("lost")), 1);
    EXPECT_EQ(ctl::statusOf(row("canceled")), 1);
}

TEST(UserBus, IsTheAddressElseTheSocketOfTheManager) {
    EXPECT_EQ(jobs::userBusAddresses(nullptr, 1001), (Words{"unix:path=/run/user/1001/bus"}));
    EXPECT_EQ(jobs::userBusAddresses("", 1001), (Words{"unix:path=/run/user/1001/bus"}));
    EXPECT_EQ(jobs::userBusAddresses("unix:path=/run/user/1001/bus", 1001).size(), 1U);
    EXPECT_EQ(jobs::userBusAddresses("unix:path=/x", 1001),
              (Words{"unix:path=/x", "unix:path=/run/user/1001/bus"}));
}

TEST(UserBus, IsMissedWithAWayOut) {
    const auto hint = [](bool isBooted, bool hasFolder) {
        return jobs::noUserBus("unix:path=/x", "no such file", {isBooted, hasFolder, "alice"})
            .hint();
    };
    EXPECT_NE(hint(false, false).find("nohup genvctl run --wait"), std::string::npos);
    EXPECT_NE(hint(true, false).find("loginctl enable-linger alice"), std::string::npos);
    EXPECT_NE(hint(true, true).find("dbus-user-session"), std::string::npos);
    EXPECT_TRUE(jobs::meansUnavailable("org.freedesktop.DBus.Error.Spawn.ChildExited"));
    EXPECT_FALSE(jobs::meansUnavailable("dev.genv.Error.NoSuchJob"));
    EXPECT_FALSE(jobs::meansUnavailable("org.freedesktop.DBus.Error.NotSupported"));
    const auto masked = jobs::notReached("org.freedesktop.systemd1.UnitMasked", "Unit is masked.");
    EXPECT_NE(masked.hint().find("systemctl --user unmask genv-jobs"), std::string::npos);
}

} // namespace

} // namespace genv::ctl
