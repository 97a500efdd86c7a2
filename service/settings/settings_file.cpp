// SPDX-License-Identifier: LGPL-2.1-or-later
#include "service/settings/settings_file.hpp"

#include "core/error.hpp"
#include "core/text.hpp"
#include "service/settings/settings_keys.hpp"

#include <fmt/ranges.h>
#include <glib.h>
#include <grp.h>
#include <pwd.h>

#include <algorithm>
#include <fstream>
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

// What is wrong in a file.
struct Complaint {
    std::size_t line;
    std::string what;
};
using Complaints = std::vector<Complaint>;

std::string textOf(const std::filesystem::path& file, const Complaint& complaint) {
    return fmt::format("{}:{}: {}", file.string(), complaint.line, complaint.what);
}

std::string_view trimmed(std::string_view text) {
    const std::size_t first = text.find_first_not_of(" \t\r");
    if (first == std::string_view::npos)
        return {};
    return text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

// Where things stand in a file; GLib's parser does not say. Line 0: nowhere.
class Lines {
  public:
    explicit Lines(const std::string& text) {
        std::istringstream stream(text);
        std::string group;
        std::size_t number = 0;
        for (std::string line; std::getline(stream, line);) {
            ++number;
            const std::string_view content = trimmed(line);
            if (content.empty() || content.front() == '#') {
                good_ += '\n';
                continue;
            }
            good_ += line + '\n';
            if (content.front() == '[' && content.back() == ']') {
                group = content.substr(1, content.size() - 2);
                entries_.push_back({number, group, ""});
            } else if (const std::size_t equals = content.find('=');
                       equals != std::string_view::npos && equals > 0) {
                entries_.push_back(
                    {number, group, std::string(trimmed(content.substr(0, equals)))});
            } else {
                bad_.push_back(number);
                good_.resize(good_.size() - line.size() - 1);
                good_ += '\n';
            }
        }
    }

    [[nodiscard]] std::size_t of(std::string_view group, std::string_view key = "") const {
        const auto found = std::find_if(entries_.rbegin(), entries_.rend(), [&](const Entry& e) {
            return e.group == group && e.key == key;
        });
        return found == entries_.rend() ? 0 : found->line;
    }
    /// Those that are nothing that a file may hold.
    [[nodiscard]] const std::vector<std::size_t>& bad() const { return bad_; }
    /// The text without them.
    [[nodiscard]] const std::string& good() const { return good_; }

  private:
    struct Entry {
        std::size_t line;
        std::string group;
        std::string key;
    };
    std::vector<Entry> entries_;
    std::vector<std::size_t> bad_;
    std::string good_;
};

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

KeyFile parse(const Lines& lines, Complaints& complaints) {
    for (const std::size_t line : lines.bad())
        complaints.push_back({line, noLine});
    KeyFile parsed(g_key_file_new());
    GError* failure = nullptr;
    const std::string& text = lines.good();
    if (text.empty() || g_key_file_load_from_data(parsed.get(), text.data(), text.size(),
                                                  G_KEY_FILE_NONE, &failure))
        return parsed;
    g_clear_error(&failure); // its text quotes the file, which may hold anything
    if (complaints.empty())
        complaints.push_back({1, noLine});
    return KeyFile(g_key_file_new());
}

void readKey(const Section& section, const std::string& name, const std::string& value,
             std::size_t line, core::Settings& settings, Complaints& complaints) {
    try {
        section.read(name, value, settings);
    } catch (const core::Error& error) {
        complaints.push_back({line, fmt::format("{}: {}", name, error.what())});
    }
}

void readGroup(GKeyFile* parsed, const std::string& group, const Lines& lines,
               core::Settings& settings, Complaints& complaints) {
    const std::optional<Section> section = findSection(group);
    if (!section) {
        complaints.push_back(
            {lines.of(group),
             fmt::format(
                 "there is no section [{}]; the sections are [GPU], [Enforcement], [Queue], "
                 "[Limits], [User NAME] and [Group NAME]",
                 core::escaped(group))});
        return;
    }
    const Strings names(g_key_file_get_keys(parsed, group.c_str(), nullptr, nullptr));
    for (gchar** name = names.get(); *name != nullptr; ++name) {
        const std::size_t line = lines.of(group, *name);
        if (!section->knows(*name)) {
            complaints.push_back({line, fmt::format("there is no \"{}\" in [{}]; it may hold {}",
                                                    core::escaped(*name), core::escaped(group),
                                                    fmt::join(section->keys(), ", "))});
            continue;
        }
        const std::unique_ptr<gchar, decltype(&g_free)> value(
            g_key_file_get_value(parsed, group.c_str(), *name, nullptr), &g_free);
        readKey(*section, *name, std::string(trimmed(value.get())), line, settings, complaints);
    }
}

// Nothing where there is somebody of this name, or the section is nobody's.
std::string unknownName(const std::string& group) {
    const auto nameAfter = [&](std::string_view prefix) {
        return group.starts_with(prefix) ? group.substr(prefix.size()) : std::string();
    };
    const std::string user = nameAfter("User ");
    if (!user.empty() && getpwnam(user.c_str()) == nullptr)
        return fmt::format("there is no user \"{}\"", core::escaped(user));
    const std::string users = nameAfter("Group ");
    if (!users.empty() && getgrnam(users.c_str()) == nullptr)
        return fmt::format("there is no group \"{}\"", core::escaped(users));
    return {};
}

// `warnings`: what the service takes, but may not be meant; null where nobody reads them.
Complaints readFile(const std::filesystem::path& file, core::Settings& settings,
                    Complaints* warnings) {
    const Lines lines(readText(file));
    Complaints complaints;
    const KeyFile parsed = parse(lines, complaints);
    const Strings groups(g_key_file_get_groups(parsed.get(), nullptr));
    for (gchar** group = groups.get(); *group != nullptr; ++group) {
        readGroup(parsed.get(), *group, lines, settings, complaints);
        if (std::string unknown = warnings != nullptr ? unknownName(*group) : ""; !unknown.empty())
            warnings->push_back({lines.of(*group), "warning: " + std::move(unknown)});
    }
    std::stable_sort(complaints.begin(), complaints.end(),
                     [](const Complaint& a, const Complaint& b) { return a.line < b.line; });
    return complaints;
}

} // namespace

