// SPDX-License-Identifier: LGPL-2.1-or-later
// jupyter: Jupyter kernels that run in their own environment. "install" derives a kernelspec from
// an existing one. Jupyter then starts "jupyter run", which requests the GPUs and becomes the
// kernel in the same process. Interrupting, restarting and ending the kernel therefore work as
// usual, and the environment ends with it.
#include "client/genvctl/commands/commands.hpp"
#include "client/genvctl/common/exit_status.hpp"
#include "client/genvctl/context/context.hpp"
#include "client/genvctl/definition/definition.hpp"
#include "client/genvctl/environment/own_environment.hpp"
#include "client/genvctl/jupyter/kernelspec.hpp"
#include "client/genvctl/shell/execution.hpp"
#include "client/genvctl/terminal/terminal.hpp"
#include "client/genvctl/terminal/terminal_text.hpp"
#include "core/sentences/sentences.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <array>
#include <chrono>
#include <filesystem>
#include <memory>

namespace genv::ctl {

namespace {

namespace fs = std::filesystem;

// How long Jupyter's server, console and nbconvert wait for a Jupyter kernel by default.
constexpr std::chrono::seconds jupyterTimeout{60};

// Selects one of Jupyter's folders.
struct JupyterKernelPlace {
    bool user = false;
    bool active = false;
    std::optional<std::string> prefix;

