// SPDX-License-Identifier: LGPL-2.1-or-later
// doctor: finds problems of this machine and suggests solutions.
#include "client/genvctl/commands/commands.hpp"
#include "client/genvctl/common/exit_status.hpp"
#include "client/genvctl/context/context.hpp"
#include "client/genvctl/definition/definition.hpp"
#include "client/genvctl/doctor/examination.hpp"
#include "client/genvctl/terminal/terminal.hpp"
#include "client/genvctl/terminal/terminal_text.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>

namespace genv::ctl {

namespace {

using doctor::DoctorCheck;
using doctor::DoctorFinding;
using doctor::DoctorVerdict;

constexpr std::size_t usualWidth = 80;
constexpr std::size_t textColumn = 25;

struct DoctorArguments {
    std::vector<std::string> names;
    bool quiet = false;
};

const char* nameOf(DoctorVerdict verdict) {
    switch (verdict) {
    case DoctorVerdict::Ok:
        return "ok";
    case DoctorVerdict::Warning:
        return "warning";
    case DoctorVerdict::Problem:
        break;
    }
    return "problem";
}

std::vector<DoctorCheck> chosenChecks(const std::vector<std::string>& names) {
    std::vector<DoctorCheck> chosen;
    for (const DoctorCheck& check : doctor::allChecks) {
        if (names.empty() || std::find(names.begin(), names.end(), check.name) != names.end())
            chosen.push_back(check);
    }
    return chosen;
}

void examineMachine(const GlobalOptions& global, const DoctorArguments& arguments) {
    const std::vector<DoctorCheck> checks = chosenChecks(arguments.names);
    const std::vector<DoctorFinding> findings = doctor::examine(checks, SystemPlaces::own());
    const std::size_t width = std::min(terminalWidth().value_or(usualWidth), usualWidth);
    Json json = Json::array();
    std::string text;
    bool isWell = true;
    for (std::size_t i = 0; i < checks.size(); ++i) {
        const auto& [verdict, found, advice] = findings[i];
        isWell = isWell && verdict != DoctorVerdict::Problem;
        if (arguments.quiet && verdict == DoctorVerdict::Ok)
            continue;
        json.push_back({{"check", checks[i].name},
                        {"verdict", nameOf(verdict)},
                        {"found", found},
                        {"advice", advice.empty() ? Json(nullptr) : Json(advice)}});
        const std::string indent(textColumn, ' ');
        text += wrapped(fmt::format("{:<9}{:<16}", nameOf(verdict), checks[i].name), found, indent,
                        width);
        if (!advice.empty())
            text += wrapped(indent, advice, indent, width);
    }
    if (!printJson(global, json))
        print(text);
    if (!isWell)
        throw Failure(ExitStatus::Failed, "");
}

} // namespace

constexpr std::array doctorExamples{
    Example{"Check everything", "genvctl doctor"},
    Example{"Check only the driver and the service", "genvctl doctor driver service"},
};

void addDoctor(CLI::App& app, Context& context) {
    CLI::App* command = addCommand(app, "doctor", "Check the installation and suggest fixes",
                                   {.examples = doctorExamples});
    const auto arguments = std::make_shared<DoctorArguments>();
    OneOf checks;
    for (const DoctorCheck& check : doctor::allChecks)
        checks.push_back(check.name);
    const std::vector<std::string> names(checks.begin(), checks.end());
    addOption(*command, "CHECK", arguments->names,
              "Run only these checks: " + CLI::detail::join(names, ", "), {.values = checks})
        ->check(CLI::IsMember(names).description(""))
        ->type_name("");
    command->add_flag("-q,--quiet", arguments->quiet, "Print only warnings and problems");
    command->footer("Exits with status 1 if a check finds a problem; warnings do not count. The\n"
                    "command changes nothing and does not start genvd.");
    command->callback([&context, arguments] {
        context.command = [&context, arguments] { examineMachine(context.options, *arguments); };
    });
}

} // namespace genv::ctl
