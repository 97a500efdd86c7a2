// SPDX-License-Identifier: LGPL-2.1-or-later
#include "service/settings/settings_file.hpp"

#include "core/base/error.hpp"
#include "core/base/text.hpp"
#include "core/base/user_database.hpp"
#include "service/settings/settings_keys.hpp"

#include <fmt/ranges.h>
#include <glib.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace genv::service {

namespace {

struct FreeKeyFile {
    void operator()(GKeyFile* file) const { g_key_file_unref(file); }
};
using KeyFile = std::unique_ptr<GKeyFile, FreeKeyFile>;

struct FreeStrings {
    void operator()(gchar** strings) const { g_strfreev(strings); }
};
using Strings = std::unique_ptr<gchar*, FreeStrings>;

struct FreeText {
    void operator()(gchar* text) const { g_free(text); }
};
using Text = std::unique_ptr<gchar, FreeText>;

// An error in a file.
struct Complaint {
    std::size_t line;
    std::string what;
    std::string section{}; ///< empty before the first section
};
using Complaints = std::vector<Complaint>;

std::string textOf(const std::filesystem::path& file, const Complaint& complaint) {
    return fmt::format("{}:{}: {}", file.string(), complaint.line, complaint.what);
}

std::string readText(const std::filesystem::path& file) {
    std::error_code none;
    if (std::filesystem::is_directory(file, none))
        core::fail(core::ErrorCode::InvalidArgs, "{}: it is a directory, not a file",
                   file.string());
    std::ifstream stream(file, std::ios::binary);
    std::ostringstream text;
    text << stream.rdbuf();
    if (!stream)
        core::fail(core::ErrorCode::InvalidArgs, "{}: it cannot be read", file.string());
    return text.str();
}

constexpr const char* noLine =
    "this is neither a [Section], nor Key=Value, nor a comment that begins with #";

constexpr const char* isolationSection = "Isolation";

// A value and its line. If a file sets a key twice, the last value counts.
struct Entry {
    std::size_t line;
    std::string value;
};
using Entries = std::map<std::string, Entry>;
struct Group {
    std::size_t line;
    Entries keys{};
};
using Groups = std::map<std::string, Group>;

// Parses one line below the header of its section, because GLib does not report line numbers.
// Returns null for an invalid line.
KeyFile parseLine(const std::string& group, const std::string& line) {
    const std::string text = group.empty() ? line + "\n" : fmt::format("[{}]\n{}\n", group, line);
    KeyFile parsed(g_key_file_new());
    return g_key_file_load_from_data(parsed.get(), text.data(), text.size(), G_KEY_FILE_NONE,
                                     nullptr) != FALSE
               ? std::move(parsed)
               : nullptr;
}

Groups parse(const std::string& text, Complaints& complaints) {
    Groups groups;
    std::istringstream stream(text);
    std::string group;
    std::size_t number = 0;
    for (std::string line; std::getline(stream, line);) {
        ++number;
        const KeyFile parsed = parseLine(group, line);
        if (!parsed) {
            if (!group.empty() || complaints.empty()) // one error for a broken header
                complaints.push_back({number, noLine, group});
            continue;
        }
        const Strings names(g_key_file_get_groups(parsed.get(), nullptr));
        for (gchar** name = names.get(); *name != nullptr; ++name) {
            if (*name != group)
                groups[group = *name].line = number;
        }
        if (group.empty())
            continue;
        const Strings keys(g_key_file_get_keys(parsed.get(), group.c_str(), nullptr, nullptr));
        if (keys && *keys != nullptr) {
            const Text value(g_key_file_get_value(parsed.get(), group.c_str(), *keys, nullptr));
            groups[group].keys[*keys] = {number, g_strchomp(value.get())};
        }
    }
    return groups;
}

// Returns the error of a value, if any.
std::optional<std::string> readKey(const Section& section, const std::string& name,
                                   const std::string& value, core::Settings& settings) {
    try {
        section.read(name, value, settings);
        return std::nullopt;
    } catch (const core::Error& error) {
        return fmt::format("{}: {}", name, error.what());
    }
}

void readGroup(const std::string& name, const Group& group, core::Settings& settings,
               Complaints& complaints) {
    const std::optional<Section> section = findSection(name);
    if (!section) {
        complaints.push_back(
            {group.line,
             fmt::format("unknown section [{}]: expected [GPU], [Enforcement], [Queue], "
                         "[Isolation], [Slurm], [Parking], [Limits], [User NAME] or [Group NAME]",
                         core::escaped(name)),
             name});
        return;
    }
    for (const auto& [key, entry] : group.keys) {
        if (!section->has(key))
            complaints.push_back({entry.line,
                                  fmt::format("unknown setting \"{}\" in [{}]: expected one of {}",
                                              core::escaped(key), core::escaped(name),
                                              fmt::join(section->keys(), ", ")),
                                  name});
        else if (auto error = readKey(*section, key, entry.value, settings))
            complaints.push_back({entry.line, *std::move(error), name});
    }
}

// Collects warnings about valid entries that are probably mistakes. Asks the user database, which
// may block.
class NameWarnings {
  public:
    void addSection(const std::string& heading, std::size_t line) {
        constexpr std::string_view user = "User ";
        constexpr std::string_view group = "Group ";
        if (heading.starts_with(user))
            add(users_, "user", heading.substr(user.size()), line, core::uidOf);
        else if (heading.starts_with(group))
            add(groups_, "group", heading.substr(group.size()), line, core::gidOf);
    }
    void addExemptions(const std::vector<std::string>& names, std::size_t line) {
        for (const std::string& name : names) {
            try {
                if (!core::userNamed(name))
                    warn(line, fmt::format("unknown user \"{}\": the name exempts nobody",
                                           core::escaped(name)));
            } catch (const core::UserDatabaseError& error) {
                warn(line, silence("user", name, error));
            }
        }
    }
    [[nodiscard]] Complaints take() {
        for (const auto& [sections, kind] : {std::pair(&users_, "User"), {&groups_, "Group"}}) {
            for (const auto& [id, line] : sections->lastLines) {
                for (const std::string& sentence :
                     core::describeSharedIds({{{id, sections->ids.names.at(id)}}, {}, {}}, kind))
                    warn(line, sentence);
            }
        }
        std::ranges::stable_sort(warnings_, {}, &Complaint::line);
        return std::move(warnings_);
    }