    void addTo(CLI::App& command) {
        CLI::Option* own = command.add_flag("--user", user, "Use your own folder [default]");
        CLI::Option* environment =
            command.add_flag("--sys-prefix", active, "Use the active virtual or conda environment")
                ->excludes(own);
        addOption(command, "--prefix", prefix, "Use share/jupyter below FOLDER, such as /usr/local",
                  {.values = ValueKind::File})
            ->type_name("FOLDER")
            ->excludes(own)
            ->excludes(environment);
    }
    [[nodiscard]] std::optional<fs::path> folder() const {
        if (user)
            return userJupyterKernelFolder();
        if (active)
            return activeJupyterKernelFolder();
        if (prefix)
            return jupyterKernelFolderBelow(*prefix);
        return std::nullopt;
    }
};

struct InstallArguments {
    OwnEnvironmentOptions environment;
    std::optional<std::string> name;
    std::optional<std::string> displayName;
    std::string kernel = "python3";
    std::optional<std::string> from;
    JupyterKernelPlace place;
    bool force = false;
};

std::string ownPath() {
    std::error_code error;
    const fs::path program = fs::read_symlink("/proc/self/exe", error);
    return error ? "genvctl" : program.native();
}

Kernelspec baseOf(const InstallArguments& arguments) {
    Kernelspec base =
        loadKernelspec(arguments.from ? fs::path(*arguments.from)
                                      : findKernelspec(kernelspecName(arguments.kernel)));
    if (isDerived(base.document))
        throw Failure(
            ExitStatus::Usage,
            fmt::format("{} is itself a kernelspec that genvctl derived", base.folder.native()),
            "Name the one that it was derived from.");
    return base;
}

std::string displayName(const InstallArguments& arguments, const Kernelspec& base,
                        const std::string& name) {
    if (arguments.displayName)
        return *arguments.displayName;
    const Configuration wanted = arguments.environment.configuration.read();
    const std::string own = base.document.value("display_name", Json(name)).is_string()
                                ? base.document.value("display_name", name)
                                : name;
    const std::uint32_t gpus = wanted.gpus.value_or(1);
    const std::string share = wanted.gpuMemoryBytes
                                  ? fmt::format(", {}", core::nameMemory({*wanted.gpuMemoryBytes}))
                                  : "";
    return fmt::format("{} ({} GPU{}{})", own, gpus, gpus == 1 ? "" : "s", share);
}

void warnOfTimeout(const OwnEnvironmentOptions& environment) {
    ActivateOptions options;
    environment.waiting.apply(options);
    if (options.waits() &&
        options.timeout().value_or(std::chrono::seconds::max()) >= jupyterTimeout)
        warn(fmt::format("Jupyter gives up on a kernel that waits longer than {}s",
                         jupyterTimeout.count()),
             "Wait for less time, such as --wait=50s, or raise Jupyter's timeout: see genvctl(1).");
}

void warnOfProgram(const Json& document, std::size_t at) {
    const std::string program = document["argv"][at];
    // Jupyter finds every other program without a folder in its name in the same way.
    if (program.starts_with("python") && program.find('/') == std::string::npos)
        warn(fmt::format("The kernel is the \"{}\" that is first on Jupyter's PATH", program),
             "If that is not the one, install it from a kernelspec with a whole path: --from.");
}

void install(const GlobalOptions& global, const InstallArguments& arguments) {
    arguments.environment.check();
    const Kernelspec base = baseOf(arguments);
    const std::string name = kernelspecName(
        arguments.name ? *arguments.name : base.folder.filename().native() + "-genv");
    const fs::path folder = arguments.place.folder().value_or(userJupyterKernelFolder()) / name;

    std::vector<std::string> launcher{ownPath(), "jupyter", "run", "--name", name};
    const std::vector<std::string> words = arguments.environment.words();
    if (!arguments.environment.configuration.gpus)
        launcher.insert(launcher.end(), {"--gpus", "1"});
    launcher.insert(launcher.end(), words.begin(), words.end());
    const std::string shownName = displayName(arguments, base, name);
    const Json document = derivedKernelspec(base, launcher, shownName);
    installKernelspec(folder, document, base, arguments.force);

    warnOfTimeout(arguments.environment);
    warnOfProgram(document, launcher.size() + 1);
    if (printJson(global,
                  {{"name", name}, {"display_name", shownName}, {"folder", folder.native()}}))
        return;
    print(fmt::format("The kernel \"{}\" is now in\n  {}\nChoose it in a notebook, or run: jupyter "
                      "console --kernel {}\nRemove it with: genvctl jupyter uninstall {}\n",
                      shown(shownName), shown(folder.native()), name, name));
}

void uninstall(const std::string& given, const JupyterKernelPlace& place) {
    const std::string name = kernelspecName(given);
    const auto chosen = place.folder();
    const fs::path folder = chosen ? *chosen / name : findKernelspec(name);
    std::error_code none;
    if (!fs::exists(folder, none))
        throw Failure(ExitStatus::Failed,
                      fmt::format("There is no kernelspec {}", folder.native()));
    removeKernelspec(folder);
    print(fmt::format("Removed {}\n", shown(folder.native())));
}

constexpr std::array jupyterInstallExamples{
    Example{"Add a kernel with one GPU that waits for it",
            "genvctl jupyter install --gpus 1 --wait=50s"},
    Example{"Add an R kernel with 8 GB of a GPU",
            "genvctl jupyter install --kernel ir --gpu-memory 8g"},
};

void addInstall(CLI::App& jupyter, Context& context) {
    CLI::App* command =
        addCommand(jupyter, "install", "Add a kernel that runs in its own environment",
                   {.examples = jupyterInstallExamples});
    const auto arguments = std::make_shared<InstallArguments>();
    addOption(*command, "--name", arguments->name,
              "Name the kernelspec NAME [default: KERNEL-genv]", {.values = ValueKind::Free})
        ->type_name("NAME");
    addOption(*command, "--display-name", arguments->displayName,
              "Show TEXT as the kernel's name in notebooks", {.values = ValueKind::Free})
        ->type_name("TEXT");
    CLI::Option* kernel =
        addOption(*command, "--kernel", arguments->kernel, "Run this kernel [default: python3]",
                  {.values = ValueKind::Free})
            ->type_name("KERNEL");
    addOption(*command, "--from", arguments->from, "Run the kernel whose kernelspec is in FOLDER",
              {.values = ValueKind::File})
        ->type_name("FOLDER")
        ->excludes(kernel);
    arguments->environment.addDevicesTo(*command);
    arguments->place.addTo(*command);
    command->add_flag("--force", arguments->force,
                      "Replace a kernelspec that genvctl did not write");
    command->footer("Each kernel gets one GPU unless --gpus is given.");
    command->callback([&context, arguments] {
        context.command = [&context, arguments] { install(context.options, *arguments); };
    });
}

constexpr std::array jupyterUninstallExamples{
    Example{"Remove a kernel", "genvctl jupyter uninstall python3-genv"},
};

void addUninstall(CLI::App& jupyter, Context& context) {
    CLI::App* command = addCommand(jupyter, "uninstall", "Remove a kernel that \"install\" added",
                                   {.examples = jupyterUninstallExamples});
    const auto name = std::make_shared<std::string>();
    const auto place = std::make_shared<JupyterKernelPlace>();
    addOption(*command, "NAME", *name, "Remove the kernelspec NAME", {.values = ValueKind::Free})
        ->required()
        ->type_name("");
    place->addTo(*command);
    command->callback(
        [&context, name, place] { context.command = [name, place] { uninstall(*name, *place); }; });
}

constexpr std::array jupyterRunExamples{
    Example{"Run a kernel as Jupyter starts it",
            "genvctl jupyter run --gpus 1 -- python3 -m ipykernel_launcher -f kernel.json"},
};

void addRunJupyterKernel(CLI::App& jupyter, Context& context) {
    CLI::App* command =
        addCommand(jupyter, "run", "Run a kernel in its own environment, as Jupyter does",
                   {.examples = jupyterRunExamples});
    const auto options = std::make_shared<OwnEnvironmentOptions>();
    options->addTo(*command);
    takeEverythingFromTheCommandOn(*command);
    command->callback([&context, options, command] {
        const std::vector<std::string> words = commandWords(*command);
        context.command = [&context, options, words] {
            // A connection file with an unexpected name must not prevent the Jupyter kernel from
            // starting.
            enterOwnEnvironment(context, *options, jupyterKernelIdAmong(words));
            execute(words);
        };
    });
}

} // namespace

constexpr std::array jupyterExamples{
    Example{"Add a kernel with one GPU", "genvctl jupyter install --gpus 1"},
    Example{"Remove it", "genvctl jupyter uninstall python3-genv"},
};

void addJupyter(CLI::App& app, Context& context) {
    CLI::App* jupyter =
        addCommand(app, "jupyter", "Run Jupyter kernels in their own environments",
                   {.onCluster = cluster::aboutThisMachine(
                        "Start Jupyter in a job: \"genvctl run --gpus 1 -- jupyter lab\"."),
                    .examples = jupyterExamples});
    jupyter->require_subcommand(1);
    addInstall(*jupyter, context);
    addUninstall(*jupyter, context);
    addRunJupyterKernel(*jupyter, context);
}

} // namespace genv::ctl
