// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/genvctl/cluster/option_table.hpp"

#include <algorithm>
#include <array>

namespace genv::ctl::cluster {

namespace {

constexpr const char* oneMachine = "it is about the genvd of one machine";
constexpr const char* jobsAreHere = "it is about the jobs of one machine, and Slurm has its own";
constexpr const char* slurmDecides = "Slurm alone decides which job has which GPU";

struct CommandRow {
    std::string_view command;
    std::string_view subcommand; ///< empty for the command itself
    Meaning meaning;
};

constexpr std::array commandRows{
    CommandRow{"run", "", {Use::Mapped}},
    CommandRow{"activate", "", {Use::Mapped}},
    CommandRow{"deactivate", "", {Use::Mapped}},
    CommandRow{"extend", "", {Use::Mapped}},
    CommandRow{"queue", "", {Use::Mapped}},
    CommandRow{"devices", "", {Use::Mapped}},
    CommandRow{"devices", "ps", {Use::Mapped}},
    CommandRow{"envs", "", {Use::Mapped}},
    CommandRow{"envs", "ps", {Use::Mapped}},
    CommandRow{"top", "", {Use::Itself}},
    CommandRow{"attach",
               "",
               {Use::Refused,
                "Slurm gives a job its GPUs when it starts, and no more of them later",
                "Start another job: \"genv activate --gpus N\" or \"genvctl run --gpus N -- "
                "COMMAND\"."}},
    CommandRow{"detach",
               "",
               {Use::Refused, "a Slurm job keeps its GPUs until it ends",
                "End the job with \"genvctl deactivate --id slurm-JOBID\", and start one with "
                "fewer GPUs."}},
    CommandRow{
        "devices",
        "query",
        {Use::Refused, oneMachine, "\"genvctl devices --json\" has the GPUs of the cluster."}},
    CommandRow{
        "devices",
        "find",
        {Use::Refused, oneMachine, "\"genvctl devices --json\" has the GPUs of the cluster."}},
    CommandRow{"devices",
               "attach",
               {Use::Refused, slurmDecides, "\"genvctl run --gpus N -- COMMAND\" asks for GPUs."}},
    CommandRow{"devices",
               "detach",
               {Use::Refused, slurmDecides, "\"genvctl deactivate --id slurm-JOBID\" ends a job."}},
    CommandRow{"envs",
               "query",
               {Use::Refused, oneMachine, "\"genvctl envs --json\" has the jobs of the cluster."}},
    CommandRow{"envs", "find", {Use::Refused, oneMachine, "Run it on the node of the job."}},
    CommandRow{"envs",
               "activate",
               {Use::Refused, slurmDecides, "\"genv activate --gpus N\" starts a job."}},
    CommandRow{"envs",
               "deactivate",
               {Use::Refused, "it is about processes of one machine",
                "\"genvctl deactivate --id slurm-JOBID\" ends a job."}},
    CommandRow{
        "envs",
        "config",
        {Use::Refused, "only Slurm changes a job", "\"scontrol update JobId=JOBID\" changes one."}},
    CommandRow{"submit",
               "",
               {Use::Refused, jobsAreHere,
                "\"sbatch --gpus N --wrap COMMAND\" submits a job; --array, --dependency and "
                "--begin are its "
                "options, too."}},
    CommandRow{"jobs",
               "",
               {Use::Refused, jobsAreHere,
                "\"squeue --me\" lists your jobs, and \"sacct\" those that ended."}},
    CommandRow{
        "job", "", {Use::Refused, jobsAreHere, "\"scontrol show job JOBID\" describes a job."}},
    CommandRow{
        "logs",
        "",
        {Use::Refused, jobsAreHere, "\"tail -f slurm-JOBID.out\" follows the output of a job."}},
    CommandRow{"wait",
               "",
               {Use::Refused, jobsAreHere, "\"sbatch --wait\" waits until the job has ended."}},
    CommandRow{"cancel", "", {Use::Refused, jobsAreHere, "\"scancel JOBID\" ends a job."}},
    CommandRow{"hold", "", {Use::Refused, jobsAreHere, "\"scontrol hold JOBID\" holds a job."}},
    CommandRow{
        "release", "", {Use::Refused, jobsAreHere, "\"scontrol release JOBID\" releases a job."}},
    CommandRow{
        "requeue", "", {Use::Refused, jobsAreHere, "\"scontrol requeue JOBID\" runs a job again."}},
};

struct OptionRow {
    std::string_view command; ///< empty for all commands
    std::string_view option;
    Meaning meaning;
};

constexpr std::array optionRows{
    OptionRow{"", "--help", {Use::Nothing}},
    OptionRow{"", "--name", {Use::Mapped}},
    OptionRow{"", "--gpus", {Use::Mapped}},
    OptionRow{"", "--gpu-memory", {Use::Mapped}},
    OptionRow{"", "--model", {Use::Mapped}},
    OptionRow{"", "--wait", {Use::Mapped}},
    OptionRow{"", "--lifetime", {Use::Mapped}},
    OptionRow{"",
              "--priority",
              {Use::Refused, "Slurm orders the jobs of a cluster itself",
               "Leave it out, or change the job with \"scontrol update JobId=JOBID Nice=N\"."}},
    OptionRow{"",
              "--index",
              {Use::Refused, "Slurm chooses the GPUs of a job",
               "Ask for a number of them with --gpus, and for a model with --model."}},
    OptionRow{"",
              "--uuid",
              {Use::Refused, "Slurm chooses the GPUs of a job, and knows no UUIDs",
               "Ask for a number of them with --gpus, and for a model with --model."}},
    OptionRow{"",
              "--over-subscribe",
              {Use::Refused, "Slurm shares no GPU that a job has as a whole",
               "Ask for a part of one with --gpu-memory, where the cluster has shards."}},
    OptionRow{"",
              "--allow-over-subscribe",
              {Use::Refused, "Slurm shares no GPU that a job has as a whole",
               "Leave it out, or ask for a part of one with --gpu-memory."}},
    OptionRow{"",
              "--nvml-filter",
              {Use::Refused, "a job on a node sees its own GPUs only, where ConstrainDevices=yes",
               "Leave it out, or use it in the job: \"genvctl run --gpus 1 -- genvctl run "
               "--nvml-filter -- COMMAND\"."}},
    OptionRow{"",
              "--within",
              {Use::Refused, "it divides the GPUs of an environment on this machine",
               "Use it in a job, where it is about the job's GPUs."}},
    OptionRow{"", "--no-within", {Use::Nothing}},
    OptionRow{"deactivate", "--id", {Use::Mapped}},
    OptionRow{"deactivate", "--kill", {Use::Nothing}}, // scancel ends the processes anyway
    OptionRow{"extend", "--id", {Use::Mapped}},
    OptionRow{"extend", "TIME", {Use::Mapped}},
    OptionRow{"extend",
              "--no-end",
              {Use::Refused, "Slurm ends each job at its time limit",
               "\"genvctl extend --id slurm-JOBID TIME\" extends the time limit."}},
    OptionRow{"",
              "--id",
              {Use::Refused, "a running Slurm job cannot be joined this way",
               "\"srun --jobid=JOBID --overlap --pty $SHELL\" starts a shell in your job."}},
    OptionRow{"queue",
              "--why",
              {Use::Refused, "Slurm orders the jobs of a cluster itself",
               "\"squeue --start\" and \"sprio\" tell why a job waits."}},
    OptionRow{"queue",
              "--cancel",
              {Use::Refused, "Slurm's queue holds jobs, which have no tickets",
               "\"genvctl deactivate --id slurm-JOBID\" takes a job out of it; with \"--cluster "
               "none\" the ticket is one of this machine's."}},
    OptionRow{"activate", "--no-attach", {Use::Mapped}},
    OptionRow{"activate", "--no-load", {Use::Mapped}},
    OptionRow{"", "--no-prompt", {Use::Nothing}}, // on a node, the prompt has no marker
    OptionRow{"run", "COMMAND", {Use::Mapped}},
    OptionRow{"run", "--login", {Use::Mapped}},
    OptionRow{"run", "--detach", {Use::Refused, jobsAreHere, "\"sbatch\" submits a job."}},
    // "genvctl remote" runs these commands on a host, for the GPUs of that host.
    OptionRow{"run", "--hold", {Use::ThisMachine}},
    OptionRow{"run", "--take-over", {Use::ThisMachine}},
    OptionRow{"", "--no-header", {Use::Mapped}},
    OptionRow{"", "--format", {Use::Mapped}},
    OptionRow{"", "--timestamp", {Use::Mapped}},
    OptionRow{"", "--wide", {Use::Mapped}},
    OptionRow{"", "--no-cleanup", {Use::Nothing}},
    OptionRow{"",
              "--reset",
              {Use::Refused, "it would end the jobs of all users",
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
    return found == commandRows.end() ? Meaning{Use::ThisMachine} : found->meaning;
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
