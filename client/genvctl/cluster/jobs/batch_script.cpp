// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/genvctl/cluster/jobs/batch_script.hpp"

#include "client/genvctl/cluster/jobs/task_list.hpp"
#include "client/genvctl/terminal/terminal_text.hpp"
#include "client/remote/ssh/ssh.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstddef>
#include <utility>

namespace genv::ctl::cluster {

namespace {

using nlohmann::json;

constexpr std::string_view workMark = "# genvctl submit: ";
constexpr std::string_view valueVariable = "\"$GENV_ARRAY_TASK\"";

std::string_view takeScriptLine(std::string_view& text) {
    const std::size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    return line;
}

bool isNumbered(const jobs::TaskValue& task) {
    return task.value == std::to_string(task.number);
}

// Returns the words as they are shown: those of a script begin with its name.
std::vector<std::string> shownWords(const Work& work) {
    if (!work.script)
        return work.job.command;
    std::vector<std::string> words{work.script->name};
    words.insert(words.end(), work.arguments.begin(), work.arguments.end());
    return words;
}

std::string workLine(const Work& work) {
    json values = json::object();
    std::vector<std::uint32_t> numbers;
    for (const jobs::TaskValue& task : work.job.tasks) {
        numbers.push_back(task.number);
        if (!isNumbered(task))
            values[std::to_string(task.number)] = task.value;
    }
    const json line{
        {"words", shownWords(work)}, {"tasks", taskListText(numbers)}, {"values", values}};
    return std::string(workMark) + line.dump(-1, ' ', true, json::error_handler_t::replace) + '\n';
}

// Quotes a word of the command, in which "{}" stands for the value of the task.
std::string quotedWord(const std::string& word, bool isArray) {
    constexpr std::string_view place = "{}";
    if (!isArray || word.find(place) == std::string::npos)
        return remote::quotedForShell(word);
    std::string quoted;
    std::string_view rest = word;
    for (;;) {
        const std::size_t at = rest.find(place);
        if (const std::string_view text = rest.substr(0, at); !text.empty())
            quoted += remote::quotedForShell(text);
        if (at == std::string_view::npos)
            return quoted;
        quoted += valueVariable;
        rest.remove_prefix(at + place.size());
    }
}

std::string valueLines(const std::vector<jobs::TaskValue>& tasks) {
    std::string lines = "GENV_ARRAY_TASK=$SLURM_ARRAY_TASK_ID\n";
    if (!std::all_of(tasks.begin(), tasks.end(), isNumbered)) {
        lines += "case $SLURM_ARRAY_TASK_ID in\n";
        for (const jobs::TaskValue& task : tasks)
            lines += fmt::format("{}) GENV_ARRAY_TASK={} ;;\n", task.number,
                                 remote::quotedForShell(task.value));
        lines += "esac\n";
    }
    return lines + "export GENV_ARRAY_TASK\n";
}

// Returns a word for the end of the here-document, which does not occur in its text.
std::string endMarkFor(std::string_view text) {
    std::string mark = "GENV_END_OF_SCRIPT";
    while (text.find(mark) != std::string_view::npos)
        mark += '_';
    return mark;
}

std::string commandLines(const Work& work) {
    std::vector<std::string> words = work.job.command;
    if (work.script) {
        words = interpreterOf(work.script->text);
        words.emplace_back("/dev/fd/9");
        words.insert(words.end(), work.arguments.begin(), work.arguments.end());
    }
    std::string line = "exec";
    for (const std::string& word : words)
        line += ' ' + quotedWord(word, work.job.isArray);
    if (!work.script)
        return line + '\n';
    const std::string& text = work.script->text;
    const std::string mark = endMarkFor(text);
    return fmt::format("{} 9<<'{}'\n{}{}{}\n", line, mark, text, text.ends_with('\n') ? "" : "\n",
                       mark);
}

} // namespace

std::string batchScript(const Work& work) {
    std::string text = "#!/bin/sh\n";
    if (work.script) {
        for (const std::string& line : sbatchLines(work.script->text))
            text += line + '\n';
    }
    text += workLine(work);
    if (work.job.isArray)
        text += valueLines(work.job.tasks);
    return text + commandLines(work);
}

std::vector<std::string> sbatchLines(std::string_view script) {
    std::vector<std::string> lines;
    while (!script.empty()) {
        const std::string_view line = takeScriptLine(script);
        if (line.find_first_not_of(" \t\r") != std::string_view::npos && line.front() != '#')
            break;
        if (line.starts_with("#SBATCH"))
            lines.emplace_back(line);
    }
    return lines;
}

std::optional<BatchedWork> readBatchScript(std::string_view text) {
    while (text.starts_with('#')) {
        const std::string_view line = takeScriptLine(text);
        if (!line.starts_with(workMark))
            continue;
        const json read = json::parse(line.substr(workMark.size()), nullptr, false);
        BatchedWork work;
        try {
            work.words = read.at("words").get<std::vector<std::string>>();
            if (auto list = parseTaskList(read.at("tasks").get<std::string>()))
                work.tasks = std::move(list->numbers);
            for (const auto& [number, value] : read.at("values").items()) {
                if (const auto task = parseNumber(number))
                    work.values[*task] = value.get<std::string>();
            }
        } catch (const json::exception&) {
            return std::nullopt;
        }
        return work;
    }
    return std::nullopt;
}

} // namespace genv::ctl::cluster