  private:
    struct Sections {
        core::NamedIds ids;
        std::map<std::uint32_t, std::size_t> lastLines; // of the last section of each id
    };

    using Find = std::optional<std::uint32_t> (*)(const std::string& name);

    void add(Sections& sections, std::string_view kind, const std::string& name, std::size_t line,
             Find find) {
        try {
            const std::optional<std::uint32_t> id = find(name);
            if (!id) {
                warn(line, fmt::format("unknown {} \"{}\"", kind, core::escaped(name)));
                return;
            }
            sections.ids.names[*id].insert(name);
            std::size_t& last = sections.lastLines[*id];
            last = std::max(last, line);
        } catch (const core::UserDatabaseError& error) {
            warn(line, silence(kind, name, error));
        }
    }
    static std::string silence(std::string_view kind, const std::string& name,
                               const core::UserDatabaseError& error) {
        return fmt::format("cannot look up the {} \"{}\": {}", kind, core::escaped(name),
                           error.what());
    }
    void warn(std::size_t line, const std::string& what) {
        warnings_.push_back({line, "warning: " + what});
    }

    Sections users_;
    Sections groups_;
    Complaints warnings_;
};

// `warnings` receives valid entries that are probably mistakes. It is null if nothing reads them.
Complaints readFile(const std::filesystem::path& file, core::Settings& settings,
                    NameWarnings* warnings) {
    Complaints complaints;
    for (const auto& [name, group] : parse(readText(file), complaints)) {
        readGroup(name, group, settings, complaints);
        if (warnings == nullptr)
            continue;
        warnings->addSection(name, group.line);
        if (const auto exempt = group.keys.find("IsolationExempt");
            name == isolationSection && exempt != group.keys.end())
            warnings->addExemptions(settings.isolation.exemptUsers, exempt->second.line);
    }
    std::ranges::stable_sort(complaints, {}, &Complaint::line);
    return complaints;
}

// The kernel only refuses open(2), so a descriptor opened while the user held the device stays
// usable after that. The rule ends the processes that keep such descriptors.
void requireConsistent(const core::Settings& settings) {
    if (settings.isolation.mode == core::IsolationMode::User && !settings.rules.envDevices)
        core::fail(core::ErrorCode::InvalidArgs,
                   "Isolation=user needs EnvDevices=yes: the kernel cannot take an open GPU away "
                   "from a process, and that rule ends the processes that keep one; set "
                   "EnvDevices=yes in [Enforcement], or Isolation=watch");
}

// Returns the files of a configuration in the order in which they apply, with `replacement`, unless
// it is empty, in place of the file with its name.
std::vector<std::filesystem::path> filesOf(const std::filesystem::path& directory,
                                           const std::filesystem::path& replacement = {}) {
    std::error_code none;
    std::filesystem::path main;
    if (std::filesystem::exists(directory / "genvd.conf", none))
        main = directory / "genvd.conf";
    std::map<std::filesystem::path, std::filesystem::path> dropIns; // by name
    for (const auto& entry :
         std::filesystem::directory_iterator(directory / "genvd.conf.d", none)) {
        if (entry.path().extension() == ".conf")
            dropIns[entry.path().filename()] = entry.path();
    }
    const std::filesystem::path name = replacement.filename();
    if (name.extension() == ".conf" && name != "genvd.conf")
        dropIns[name] = replacement;
    else if (!replacement.empty())
        main = replacement;
    std::vector<std::filesystem::path> files;
    if (!main.empty())
        files.push_back(main);
    for (const auto& [dropIn, file] : dropIns)
        files.push_back(file);
    return files;
}

} // namespace

