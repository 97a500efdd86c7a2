// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/genvctl/policy/interview.hpp"

#include "client/genvctl/common/exit_status.hpp"
#include "client/genvctl/terminal/terminal_text.hpp"

#include <fmt/format.h>

#include <cstddef>
#include <optional>
#include <string>

namespace genv::ctl {

namespace {

std::string questionText(const core::PolicyQuestion& question) {
    std::string text = fmt::format("{}\n", question.text);
    for (std::size_t i = 0; i < question.choices.size(); ++i)
        text += fmt::format("  {}  {}\n", i + 1, question.choices[i].text);
    return text;
}

// Returns the index of the choice that a line names.
std::optional<std::size_t> choiceOf(std::string line, const core::PolicyQuestion& question) {
    const auto first = line.find_first_not_of(" \t\r");
    if (first == std::string::npos)
        return question.usual;
    line = line.substr(first, line.find_last_not_of(" \t\r") - first + 1);
    const auto number = parseNumber(line);
    if (!number || *number == 0 || *number > question.choices.size())
        return std::nullopt;
    return *number - 1;
}

} // namespace

core::PolicyAnswers interview(std::istream& input,
                              const std::function<void(std::string_view)>& write,
                              const core::MachineFigures& figures) {
    core::PolicyAnswers answers = core::usualAnswers(core::MachineUse::Lab, figures);
    for (std::size_t number = 0; number < core::policyQuestionCount; ++number) {
        const auto question = core::policyQuestion(number, answers, figures);
        if (!question)
            continue;
        write(questionText(*question));
        std::optional<std::size_t> choice;
        while (!choice) {
            write(fmt::format("Choice [{}]: ", question->usual + 1));
            std::string line;
            if (!std::getline(input, line)) {
                write("\n");
                throw Failure(ExitStatus::Failed, "the answers end early: nothing was written");
            }
            choice = choiceOf(std::move(line), *question);
            if (!choice)
                write(fmt::format("Expected a number from 1 to {}, or Enter.\n",
                                  question->choices.size()));
        }
        write("\n");
        answers = question->choices[*choice].answers;
    }
    return answers;
}

} // namespace genv::ctl
