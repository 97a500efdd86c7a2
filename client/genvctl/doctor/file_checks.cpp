// SPDX-License-Identifier: LGPL-2.1-or-later
// The checks that read files: the configuration, remains of genv 1, and the setup of the shell.
#include "client/genvctl/common/exit_status.hpp"
#include "client/genvctl/common/service_program.hpp"
#include "client/genvctl/doctor/checks.hpp"
#include "client/genvctl/doctor/genv1_leftovers.hpp"
#include "client/genvctl/shell/shell_code.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <system_error>

namespace genv::ctl::doctor {

namespace {

namespace fs = std::filesystem;
using enum DoctorVerdict;

// Uses the same search as genvd. systemd passes a list separated by colons.
fs::path configurationFolder(const SystemPlaces& places) {
    const char* variable = std::getenv("CONFIGURATION_DIRECTORY");
    const std::string list = variable != nullptr ? variable : "";
    return list.empty() ? places.at("/etc/genv") : fs::path(list.substr(0, list.find(':')));
}

// Returns the files that genvd reads, in its order.
std::vector<fs::path> configurationFiles(const fs::path& folder) {
    std::vector<fs::path> files;
    std::error_code none;
    for (const auto& entry : fs::directory_iterator(folder / "genvd.conf.d", none)) {
        if (entry.path().extension() == ".conf")
            files.push_back(entry.path());
    }
    std::sort(files.begin(), files.end());
    if (fs::exists(folder / "genvd.conf", none))
        files.insert(files.begin(), folder / "genvd.conf");
    return files;
}

std::string describe(const Genv1Leftover& leftover) {
    switch (leftover.kind) {
    case Genv1Leftover::Kind::Program:
        return leftover.path.string() + (leftover.wins ? " (first in PATH)" : "");
    case Genv1Leftover::Kind::Package:
        return leftover.path.string();
    case Genv1Leftover::Kind::StartFile:
        return leftover.path.string() + " (puts it into PATH)";
    case Genv1Leftover::Kind::State:
        return "its state in " + leftover.path.string();
    }
    return {};
}

// Adds the files below a folder that a shell reads, in no particular order.
void addFilesOf(const fs::path& folder, const char* extension, std::vector<fs::path>& files) {
    std::error_code none;
    for (fs::directory_iterator entry(folder, none), end; !none && entry != end;
         entry.increment(none)) {
        if (entry->path().extension() == extension)
            files.push_back(entry->path());
    }
}

std::vector<fs::path> startFilesOf(Shell shell, const SystemPlaces& places) {
    std::vector<fs::path> files;
    switch (shell) {
    case Shell::Bash:
        files = {places.home / ".bashrc",       places.home / ".bash_profile",
                 places.home / ".bash_login",   places.home / ".profile",
                 places.at("/etc/bash.bashrc"), places.at("/etc/profile")};
        addFilesOf(places.at("/etc/profile.d"), ".sh", files);
        break;
    case Shell::Zsh:
        files = {places.home / ".zshrc", places.home / ".zshenv", places.home / ".zprofile",
                 places.at("/etc/zsh/zshrc"), places.at("/etc/zsh/zshenv")};
        break;
    case Shell::Fish:
        files = {places.home / ".config/fish/config.fish", places.at("/etc/fish/config.fish")};
        addFilesOf(places.home / ".config/fish/conf.d", ".fish", files);
        addFilesOf(places.at("/etc/fish/conf.d"), ".fish", files);
        break;
    }
    return files;
}

bool setsUp(const fs::path& file) {
    std::error_code none;
    if (!fs::is_regular_file(file, none))
        return false;
    std::ifstream stream(file);
    for (std::string line; std::getline(stream, line);) {
        const auto begin = line.find_first_not_of(" \t");
        if (begin != std::string::npos && line[begin] != '#' &&
            (line.find("genvctl shell --init") != std::string::npos ||
             line.find("genv shell --init") != std::string::npos ||
             line.find("genv init -") != std::string::npos))
            return true;
    }
    return false;
}

std::string setUpAdvice(Shell shell) {
    switch (shell) {
    case Shell::Bash:
        return "Put into ~/.bashrc: eval \"$(genvctl shell --init)\"";
    case Shell::Zsh:
        return "Put into ~/.zshrc: eval \"$(genvctl shell --init)\"";
    case Shell::Fish:
        return "Put \"genvctl shell --init | source\" into ~/.config/fish/config.fish";
    }
    return {};
}

} // namespace

DoctorFinding checkConfiguration(const SystemPlaces& places) {
    const fs::path folder = configurationFolder(places);
    const std::vector<fs::path> files = configurationFiles(folder);
    std::optional<DoctorFinding> warning; // the first one
    const auto warn = [&](const fs::path& file, const std::string& found) {
        if (!warning)
            warning =
                DoctorFinding{Warning, found, "As root: genvctl policy check " + file.string()};
    };
    for (const fs::path& file : files) {
        if (access(file.c_str(), R_OK) != 0) {
            warn(file, file.string() + " cannot be read by this user");
            continue;
        }
        FileCheck check;
        try {
            check = checkWithService(file.native(), true);
        } catch (const Failure& failure) {
            return {Problem, failure.what(), "Install the package genv again."};
        }
        if (check.status != 0)
            return {Problem, check.errors.substr(0, check.errors.find('\n')),
                    fmt::format("\"genvctl policy check {}\" lists every mistake; once they are "
                                "corrected, as root: systemctl reload-or-restart genvd",
                                file.string())};
        if (!check.errors.empty())
            warn(file, check.errors.substr(0, check.errors.find('\n')));
    }
    if (warning)
        return *warning;
    if (files.empty())
        return {Ok, folder.string() + " has no file: all settings have their defaults", ""};
    return {
        Ok,
        fmt::format("{} file{} in {}", files.size(), files.size() == 1 ? "" : "s", folder.string()),
        ""};
}

DoctorFinding checkGenv1(const SystemPlaces& places) {
    const std::vector<Genv1Leftover> leftovers = findGenv1(places);
    if (leftovers.empty())
        return {Ok, "no leftovers of genv 1 found", ""};
    std::string text;
    for (const Genv1Leftover& leftover : leftovers)
        text += (text.empty() ? "found genv 1: " : "; ") + describe(leftover);
    const bool wins = std::any_of(leftovers.begin(), leftovers.end(),
                                  [](const Genv1Leftover& each) { return each.wins; });
    return {wins ? Problem : Warning, text,
            "It books GPUs that genvd gives to others. Remove it as described in " GENV_DOC_FOLDER
            "/from-genv-1.md."};
}

DoctorFinding checkShell(const SystemPlaces& places) {
    if (std::getenv("GENV_ENVS") != nullptr)
        return {Warning, "this shell was set up by genv 1",
                "Run this here: eval \"$(genvctl shell --init)\""};
    const char* variable = std::getenv("SHELL");
    const std::string name = fs::path(variable != nullptr ? variable : "").filename();
    const auto shell = shellNamed(name);
    if (!shell)
        return {Ok, "\"genv activate\" needs bash, zsh or fish; \"genvctl run\" works in any shell",
                ""};
    for (const fs::path& file : startFilesOf(*shell, places)) {
        if (setsUp(file))
            return {Ok, fmt::format("{} sets up {}", file.string(), name), ""};
    }
    return {Warning,
            fmt::format("no start file sets up genv in {}, so \"genv activate\" fails there", name),
            setUpAdvice(*shell)};
}

} // namespace genv::ctl::doctor
