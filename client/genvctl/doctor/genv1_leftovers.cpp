// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/genvctl/doctor/genv1_leftovers.hpp"

#include "client/descriptor_functions.hpp"
#include "client/search_path.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <system_error>

namespace genv::ctl {

namespace {

namespace fs = std::filesystem;
using Kind = Genv1Leftover::Kind;

// No start file is longer. The first lines of a script are enough to recognise genv 1.
constexpr std::size_t maxStartFile = 256 << 10;
constexpr std::size_t maxScript = 4 << 10;

// pip, conda, pyenv and a clone of the repository install these folders in each home.
constexpr std::array homeFolders{".local/bin", "genv/bin"};
constexpr std::array condaFolders{"miniconda3", "anaconda3", "miniforge3",
                                  "mambaforge", ".conda",    ".pyenv"};
constexpr std::array systemFolders{"/usr/local/bin", "/usr/local/sbin", "/usr/local/genv/bin"};
constexpr std::array startFileNames{".bashrc", ".bash_profile", ".bash_login", ".profile",
                                    ".zshrc",  ".zshenv",       ".zprofile"};
constexpr std::array systemStartFiles{"/etc/environment", "/etc/profile", "/etc/bash.bashrc",
                                      "/etc/zsh/zshrc", "/etc/zsh/zshenv"};

// Returns the beginning of a regular file, or nothing if the file cannot be read. Other users
// control these paths and root may run this check. Opening a device can have side effects, so a
// file is opened only after it is known to be a regular file.
std::string beginningOf(const fs::path& file, std::size_t limit, bool mustBeExecutable = false) {
    const client::Descriptor place(open(file.c_str(), O_PATH | O_CLOEXEC));
    struct stat facts {};
    constexpr mode_t executable = S_IXUSR | S_IXGRP | S_IXOTH;
    if (place.get() < 0 || fstat(place.get(), &facts) != 0 || !S_ISREG(facts.st_mode) ||
        (mustBeExecutable && (facts.st_mode & executable) == 0))
        return {};
    const std::string same = "/proc/self/fd/" + std::to_string(place.get());
    const client::Descriptor readable(open(same.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    if (readable.get() < 0)
        return {};
    std::string text(limit, '\0');
    const ssize_t count = read(readable.get(), text.data(), text.size());
    text.resize(count > 0 ? static_cast<std::size_t>(count) : 0);
    return text;
}

// The command of genv 1 is a script, and that of this version is not. A wrapper around this version
// contains the name genvctl.
bool isGenv1(const fs::path& program) {
    const std::string text = beginningOf(program, maxScript, true);
    return text.starts_with("#!") && text.find("genv") != std::string::npos &&
           text.find("genvctl") == std::string::npos;
}

std::vector<std::string> split(std::string_view text, std::string_view separators) {
    std::vector<std::string> parts;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find_first_of(separators), text.size());
        if (end > 0)
            parts.emplace_back(text.substr(0, end));
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return parts;
}

// Returns the sorted entries. Returns none if the folder is missing or not readable.
std::vector<fs::path> entriesOf(const fs::path& folder) {
    std::vector<fs::path> entries;
    std::error_code none;
    for (fs::directory_iterator entry(folder, none), end; !none && entry != end;
         entry.increment(none))
        entries.push_back(entry->path());
    std::sort(entries.begin(), entries.end());
    return entries;
}

class Search {
  public:
    explicit Search(const SystemPlaces& places) : places_(places) {}

    std::vector<Genv1Leftover> run() {
        if (const auto winner = genv1OnPath(places_))
            add(Kind::Program, *winner, true);
        for (const std::string& folder : client::searchFolders(places_.searchPath))
            lookForProgram(folder);
        for (const char* folder : systemFolders)
            lookForProgram(places_.at(folder));
        for (const fs::path& folder : entriesOf(places_.at("/opt")))
            lookForPythons(folder);
        for (const char* name : condaFolders)
            lookForPythons(places_.at("/usr/local") / name);
        lookForPackages(places_.at("/usr/local/lib"));
        for (const fs::path& python : places_.pythons) {
            lookForProgram(python / "bin");
            lookForPackages(python / "lib");
        }
        for (const char* file : systemStartFiles)
            lookForStartFile(places_.at(file), {});
        for (const fs::path& file : entriesOf(places_.at("/etc/profile.d")))
            lookForStartFile(file, {});
        for (const fs::path& home : places_.homes())
            lookBelow(home);
        lookForState();
        return std::move(found_);
    }

  private:
    void add(Kind kind, const fs::path& path, bool wins = false) {
        const bool isKnown = std::any_of(found_.begin(), found_.end(),
                                         [&](const auto& known) { return known.path == path; });
        if (!isKnown)
            found_.push_back({kind, path, wins});
    }

    void lookForProgram(const fs::path& folder) {
        if (folder.is_absolute() && isGenv1(folder / "genv"))
            add(Kind::Program, folder / "genv");
    }

    void lookForPythons(const fs::path& folder) {
        lookForProgram(folder / "bin");
        for (const char* several : {"envs", "versions"}) {
            for (const fs::path& python : entriesOf(folder / several))
                lookForProgram(python / "bin");
        }
    }

    void lookForPackages(const fs::path& library) {
        for (const fs::path& python : entriesOf(library)) {
            if (!python.filename().string().starts_with("python3"))
                continue;
            for (const char* packages : {"dist-packages", "site-packages"}) {
                for (const fs::path& entry : entriesOf(python / packages)) {
                    const std::string name = entry.filename();
                    const bool isOld = name.starts_with("genv-0.") || name.starts_with("genv-1.");
                    if (isOld && (name.ends_with(".dist-info") || name.ends_with(".egg-info")))
                        add(Kind::Package, entry);
                }
            }
        }
    }

    // Checks whether a start file adds the program of genv 1 to PATH.
    void lookForStartFile(const fs::path& file, const fs::path& home) {
        for (const std::string& line : split(beginningOf(file, maxStartFile), "\n")) {
            if (line.find("PATH") == std::string::npos)
                continue;
            for (std::string word : split(line, ":=\"' \t;")) {
                for (const std::string_view name : {"$HOME/", "${HOME}/", "~/"}) {
                    if (word.starts_with(name) && !home.empty())
                        word = home / word.substr(name.size());
                }
                if (word.starts_with('/') && isGenv1(fs::path(word) / "genv"))
                    add(Kind::StartFile, file);
            }
        }
    }

    void lookBelow(const fs::path& home) {
        for (const char* folder : homeFolders)
            lookForProgram(home / folder);
        for (const char* name : condaFolders)
            lookForPythons(home / name);
        lookForPackages(home / ".local/lib");
        for (const char* file : startFileNames)
            lookForStartFile(home / file, home);
    }

    // All users may write there, so the content is not read.
    void lookForState() {
        const fs::path folder = places_.at("/var/tmp/genv");
        for (const char* file : {"devices.json", "envs.json"}) {
            struct stat facts {};
            if (lstat((folder / file).c_str(), &facts) == 0 && S_ISREG(facts.st_mode))
                return add(Kind::State, folder);
        }
    }

    const SystemPlaces& places_;
    std::vector<Genv1Leftover> found_;
};

} // namespace

std::optional<fs::path> genv1OnPath(const SystemPlaces& places) {
    for (const std::string& folder : client::searchFolders(places.searchPath)) {
        const fs::path program = fs::path(folder) / "genv";
        if (!program.is_absolute() || access(program.c_str(), X_OK) != 0 ||
            fs::is_directory(program))
            continue;
        return isGenv1(program) ? std::optional(program) : std::nullopt;
    }
    return std::nullopt;
}

std::vector<Genv1Leftover> findGenv1(const SystemPlaces& places) {
    return Search(places).run();
}

} // namespace genv::ctl
