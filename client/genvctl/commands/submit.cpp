// SPDX-License-Identifier: LGPL-2.1-or-later
// submit: records a command or a script as a job.
#include "client/genvctl/commands/commands.hpp"
#include "client/genvctl/context/context.hpp"
#include "client/genvctl/definition/definition.hpp"
#include "client/genvctl/jobs/job_system.hpp"
#include "client/genvctl/jobs/submit_options.hpp"
#include "client/genvctl/options/json_option.hpp"
#include "client/genvctl/shell/execution.hpp"
#include "client/genvctl/shell/variables.hpp"
#include "client/genvctl/terminal/terminal.hpp"
#include "client/genvctl/terminal/terminal_text.hpp"
#include "core/sentences/sentences.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <memory>
#include <string_view>

namespace genv::ctl {

namespace {

// The variables describe the environment of the submitting shell; a job has one of its own.
bool isOfSubmittingShell(std::string_view variable) {
    return variable.starts_with("GENV_") || variable.starts_with("CUDA_VISIBLE_DEVICES=");
}

std::vector<std::string> variablesForJob(bool nvmlFilter) {
    std::vector<std::string> variables;
    const auto filter = nvmlFilter ? std::optional(nvmlFilterVariable()) : std::nullopt;
    const std::string replaced = filter ? filter->name + '=' : "";
    for (char** entry = environ; *entry != nullptr; ++entry) {
        const std::string_view variable = *entry;
        const bool isVariable = variable.find('=', 1) != std::string_view::npos;
        if (isVariable && !isOfSubmittingShell(variable) &&
            (replaced.empty() || !variable.starts_with(replaced)))
            variables.emplace_back(variable);
    }
    if (filter && filter->value)
        variables.push_back(replaced + *filter->value);
    return variables;
}

std::string folderOfSubmission() {
    const std::unique_ptr<char, void (*)(void*)> name(get_current_dir_name(), std::free);
    if (!name)
        throw Failure(ExitStatus::Failed, "the working folder no longer exists",
                      "Change to a folder that exists.");
    return name.get();
}

std::uint32_t currentUmask() {
    const mode_t mask = umask(0);
    umask(mask);
    return mask;
}

void tellLingering(jobs::LingeringChange lingering) {
    if (lingering == jobs::LingeringChange::Enabled)
        printNoteForPerson("Your jobs go on after you log out.");
    else if (lingering == jobs::LingeringChange::Refused)
        warn("your jobs end when you log out: lingering was refused",
             "Ask an administrator for \"loginctl enable-linger\", or stay logged in.");
}

const char* wordOf(jobs::LingeringChange lingering) {
    return lingering == jobs::LingeringChange::Enabled   ? "enabled"
           : lingering == jobs::LingeringChange::Refused ? "refused"
                                                         : "unchanged";
}

void printSubmitted(const GlobalOptions& global, const jobs::NewJob& job,
                    const jobs::Submitted& submitted) {
    tellLingering(submitted.lingering);
    const std::size_t tasks = job.isArray ? job.tasks.size() : 1;
    if (printJson(
            global,
            {{"job", submitted.job}, {"tasks", tasks}, {"lingering", wordOf(submitted.lingering)}}))
        return;
    if (!terminalWidth())
        print(fmt::format("{}\n", submitted.job));
    else if (job.isArray)
        print(fmt::format("Job {} submitted: {}\n", submitted.job, core::counted(tasks, "task")));
    else
        print(fmt::format("Job {} submitted\n", submitted.job));
}

void submit(Context& context, const SubmitOptions& options, const CLI::App& command,
            const std::vector<std::string>& words) {
    options.check(command);
    const auto system = context.openJobs();
    Work work = readWork(command, words, options.detach,
                         [&](const CLI::App& all) { system->requireOptions(all); });
    work.job.folder = folderOfSubmission();
    work.job.umask = currentUmask();
    work.job.environment = variablesForJob(options.wanted.nvmlFilter);
    printSubmitted(context.options, work.job, system->submit(work));
}

} // namespace

constexpr std::array submitExamples{
    Example{"Train overnight, for at most eight hours on one GPU",
            "genvctl submit --lifetime 8h -- python train.py"},
    Example{"Run a task for each of 200 numbers, eight at once",
            "genvctl submit --array 1-200%8 -- python train.py --seed {}"},
    Example{"Use GPUs that nobody else needs",
            "genvctl submit --preemptible --array 1-40 -- python train.py --seed {}"},
    Example{"Start a script after job 17 has succeeded", "genvctl submit --after 17 evaluate.sh"},
};

void addSubmit(CLI::App& app, Context& context) {
    CLI::App* command =
        addCommand(app, "submit", "Submit a command or script as a job",
                   {.onCluster = cluster::aboutUserJobs, .examples = submitExamples});
    const auto options = std::make_shared<SubmitOptions>();
    options->addTo(*command);
    addJsonOption(*command, context.options.json)->group(""); // in the help of all commands
    command->footer(
        "The job waits for its GPUs, runs, and writes its output to a log, also after you\n"
        "log out. It gets one GPU, or as many as your own .genv says. Without \"--\",\n"
        "COMMAND is the file of a script, or \"-\" for standard input; lines\n"
        "\"#genv OPTION...\" at its top are options. In an array, {} in the command and\n"
        "$GENV_ARRAY_TASK are the value of the task.\n"
        "\n"
        "Prints only the number of the job if standard output is not a terminal.");
    takeEverythingFromTheCommandOn(*command, "Submit COMMAND, or the script in this file",
                                   ValueKind::File);
    command->callback([&context, options, command] {
        const std::vector<std::string> words = command->remaining();
        context.command = [&context, options, command, words] {
            submit(context, *options, *command, words);
        };
    });
}

} // namespace genv::ctl
