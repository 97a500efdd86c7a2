// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/genvctl/cluster/cluster_option_table.hpp"

#include <algorithm>
#include <array>

namespace genv::ctl::cluster {

namespace {

constexpr const char* oneMachine = "it is about the genvd of one machine";
constexpr const char* slurmDecides = "Slurm alone decides which job has which GPU";

struct CommandRow {
    std::string_view command;
    std::string_view subcommand; ///< empty for the command itself
    Meaning meaning;
};

constexpr std::array commandRows{
    CommandRow{"run", "", {Handling::Mapped}},
    CommandRow{"activate", "", {Handling::Mapped}},
    CommandRow{"deactivate", "", {Handling::Mapped}},
    CommandRow{"extend", "", {Handling::Mapped}},
    CommandRow{"queue", "", {Handling::Mapped}},
    CommandRow{"devices", "", {Handling::Mapped}},
    CommandRow{"devices", "ps", {Handling::Mapped}},
    CommandRow{"envs", "", {Handling::Mapped}},
    CommandRow{"envs", "ps", {Handling::Mapped}},
    CommandRow{"top", "", {Handling::Itself}},
    CommandRow{"park",
               "",
               {Handling::Refused, "genv does not park Slurm's jobs",
                "\"scontrol suspend\" and \"scontrol requeue\" are Slurm's own ways."}},
    CommandRow{"resume",
               "",
               {Handling::Refused, "genv does not park Slurm's jobs",
                "\"scontrol resume JOBID\" resumes a job that Slurm suspended."}},
    CommandRow{"attach",
               "",
               {Handling::Refused,
                "Slurm gives a job its GPUs when it starts, and no more of them later",
                "Start another job: \"genv activate --gpus N\" or \"genvctl run --gpus N -- "
                "COMMAND\"."}},
    CommandRow{"detach",
               "",
               {Handling::Refused, "a Slurm job keeps its GPUs until it ends",
                "End the job with \"genvctl deactivate --id slurm-JOBID\", and start one with "
                "fewer GPUs."}},
    CommandRow{
        "devices",
        "query",
        {Handling::Refused, oneMachine, "\"genvctl devices --json\" has the GPUs of the cluster."}},
    CommandRow{
        "devices",
        "find",
        {Handling::Refused, oneMachine, "\"genvctl devices --json\" has the GPUs of the cluster."}},
    CommandRow{
        "devices",
        "attach",
        {Handling::Refused, slurmDecides, "\"genvctl run --gpus N -- COMMAND\" asks for GPUs."}},
    CommandRow{
        "devices",
        "detach",
        {Handling::Refused, slurmDecides, "\"genvctl deactivate --id slurm-JOBID\" ends a job."}},
    CommandRow{
        "envs",
        "query",
        {Handling::Refused, oneMachine, "\"genvctl envs --json\" has the jobs of the cluster."}},
    CommandRow{"envs", "find", {Handling::Refused, oneMachine, "Run it on the node of the job."}},
    CommandRow{"envs",
               "activate",
               {Handling::Refused, slurmDecides, "\"genv activate --gpus N\" starts a job."}},
    CommandRow{"envs",
               "deactivate",
               {Handling::Refused, "it is about processes of one machine",
                "\"genvctl deactivate --id slurm-JOBID\" ends a job."}},
    CommandRow{"envs",
               "config",
               {Handling::Refused, "only Slurm changes a job",
                "\"scontrol update JobId=JOBID\" changes one."}},
    CommandRow{"submit", "", {Handling::UserJobs}},
    CommandRow{"jobs", "", {Handling::UserJobs}},
    CommandRow{"job", "", {Handling::UserJobs}},
    CommandRow{"logs", "", {Handling::UserJobs}},
    CommandRow{"wait", "", {Handling::UserJobs}},
    CommandRow{"cancel", "", {Handling::UserJobs}},
    CommandRow{"hold", "", {Handling::UserJobs}},
    CommandRow{"release", "", {Handling::UserJobs}},
    CommandRow{"requeue", "", {Handling::UserJobs}},
};

struct OptionRow {
    std::string_view command; ///< empty for all commands
    std::string_view option;
    Meaning meaning;
};

constexpr std::array optionRows{
    OptionRow{"", "--help", {Handling::Nothing}},
    OptionRow{"", "--name", {Handling::Mapped}},
    OptionRow{"", "--gpus", {Handling::Mapped}},
    OptionRow{"", "--gpu-memory", {Handling::Mapped}},
    OptionRow{"", "--model", {Handling::Mapped}},
    OptionRow{"", "--wait", {Handling::Mapped}},
    OptionRow{"", "--lifetime", {Handling::Mapped}},
    OptionRow{"",
              "--priority",
              {Handling::Refused, "Slurm orders the jobs of a cluster itself",
               "Leave it out, or change the job with \"scontrol update JobId=JOBID Nice=N\"."}},
    OptionRow{"",
              "--index",
              {Handling::Refused, "Slurm chooses the GPUs of a job",
               "Ask for a number of them with --gpus, and for a model with --model."}},
    OptionRow{"",
              "--uuid",
              {Handling::Refused, "Slurm chooses the GPUs of a job, and knows no UUIDs",
               "Ask for a number of them with --gpus, and for a model with --model."}},
    OptionRow{"",
              "--preemptible",
              {Handling::Refused, "genv does not park Slurm's jobs",
               "Leave it out, or use a partition or QOS that Slurm preempts."}},
    OptionRow{"",
              "--over-subscribe",
              {Handling::Refused, "Slurm shares no GPU that a job has as a whole",
               "Ask for a part of one with --gpu-memory, where the cluster has shards."}},
    OptionRow{"",
              "--allow-over-subscribe",
              {Handling::Refused, "Slurm shares no GPU that a job has as a whole",
               "Leave it out, or ask for a part of one with --gpu-memory."}},
    OptionRow{"",
              "--nvml-filter",
              {Handling::Refused,
               "a job on a node sees its own GPUs only, where ConstrainDevices=yes",
               "Leave it out, or use it in the job: \"genvctl run --gpus 1 -- genvctl run "
               "--nvml-filter -- COMMAND\"."}},
    OptionRow{"",
              "--within",
              {Handling::Refused, "it divides the GPUs of an environment on this machine",
               "Use it in a job, where it is about the job's GPUs."}},
    OptionRow{"", "--no-within", {Handling::Nothing}},
    OptionRow{"deactivate", "--id", {Handling::Mapped}},
    OptionRow{"deactivate", "--kill", {Handling::Nothing}}, // scancel ends the processes anyway
    OptionRow{"extend", "--id", {Handling::Mapped}},
    OptionRow{"extend", "TIME", {Handling::Mapped}},
    OptionRow{"extend",
              "--no-end",
              {Handling::Refused, "Slurm ends each job at its time limit",
               "\"genvctl extend --id slurm-JOBID TIME\" extends the time limit."}},
    OptionRow{"",
              "--id",
              {Handling::Refused, "a running Slurm job cannot be joined this way",
               "\"srun --jobid=JOBID --overlap --pty $SHELL\" starts a shell in your job."}},
    OptionRow{"queue",
              "--why",
              {Handling::Refused, "Slurm orders the jobs of a cluster itself",
               "\"squeue --start\" and \"sprio\" tell why a job waits."}},
    OptionRow{"queue",
              "--cancel",
              {Handling::Refused, "Slurm's queue holds jobs, which have no tickets",
               "\"genvctl deactivate --id slurm-JOBID\" takes a job out of it; with \"--cluster "
               "none\" the ticket is one of this machine's."}},
    OptionRow{"activate", "--no-attach", {Handling::Mapped}},
    OptionRow{"activate", "--no-load", {Handling::Mapped}},
    OptionRow{"", "--no-prompt", {Handling::Nothing}}, // on a node, the prompt has no marker
    OptionRow{"run", "COMMAND", {Handling::Mapped}},
    OptionRow{"run", "--login", {Handling::Mapped}},
    OptionRow{"run",
              "--detach",
              {Handling::Refused, "it must come before the command",
               "\"genvctl run --detach --gpus N -- COMMAND\" submits a job."}},
    OptionRow{"submit", "--detach", {Handling::Mapped}},
    OptionRow{"submit", "COMMAND", {Handling::Mapped}},
    OptionRow{"submit", "--array", {Handling::Mapped}},
    OptionRow{"submit", "--after", {Handling::Mapped}},
    OptionRow{"submit", "--begin", {Handling::Mapped}},
    OptionRow{"submit", "--output", {Handling::Mapped}},
    OptionRow{"submit", "--cpus", {Handling::Mapped}},
    OptionRow{"submit", "--memory", {Handling::Mapped}},
    OptionRow{"submit", "--hold", {Handling::Mapped}},
    OptionRow{"submit",
              "--retries",
              {Handling::Refused, "Slurm runs a job again by itself only if its node fails",
               "Leave it out; \"genvctl requeue JOB\" runs the tasks that failed again."}},
    OptionRow{"submit", "--login", {Handling::Nothing}}, // "submit" itself refuses it
    OptionRow{"", "--json", {Handling::Mapped}},
    OptionRow{"jobs", "--all", {Handling::Mapped}},
    OptionRow{"jobs",
              "--machines",
              {Handling::Refused, "Slurm has one list for all its machines",
               "\"genvctl jobs\" shows it; with \"--cluster none\" it is about your home."}},
    OptionRow{"", "JOB", {Handling::Mapped}},
    OptionRow{"logs", "--follow", {Handling::Mapped}},
    OptionRow{"logs", "--tail", {Handling::Mapped}},
    // "genvctl remote" runs these commands on a host, for the GPUs of that host.
    OptionRow{"run", "--hold", {Handling::ThisMachine}},
    OptionRow{"run", "--take-over", {Handling::ThisMachine}},
    OptionRow{"", "--no-header", {Handling::Mapped}},
    OptionRow{"", "--format", {Handling::Mapped}},
    OptionRow{"", "--timestamp", {Handling::Mapped}},
    OptionRow{"", "--wide", {Handling::Mapped}},
    OptionRow{"", "--no-cleanup", {Handling::Nothing}},
    OptionRow{"",
              "--reset",
              {Handling::Refused, "it would end the jobs of all users",
               "\"scancel\" ends the jobs that you name."}},
};

struct HintRow {
    std::string_view command;
    const char* hint;
};

constexpr std::array hintRows{
    HintRow{"history", "\"sacct\" shows the jobs of the past."},
    HintRow{"report", "\"sreport\" sums up the use of each user."},
    HintRow{"limits",
            "\"sacctmgr show assoc\" and \"scontrol show partition\" show Slurm's limits."},
    HintRow{"enforce", "Slurm enforces limits of its own."},
    HintRow{"terminate", "\"genvctl deactivate --id slurm-JOBID\" ends a job."},
    HintRow{"events", "\"squeue --iterate=5\" shows the jobs as they change."},
    HintRow{"monitor", "Run it on each node, or \"genvctl remote monitor\" for all of them."},
    HintRow{"usage", "\"genvctl devices --json\" has the GPUs of the cluster."},
    HintRow{"lock", "Use it in a job."},
    HintRow{"jupyter", "Start Jupyter in a job: \"genvctl run --gpus 1 -- jupyter lab\"."},
};

} // namespace

Meaning meaningOf(std::string_view command, std::string_view subcommand) {
    const auto found =
        std::find_if(commandRows.begin(), commandRows.end(), [&](const CommandRow& row) {
            return row.command == command && row.subcommand == subcommand;
        });
    return found == commandRows.end() ? Meaning{Handling::ThisMachine} : found->meaning;
}

const Meaning* meaningOfOption(std::string_view command, std::string_view option) {
    const auto found =
        std::find_if(optionRows.begin(), optionRows.end(), [&](const OptionRow& row) {
            return row.option == option && (row.command.empty() || row.command == command);
        });
    return found == optionRows.end() ? nullptr : &found->meaning;
}

const char* clusterHintFor(std::string_view command) {
    const auto found = std::find_if(hintRows.begin(), hintRows.end(),
                                    [&](const HintRow& row) { return row.command == command; });
    return found == hintRows.end() ? "Leave --cluster out." : found->hint;
}

} // namespace genv::ctl::cluster
