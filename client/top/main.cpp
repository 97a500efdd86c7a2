// SPDX-License-Identifier: LGPL-2.1-or-later
// genv-top: shows the users of each GPU, live on a terminal or once elsewhere. "genvctl top" is
// this.
#include "client/descriptor_functions.hpp"
#include "client/genvctl/cluster/cluster_choice.hpp"
#include "client/genvctl/common/exit_status.hpp"
#include "client/genvctl/terminal/json.hpp"
#include "client/genvctl/terminal/terminal_text.hpp"
#include "client/jobs/link/user_bus.hpp"
#include "client/top/application.hpp"
#include "client/top/cell_text.hpp"
#include "client/top/collector.hpp"
#include "client/top/output.hpp"
#include "core/base/command_line/parsing.hpp"

#include <fmt/format.h>
#include <langinfo.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <clocale>
#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace genv::top {

namespace {

// A hanging service is reported after a short time, unless the user has set a timeout.
constexpr const char* callTimeout = "5s";
constexpr std::size_t pipeColumns = 120;

std::string_view variable(const char* name) {
    const char* value = std::getenv(name);
    return value == nullptr ? "" : value;
}

Charset charsetOfLocale() {
    std::setlocale(LC_CTYPE, "");
    return std::string_view(nl_langinfo(CODESET)) == "UTF-8" ? Charset::Unicode : Charset::Ascii;
}

bool isDumb() {
    const std::string_view terminal = variable("TERM");
    return terminal.empty() || terminal == "dumb";
}

TextEmphasis emphasisOfOutput() {
    if (isatty(STDOUT_FILENO) == 0 || isDumb())
        return TextEmphasis::None;
    return variable("NO_COLOR").empty() ? TextEmphasis::Colors : TextEmphasis::Attributes;
}

std::size_t columnsOfOutput() {
    if (const auto columns = ctl::parseNumber(variable("COLUMNS")); columns && *columns > 0)
        return *columns;
    winsize size{};
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
        return size.ws_col;
    return pipeColumns;
}

// Returns the result of a function of a reader that has read everything.
template <typename Use>
auto readService(const TopOptions& options, Use use) {
    ServiceConnection link(options.host);
    try {
        ServiceReader reader(link, options.host);
        link.client().status(); // starts it, as every command does
        reader.readProcesses();
        reader.readHistory();
        reader.readMachine();
        reader.readQueue();
        return use(reader);
    } catch (const Error& error) {
        throw link.explain(error);
    }
}

void write(const std::string& text) {
    if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0)
        throw ctl::Failure(ctl::ExitStatus::Failed, "the result could not be written");
}

void printOnce(const TopOptions& options, const Surroundings& surroundings) {
    if (options.json != TopOptions::Json::Off) {
        const auto json = [&](const ServiceReader& reader) { return reader.json(options.gpus); };
        write(ctl::jsonText(surroundings.isCluster ? readClusterJson(options.gpus)
                                                   : readService(options, json),
                            options.json == TopOptions::Json::Pretty));
        return;
    }
    Choice choice;
    choice.gpus = options.gpus;
    choice.charset = surroundings.charset;
    const Frame frame =
        surroundings.isCluster
            ? readCluster()
            : readService(options, [](const auto& reader) { return reader.frame(); });
    write(textOf(wholePage(frame, choice, columnsOfOutput()), emphasisOfOutput()));
}

void run(const TopOptions& options) {
    Surroundings surroundings;
    surroundings.charset = charsetOfLocale();
    surroundings.mayTerminate = variable("GENV_TERMINATE_PROCESSES") != "0";
    surroundings.isCluster =
        !options.host && ctl::cluster::chosenCluster(options.cluster, std::getenv,
                                                     ctl::cluster::readConfiguration) ==
                             ctl::cluster::Cluster::Slurm;
    setenv("SYSTEMD_BUS_TIMEOUT", callTimeout, 0);
    surroundings.hasUserBus = !options.host && !surroundings.isCluster && jobs::nameUserBus();
    const bool isLive = !options.isOnce && options.json == TopOptions::Json::Off && !isDumb() &&
                        isatty(STDIN_FILENO) == 1 && isatty(STDOUT_FILENO) == 1;
    if (isLive) {
        // Must precede the other threads, which inherit the blocked signals.
        const int signals = blockSignals();
        if (auto screen = Screen::open(variable("NO_COLOR").empty()))
            return runApplication(std::move(screen), signals, options, surroundings);
    }
    printOnce(options, surroundings);
}

int finish(const ctl::Failure& failure) {
    const std::string hint = failure.hint().empty() ? "" : ctl::shown(failure.hint()) + "\n";
    fmt::print(stderr, "genv-top: {}\n{}", ctl::shown(failure.what()), hint);
    return static_cast<int>(failure.status());
}

} // namespace

} // namespace genv::top

int main(int count, char** arguments) {
    using namespace genv::top;
    genv::client::openStandardDescriptors();
    try {
        const TopOptions options = parseOptions(count, arguments);
        if (!options.isAboutItself)
            run(options);
        return EXIT_SUCCESS;
    } catch (const genv::core::UsageError& error) {
        genv::core::complain("genv-top", error);
        return genv::core::usageStatus;
    } catch (const genv::ctl::Failure& failure) {
        return finish(failure);
    } catch (const std::exception& error) {
        return finish({genv::ctl::ExitStatus::Failed, error.what()});
    }
}
