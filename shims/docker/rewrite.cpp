// SPDX-License-Identifier: LGPL-2.1-or-later
#include "shims/docker/rewrite.hpp"

#include "shims/printable.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace genv::shims {

namespace {

const std::string idVariable = "GENV_ENVIRONMENT_ID";
const std::string stampVariable = "GENV_ENVIRONMENT_CREATED";

// A command that starts a process in a container, and the position of its options.
struct Command {
    const OptionTable* options = nullptr;
    std::size_t begin = 0;
    bool makesContainer = false; ///< takes --gpus and --device
};

bool mayAskForGpus(const std::string& word) {
    return word == "--gpus" || word.starts_with("--gpus=") ||
           word.find("nvidia.com/gpu") != std::string::npos;
}

void refuseUnclear(const Words& words, const GivenOptions& given) {
    const auto rest = words.begin() + static_cast<std::ptrdiff_t>(given.end);
    if (!given.unclear || std::none_of(rest, words.end(), mayAskForGpus))
        return;
    throw RefusedRequest(fmt::format("unknown option \"{}\": cannot read the GPU options after it",
                                     printable(*given.unclear)),
                         fmt::format("Write its value with \"=\": {}=VALUE, or =true for a switch.",
                                     printable(*given.unclear)));
}

// Skips options from `at`, and sets `at` to the next word. Returns whether that word is a command.
bool skipOptions(const Words& words, std::size_t& at, const OptionTable& table) {
    const GivenOptions given = readOptions(words, at, table);
    refuseUnclear(words, given);
    at = given.end;
    return !given.unclear && at < words.size();
}

std::optional<Command> findComposeCommand(const Words& words, std::size_t at) {
    if (!skipOptions(words, at, composeOptions))
        return std::nullopt;
    if (words[at] == "run")
        return Command{&composeRunOptions, at + 1, false};
    if (words[at] == "exec")
        return Command{&composeExecOptions, at + 1, false};
    return std::nullopt;
}

std::optional<Command> findCommand(const Words& words) {
    std::size_t at = 0;
    if (!skipOptions(words, at, globalOptions))
        return std::nullopt;
    if (words[at] == "compose")
        return findComposeCommand(words, at + 1);
    if (words[at] == "container") {
        ++at;
        if (!skipOptions(words, at, globalOptions))
            return std::nullopt;
    }
    if (words[at] == "run" || words[at] == "create")
        return Command{&runOptions, at + 1, true};
    if (words[at] == "exec")
        return Command{&execOptions, at + 1, false};
    return std::nullopt;
}

// Rewrites the options of one command.
class Rewriter {
  public:
    Rewriter(const Words& words, const Command& command, const GivenOptions& given,
             const RewriteFacts& where)
        : words_(words), command_(command), given_(given), where_(where) {}

    Words rewrite() {
        append(0, command_.begin);
        // Add these before all other options, so that the user's options override them even if they
        // are not recognized here.
        appendVariables();
        appendUser();
        std::size_t done = command_.begin;
        for (const EngineOption& option : given_.options) {
            append(done, option.first);
            done = option.last;
            if (command_.makesContainer && option.name == "gpus")
                rewriteGpus(option);
            else if (command_.makesContainer && option.name == "device")
                rewriteDevice(option);
            else
                done = option.first;
        }
        append(done, words_.size());
        return std::move(result_);
    }

  private:
    void append(std::size_t first, std::size_t last) {
        for (std::size_t i = first; i < last; ++i)
            result_.push_back(words_[i]);
    }

    // Appends an option in the style that the user chose.
    void appendOption(const EngineOption& option, const std::string& name,
                      const std::string& value) {
        if (option.isJoined)
            result_.push_back("--" + name + "=" + value);
        else
            result_.insert(result_.end(), {"--" + name, value});
    }

    void rewriteGpus(const EngineOption& option) {
        if (where_.engine == ContainerEngine::Docker) {
            appendOption(option, "gpus", dockerGpus(option.value, attached()));
            return;
        }
        // podman supports --gpus since version 5, and interprets a number there as an index.
        for (const std::string& name : cdiGpus(option.value, attached()))
            appendOption(option, "device", name);
    }

    void rewriteDevice(const EngineOption& option) {
        const std::vector<std::string> values = devicesIn(option.value);
        if (std::none_of(values.begin(), values.end(), isCdiGpu)) {
            append(option.first, option.last);
            return;
        }
        for (const std::string& value : values) {
            if (!isCdiGpu(value)) {
                appendOption(option, "device", value);
                continue;
            }
            for (const std::string& name : cdiDevices(value, attached()))
                appendOption(option, "device", name);
        }
    }

    // podman accepts several devices in one value.
    std::vector<std::string> devicesIn(const std::string& value) const {
        if (where_.engine == ContainerEngine::Docker || !mayAskForGpus(value))
            return {value};
        auto fields = splitFields(value);
        if (!fields)
            throw RefusedRequest(fmt::format("invalid value \"{}\" of --device", printable(value)),
                                 "Write one --device option for each device.");
        return std::move(*fields);
    }

    // If the user sets an id, this process's timestamp is not added, because the id may be that of
    // another environment.
    void appendVariables() {
        if (isGiven([&](const EngineOption& option) {
                return (option.name == "env" && option.value.starts_with(idVariable + "=")) ||
                       (option.name == "env-file" && where_.namesEnvironment(option.value));
            }))
            return;
        for (const std::string& variable : {idVariable, stampVariable}) {
            if (!isGiven([&](const EngineOption& option) {
                    return option.name == "env" &&
                           (option.value == variable || option.value.starts_with(variable + "="));
                }))
                result_.insert(result_.end(), {"-e", variable});
        }
    }

    // Sets the user. In a container of docker's daemon, root is root on the machine, and the kernel
    // refuses no GPU to root.
    void appendUser() {
        const bool asksForGpus =
            command_.makesContainer && where_.engine == ContainerEngine::Docker && where_.user &&
            isGiven([](const EngineOption& option) {
                return option.name == "gpus" || (option.name == "device" && isCdiGpu(option.value));
            });
        if (!asksForGpus ||
            isGiven([](const EngineOption& option) { return option.name == "user"; }))
            return;
        if (const auto user = where_.user())
            result_.insert(result_.end(), {"--user", *user});
    }

    template <typename Condition>
    bool isGiven(const Condition& condition) const {
        return std::any_of(given_.options.begin(), given_.options.end(), condition);
    }

    const AttachedDevices& attached() {
        if (!attached_)
            attached_ = AttachedDevices{where_.environment, where_.devices()};
        return *attached_;
    }

    const Words& words_;
    const Command& command_;
    const GivenOptions& given_;
    const RewriteFacts& where_;
    std::optional<AttachedDevices> attached_;
    Words result_;
};

} // namespace

Words rewrite(const Words& arguments, const RewriteFacts& surroundings) {
    const std::optional<Command> command = findCommand(arguments);
    if (!command)
        return arguments;
    const GivenOptions given = readOptions(arguments, command->begin, *command->options);
    if (command->makesContainer)
        refuseUnclear(arguments, given);
    return Rewriter(arguments, *command, given, surroundings).rewrite();
}

} // namespace genv::shims
