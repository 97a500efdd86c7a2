// SPDX-License-Identifier: LGPL-2.1-or-later
#include "service/settings_file.hpp"

#include "core/error.hpp"
#include "core/text.hpp"
#include "service/settings_keys.hpp"

#include <fmt/ranges.h>
#include <glib.h>

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

[[noreturn]] void failAt(const std::filesystem::path& file, std::size_t line,
                         const std::string& what) {
    core::fail(core::ErrorCode::InvalidArgs, "{}:{}: {}", file.string(), line, what);
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
            if (content.empty() || content.front() == '#')
                continue;
            if (content.front() == '[' && content.back() == ']') {
                group = content.substr(1, content.size() - 2);
                entries_.push_back({number, group, ""});
            } else if (const std::size_t equals = content.find('=');
                       equals != std::string_view::npos && equals > 0) {
                entries_.push_back(
                    {number, group, std::string(trimmed(content.substr(0, equals)))});
            } else if (bad_ == 0) {
                bad_ = number;
            }
        }
    }

    [[nodiscard]] std::size_t of(std::string_view group, std::string_view key = "") const {
        const auto found = std::find_if(entries_.rbegin(), entries_.rend(), [&](const Entry& e) {
            return e.group == group && e.key == key;
        });
        return found == entries_.rend() ? 0 : found->line;
    }
    [[nodiscard]] std::size_t firstBad() const { return bad_; }

  private:
    struct Entry {
        std::size_t line;
        std::string group;
        std::string key;
    };
    std::vector<Entry> entries_;
    std::size_t bad_ = 0;
};

std::string readText(const std::filesystem::path& file) {
    std::ifstream stream(file, std::ios::binary);
    std::ostringstream text;
    text << stream.rdbuf();
    if (!stream)
        core::fail(core::ErrorCode::InvalidArgs, "{}: it cannot be read", file.string());
    return text.str();
}

KeyFile parse(const std::filesystem::path& file, const std::string& text, const Lines& lines) {
    KeyFile parsed(g_key_file_new());
    GError* failure = nullptr;
    if (lines.firstBad() == 0 &&
        (text.empty() || g_key_file_load_from_data(parsed.get(), text.data(), text.size(),
                                                   G_KEY_FILE_NONE, &failure)))
        return parsed;
    g_clear_error(&failure); // its text quotes the file, which may hold anything
    failAt(file, std::max<std::size_t>(lines.firstBad(), 1),
           "this is neither a [Section], nor Key=Value, nor a comment that begins with #");
}

void readGroup(const std::filesystem::path& file, GKeyFile* parsed, const std::string& group,
               const Lines& lines, core::Settings& settings) {
    const std::optional<Section> section = findSection(group);
    if (!section)
        failAt(file, lines.of(group),
               fmt::format("there is no section [{}]; the sections are [GPU], [Enforcement], "
                           "[Limits], [User NAME] and [Group NAME]",
                           core::escaped(group)));
    const Strings names(g_key_file_get_keys(parsed, group.c_str(), nullptr, nullptr));
    for (gchar** name = names.get(); *name != nullptr; ++name) {
        const std::size_t line = lines.of(group, *name);
        if (!section->knows(*name))
            failAt(file, line,
                   fmt::format("there is no \"{}\" in [{}]; it may hold {}", core::escaped(*name),
                               core::escaped(group), fmt::join(section->keys(), ", ")));
        const std::unique_ptr<gchar, decltype(&g_free)> value(
            g_key_file_get_value(parsed, group.c_str(), *name, nullptr), &g_free);
        try {
            section->read(*name, std::string(trimmed(value.get())), settings);
        } catch (const core::Error& error) {
            failAt(file, line, fmt::format("{}: {}", *name, error.what()));
        }
    }
}

} // namespace

void readSettingsFile(const std::filesystem::path& file, core::Settings& settings) {
    const std::string text = readText(file);
    const Lines lines(text);
    const KeyFile parsed = parse(file, text, lines);
    const Strings groups(g_key_file_get_groups(parsed.get(), nullptr));
    for (gchar** group = groups.get(); *group != nullptr; ++group)
        readGroup(file, parsed.get(), *group, lines, settings);
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