void readSettingsFile(const std::filesystem::path& file, core::Settings& settings) {
    const Complaints complaints = readFile(file, settings, nullptr);
    if (!complaints.empty())
        core::fail(core::ErrorCode::InvalidArgs, "{}", textOf(file, complaints.front()));
}

SettingsCheck checkSettingsFile(const std::filesystem::path& file) {
    core::Settings unused;
    NameWarnings warnings;
    SettingsCheck check;
    try {
        for (const Complaint& complaint : readFile(file, unused, &warnings))
            check.errors.push_back(textOf(file, complaint));
    } catch (const core::Error& error) {
        check.errors.emplace_back(error.what());
    }
    for (const Complaint& warning : warnings.take())
        check.warnings.push_back(textOf(file, warning));
    return check;
}

core::Settings readSettings(const std::filesystem::path& directory,
                            const std::filesystem::path& replacement) {
    core::Settings settings;
    for (const std::filesystem::path& file : filesOf(directory, replacement))
        readSettingsFile(file, settings);
    requireConsistent(settings);
    return settings;
}

IsolationConfiguration readIsolation(const std::filesystem::path& directory) {
    core::Settings settings;
    std::vector<std::string> errorsElsewhere;
    for (const std::filesystem::path& file : filesOf(directory)) {
        for (const Complaint& complaint : readFile(file, settings, nullptr)) {
            if (complaint.section == isolationSection)
                core::fail(core::ErrorCode::InvalidArgs, "{}", textOf(file, complaint));
            errorsElsewhere.push_back(textOf(file, complaint));
        }
    }
    requireConsistent(settings);
    return {settings.isolation, std::move(errorsElsewhere)};
}

} // namespace genv::service
