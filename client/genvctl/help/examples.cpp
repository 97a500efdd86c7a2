// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/genvctl/help/examples.hpp"

#include "client/genvctl/completion/completion.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <array>
#include <string>

namespace genv::ctl {

namespace {

constexpr std::array examples{
    Example{"genvctl", "Start an environment with one GPU for this shell",
            "genv activate --gpus 1"},
    Example{"genvctl", "Run a program with two GPUs", "genvctl run --gpus 2 -- python train.py"},
    Example{"genvctl", "Show who uses which GPU", "genvctl devices"},
    Example{"genvctl activate", "Start an environment with two GPUs",
            "genv activate --gpus 2 --name training"},
    Example{"genvctl activate", "Use 4 GB of a GPU, and wait for it up to an hour",
            "genv activate --gpus 1 --gpu-memory 4g --wait=1h"},
    Example{"genvctl activate", "Join an environment in a second terminal",
            "genv activate --id 4711"},
    Example{"genvctl deactivate", "Leave the environment of this shell", "genv deactivate"},
    Example{"genvctl deactivate", "End environment 4711 and the processes on its GPUs",
            "genvctl deactivate --id 4711 --kill"},
    Example{"genvctl status", "Show the environment of this shell", "genv status"},
    Example{"genvctl status", "Print it for a script", "genv status --json"},
    Example{"genvctl attach", "Attach two GPUs", "genv attach --gpus 2"},
    Example{"genvctl attach", "Attach GPUs 0 and 3", "genv attach --index 0,3"},
    Example{"genvctl attach", "Attach an A100, waiting until one is free",
            "genv attach --gpus 1 --model A100 --wait"},
    Example{"genvctl detach", "Detach all GPUs", "genv detach"},
    Example{"genvctl detach", "Detach GPU 3", "genv detach --index 3"},
    Example{"genvctl config", "Ask for two GPUs at the next attach", "genv config gpus 2"},
    Example{"genvctl config", "Save the configuration with the project", "genv config --save"},
    Example{"genvctl config", "Load only the number of GPUs from .genv", "genv config gpus --load"},
    Example{"genvctl extend", "Extend this environment by two hours from now", "genv extend 2h"},
    Example{"genvctl extend", "Extend environment 4711 as far as allowed",
            "genvctl extend --id 4711"},
    Example{"genvctl run", "Run a program with two GPUs",
            "genvctl run --gpus 2 --name training -- python train.py"},
    Example{"genvctl run", "Wait for a GPU and use it for at most eight hours",
            "genvctl run --gpus 1 --wait --lifetime 8h -- ./night.sh"},
    Example{"genvctl run", "Open a shell with a GPU on another machine",
            "genvctl -H alice@gpu1 run --gpus 1 --login"},
    Example{"genvctl lock", "Run a benchmark alone on a shared GPU", "genv lock -- ./benchmark"},
    Example{"genvctl devices", "List all GPUs and their environments", "genvctl devices"},
    Example{"genvctl devices", "Print the indices of the free GPUs",
            "genvctl devices --json | jq '.[] | select(.free) | .index'"},
    Example{"genvctl devices ps", "List all GPUs and their environments as CSV",
            "genvctl devices ps --format csv"},
    Example{"genvctl devices query", "Print each GPU's index and environments",
            "genvctl devices query --query index eids"},
    Example{"genvctl devices find", "Print the GPUs of environment 4711",
            "genvctl devices find --id 4711"},
    Example{"genvctl devices attach", "Attach one more GPU to environment 4711",
            "genvctl devices attach --id 4711 --gpus 1"},
    Example{"genvctl devices attach", "Attach GPU 3 to it",
            "genvctl devices attach --id 4711 --index 3"},
    Example{"genvctl devices detach", "Detach GPU 3 from environment 4711",
            "genvctl devices detach --id 4711 --index 3"},
    Example{"genvctl top", "Watch the GPUs of this machine", "genvctl top"},
    Example{"genvctl top", "Print the GPUs 0 to 3 once", "genvctl top --once --gpu 0-3"},
    Example{"genvctl top", "Watch the GPUs of another machine", "genvctl -H gpu1 top"},
    Example{"genvctl envs", "List all environments", "genvctl envs"},
    Example{"genvctl envs", "List them with exact times", "genvctl envs --timestamp"},
    Example{"genvctl envs ps", "List all environments as CSV", "genvctl envs ps --format csv"},
    Example{"genvctl envs query", "Print the ID and user of each environment",
            "genvctl envs query --query eid username"},
    Example{"genvctl envs find", "Print the environment of process 4711",
            "genvctl envs find --pid 4711"},
    Example{"genvctl envs activate", "Start environment 58 for user 1001",
            "genvctl envs activate --eid 58 --uid 1001 --pid 4711"},
    Example{"genvctl envs deactivate", "Remove process 4711 from its environment",
            "genvctl envs deactivate --pid 4711"},
    Example{"genvctl envs config", "Unset the whole configuration",
            "genvctl envs config --id 4711 --clear"},
    Example{"genvctl envs config", "Set the number of GPUs",
            "genvctl envs config --id 4711 gpus --count 2"},
    Example{"genvctl envs config gpus", "Set the number of GPUs",
            "genvctl envs config --id 4711 gpus --count 2"},
    Example{"genvctl envs config gpus", "Unset it", "genvctl envs config --id 4711 gpus --clear"},
    Example{"genvctl envs config name", "Set the name",
            "genvctl envs config --id 4711 name --name training"},
    Example{"genvctl envs config gpu-memory", "Set the share of each GPU's memory",
            "genvctl envs config --id 4711 gpu-memory --gpu-memory 4g"},
    Example{"genvctl queue", "Show the queue", "genvctl queue"},
    Example{"genvctl queue", "Show it with exact times", "genvctl queue --timestamp"},
    Example{"genvctl limits", "Show your limits and usage", "genvctl limits"},
    Example{"genvctl limits", "Show the limits and usage of alice", "genvctl limits alice"},
    Example{"genvctl limits", "Show a row for each user", "genvctl limits --all"},
    Example{"genvctl events", "Follow events until Ctrl-C", "genvctl events"},
    Example{"genvctl events", "Follow events as JSON, one object per line",
            "genvctl events --json=short"},
    Example{"genvctl history", "Show your events of the last two days",
            "genvctl history --since -2d"},
    Example{"genvctl history", "Show the environments of all users that ended today",
            "genvctl history --all --since today --kind environment-ended"},
    Example{"genvctl history", "Show the last 20 events of GPU 3",
            "genvctl history --device 3 --lines 20"},
    Example{"genvctl report", "Summarize your usage of the last week", "genvctl report"},
    Example{"genvctl report", "Summarize November for all users as CSV",
            "genvctl report --all --since 2026-11-01 --until 2026-12-01 --format csv"},
    Example{"genvctl shell", "Set up bash or zsh", "eval \"$(genvctl shell --init)\""},
    Example{"genvctl shell", "Set up fish", "genvctl shell --init | source"},
    Example{"genvctl shell", "Check whether this shell is set up", "genv shell --ok"},
    Example{"genvctl jupyter", "Add a kernel with one GPU", "genvctl jupyter install --gpus 1"},
    Example{"genvctl jupyter", "Remove it", "genvctl jupyter uninstall python3-genv"},
    Example{"genvctl jupyter install", "Add a kernel with one GPU that waits for it",
            "genvctl jupyter install --gpus 1 --wait=50s"},
    Example{"genvctl jupyter install", "Add an R kernel with 8 GB of a GPU",
            "genvctl jupyter install --kernel ir --gpu-memory 8g"},
    Example{"genvctl jupyter uninstall", "Remove a kernel",
            "genvctl jupyter uninstall python3-genv"},
    Example{"genvctl jupyter run", "Run a kernel as Jupyter starts it",
            "genvctl jupyter run --gpus 1 -- python3 -m ipykernel_launcher -f kernel.json"},
    Example{"genvctl home", "Print the .genv directory", "genvctl home"},
    Example{"genvctl doctor", "Check everything", "genvctl doctor"},
    Example{"genvctl doctor", "Check only the driver and the service",
            "genvctl doctor driver service"},
    Example{"genvctl help", "Describe a command", "genvctl help attach"},
    Example{"genvctl help", "Describe a subcommand", "genvctl help devices find"},
    Example{"genvctl version", "Print the version of another machine's service",
            "genvctl -H gpu1 version"},
    Example{"genvctl enforce", "Show what one cycle would do",
            "genvctl enforce --dry-run --interval 0 --non-env-processes"},
    Example{"genvctl enforce", "Allow each user two devices, and alice four",
            "genvctl enforce --max-devices-per-user 2 --max-devices-for-user alice=4"},
    Example{"genvctl terminate", "End two processes", "genvctl terminate 4711 4712"},
    Example{"genvctl isolation", "Show whether isolation is in force", "genvctl isolation status"},
    Example{"genvctl isolation", "Show which GPUs you were refused", "genvctl isolation refusals"},
    Example{"genvctl isolation status", "Use the status in a script",
            "genvctl isolation status --json"},
    Example{"genvctl isolation on", "Resume isolation", "genvctl isolation on"},
    Example{"genvctl isolation off", "Suspend isolation until the next boot",
            "genvctl isolation off"},
    Example{"genvctl isolation refusals", "Show the refusals of all users",
            "genvctl isolation refusals --all"},
    Example{"genvctl policy", "Suggest settings for a research lab",
            "genvctl policy suggest --lab"},
    Example{"genvctl policy", "Check a changed configuration file",
            "genvctl policy check genvd.conf.new"},
    Example{"genvctl policy suggest", "Suggest settings after questions", "genvctl policy suggest"},
    Example{"genvctl policy suggest", "Prepare settings for a class of students",
            "genvctl policy suggest --class --output 50-suggested.conf"},
    Example{"genvctl policy check", "Check a changed configuration file",
            "genvctl policy check genvd.conf.new"},
    Example{"genvctl usage", "Print a snapshot for a program", "genvctl usage snapshot"},
    Example{"genvctl usage", "Carry out a report", "genvctl usage execute < report.json"},
    Example{"genvctl usage snapshot", "Print all processes, environments and devices",
            "genvctl usage snapshot --format json"},
    Example{"genvctl usage snapshot", "Print only the devices",
            "genvctl usage snapshot --type devices"},
    Example{"genvctl usage execute", "Carry out a report", "genvctl usage execute < report.json"},
    Example{"genvctl monitor", "Serve metrics on another port", "genvctl monitor --port 9400"},
    Example{"genvctl monitor", "Write the Prometheus and Grafana files elsewhere",
            "genvctl monitor --config-dir ~/metrics"},
    Example{"genvctl remote", "List the GPUs of three hosts",
            "genvctl remote -H gpu1,gpu2,gpu3 devices"},
    Example{"genvctl remote", "Run a program on the host with most free GPUs",
            "genvctl remote --hostfile hosts.txt run --gpus 2 -- python train.py"},
    Example{"genvctl remote devices", "Count the devices of two hosts",
            "genvctl remote -H gpu1,gpu2 devices"},
    Example{"genvctl remote envs", "List the environments on two hosts",
            "genvctl remote -H gpu1,gpu2 envs"},
    Example{"genvctl remote query", "Find the environments named training",
            "genvctl remote -H gpu1,gpu2 query --name training --query hostname eid"},
    Example{"genvctl remote activate", "Open a shell with two GPUs on one of two hosts",
            "genvctl remote -H gpu1,gpu2 activate --gpus 2"},
    Example{"genvctl remote activate", "Wait until one of them has a free GPU",
            "genvctl remote -H gpu1,gpu2 activate --gpus 1 --wait=2h"},
    Example{"genvctl remote run", "Run a program on one of two hosts",
            "genvctl remote -H gpu1,gpu2 run --gpus 1 -- python train.py"},
    Example{"genvctl remote run", "Keep large hosts free",
            "genvctl remote -H gpu1,gpu2 run --gpus 1 --strategy least-free -- ./test"},
    Example{"genvctl remote enforce", "Show what one cycle would do",
            "genvctl remote -H gpu1,gpu2 enforce --max-hosts-per-user 1 --dry-run"},
    Example{"genvctl remote monitor", "Serve metrics of two hosts",
            "genvctl remote -H gpu1,gpu2 monitor"},
    Example{"genvctl slurm", "Start the environment of a job in a prolog script",
            "genvctl slurm prolog"},
    Example{"genvctl slurm prolog", "Start the environment of a job in a prolog script",
            "genvctl slurm prolog"},
    Example{"genvctl slurm epilog", "End the environment of a job in an epilog script",
            "genvctl slurm epilog"},
    Example{"genvctl slurm task-prolog", "Set a task's variables in a task prolog script",
            "genvctl slurm task-prolog"},
};

std::string examplesText(std::string_view command) {
    std::string text;
    for (const Example& example : examples) {
        if (example.command == command)
            text += fmt::format("\n  # {}\n  {}", example.description, example.line);
    }
    return text;
}

} // namespace

std::span<const Example> allExamples() {
    return examples;
}

void addExamples(CLI::App& app) {
    if (const std::string text = examplesText(commandPath(app)); !text.empty()) {
        const std::string notes = app.get_footer();
        app.footer(notes + (notes.empty() ? "" : "\n\n") + "Examples:" + text);
    }
    for (CLI::App* command : app.get_subcommands({}))
        addExamples(*command);
}

} // namespace genv::ctl