void readSettingsFile(const std::filesystem::path& file, core::Settings& settings) {
    const Complaints complaints = readFile(file, settings, nullptr);
    if (!complaints.empty())
        core::fail(core::ErrorCode::InvalidArgs, "{}", textOf(file, complaints.front()));
}

SettingsCheck checkSettingsFile(const std::filesystem::path& file) {
    core::Settings unused;
    Complaints warnings;
    SettingsCheck check;
    try {
        for (const Complaint& complaint : readFile(file, unused, &warnings))
            check.errors.push_back(textOf(file, complaint));
    } catch (const core::Error& error) {
        check.errors.emplace_back(error.what());
    }
    for (const Complaint& warning : warnings)
        check.warnings.push_back(textOf(file, warning));
    return check;
}

core::Settings readSettings(const std::filesystem::path& directory) {
    core::Settings settings;
    std::vector<std::filesystem::path> files;
    std::error_code none;
    if (std::filesystem::exists(directory / "genvd.conf", none))
        files.push_back(directory / "genvd.conf");
    std::vector<std::filesystem::path> dropIns;
    for (const auto& entry :
         std::filesystem::directory_iterator(directory / "genvd.conf.d", none)) {
        if (entry.path().extension() == ".conf")
            dropIns.push_back(entry.path());
    }
    std::sort(dropIns.begin(), dropIns.end());
    files.insert(files.end(), dropIns.begin(), dropIns.end());
    for (const std::filesystem::path& file : files)
        readSettingsFile(file, settings);
    return settings;
}

} // namespace genv::service
