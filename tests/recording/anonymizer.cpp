// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tests/recording/anonymizer.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

namespace genv::recording {

using nlohmann::json;

namespace {

constexpr std::size_t uuidSize = 36;
// An id that is shorter may be any number, and is replaced only beside its label.
constexpr std::size_t shortestId = 6;
// genv knows the server of MPS by this name.
constexpr std::string_view keptProgram = "nvidia-cuda-mps-server";

// What nvidia-smi -q -x and -q call the ids of a board.
constexpr std::array idTags{"serial",          "pdi",     "chassis_serial_number",
                            "gpu_fabric_guid", "host_id", "board_id"};
constexpr std::array idLabels{"Serial Number",   "GPU PDI", "Chassis Serial Number",
                              "GPU Fabric GUID", "Host Id", "Host ID",
                              "Board ID"};

bool isWordCharacter(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

bool isUuidAt(std::string_view text, std::size_t at) {
    if (at + uuidSize > text.size())
        return false;
    for (std::size_t i = 0; i < uuidSize; ++i) {
        const char c = text[at + i];
        const bool isHyphen = i == 8 || i == 13 || i == 18 || i == 23;
        if (isHyphen ? c != '-' : std::isxdigit(static_cast<unsigned char>(c)) == 0)
            return false;
    }
    return true;
}

std::string padded(std::size_t number, std::size_t size, char fill) {
    const std::string digits = std::to_string(number);
    if (digits.size() >= size)
        return digits.substr(digits.size() - size);
    return std::string(size - digits.size(), fill) + digits;
}

// Returns whether an id says that there is none: N/A, zeros.
bool isNoId(std::string_view id) {
    const std::string_view digits = id.starts_with("0x") ? id.substr(2) : id;
    return std::none_of(digits.begin(), digits.end(), [](char c) { return c >= '1' && c <= '9'; });
}

// Replaces a text where it stands as a word of its own.
void replaceWord(std::string& line, std::string_view from, std::string_view to) {
    for (std::size_t at = line.find(from); at != std::string::npos; at = line.find(from, at)) {
        const std::size_t end = at + from.size();
        const bool isWord = (at == 0 || !isWordCharacter(line[at - 1])) &&
                            (end == line.size() || !isWordCharacter(line[end]));
        if (isWord)
            line.replace(at, from.size(), to);
        at += isWord ? to.size() : 1;
    }
}

bool hasWord(std::string line, std::string_view word) {
    const std::string before = line;
    replaceWord(line, word, std::string(word.size(), '\0'));
    return line != before;
}

std::string_view trimmed(std::string_view text) {
    const std::size_t first = text.find_first_not_of(" \t");
    if (first == std::string_view::npos)
        return {};
    return text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

// Returns the part between two texts, as offset and size.
std::optional<std::pair<std::size_t, std::size_t>>
between(std::string_view line, const std::string& before, const std::string& after) {
    const std::size_t at = line.find(before);
    if (at == std::string_view::npos)
        return std::nullopt;
    const std::size_t begin = at + before.size();
    const std::size_t end = after.empty() ? line.size() : line.find(after, begin);
    if (end == std::string_view::npos)
        return std::nullopt;
    return std::pair{begin, end - begin};
}

// Returns the place of the value in a line of -q, "   Label   : value", or of -q -x.
std::optional<std::pair<std::size_t, std::size_t>> valueOf(std::string_view line,
                                                           const std::string& label) {
    const std::size_t colon = line.find(" : ");
    if (colon == std::string_view::npos || trimmed(line.substr(0, colon)) != label)
        return std::nullopt;
    return std::pair{colon + 3, line.size() - colon - 3};
}

std::string_view programOf(std::string_view name) {
    const std::string_view path = name.substr(0, name.find(' '));
    return path.substr(path.rfind('/') + 1);
}

bool isNoName(std::string_view name) {
    return name.empty() || name == "-" || name == "N/A" || name.starts_with('[') ||
           programOf(name) == keptProgram;
}

} // namespace

std::string replacedName(std::string_view name, std::size_t number) {
    const std::string_view program = programOf(name);
    const auto at = static_cast<std::size_t>(program.data() - name.data());
    std::string result(name);
    for (std::size_t i = 0; i < at; ++i) {
        if (result[i] != '/')
            result[i] = 'd';
    }
    result.replace(at, program.size(), padded(number, program.size(), 'p'));
    for (std::size_t i = at + program.size(); i < result.size(); ++i) {
        if (result[i] != ' ')
            result[i] = 'a';
    }
    return result;
}

void Anonymizer::learnName(const std::string& pid, const std::string& name) {
    if (isNoName(name))
        return;
    const auto [found, isNew] = names_.try_emplace(name);
    if (isNew)
        found->second = replacedName(name, names_.size());
    processes_.try_emplace(pid, Name{name, found->second});
}

void Anonymizer::learn(const json& answers) {
    const json none = json::object();
    for (const json& device : answers.value("devices", json::array())) {
        const json serial = device.value("answers", none).value("nvmlDeviceGetSerial", none);
        replaceId(serial.value("value", ""));
    }
    const json names = answers.value("system", none).value("nvmlSystemGetProcessName", none);
    for (const auto& [pid, answer] : names.items())
        learnName(pid, answer.value("value", ""));
}

void Anonymizer::learnReport(std::string_view xml) {
    std::string pid;
    for (std::size_t at = 0; at < xml.size();) {
        const std::size_t end = std::min(xml.find('\n', at), xml.size());
        const std::string_view line = xml.substr(at, end - at);
        at = end + 1;
        for (const char* tag : idTags) {
            if (const auto place =
                    between(line, std::string("<") + tag + ">", std::string("</") + tag))
                replaceId(std::string(line.substr(place->first, place->second)));
        }
        if (const auto place = between(line, "<pid>", "</pid>"))
            pid = line.substr(place->first, place->second);
        if (const auto place = between(line, "<process_name>", "</process_name>"))
            learnName(pid, std::string(line.substr(place->first, place->second)));
    }
}

std::string Anonymizer::replaceUuids(std::string_view text) {
    std::string result;
    for (std::size_t at = 0; at < text.size();) {
        if (!isUuidAt(text, at)) {
            result += text[at++];
            continue;
        }
        const std::string uuid(text.substr(at, uuidSize));
        if (isNoId(uuid) && uuid.find_first_not_of("0-") == std::string::npos) {
            result += uuid;
        } else {
            const auto [found, isNew] = uuids_.try_emplace(uuid);
            if (isNew)
                found->second = "00000000-0000-0000-0000-" + padded(uuids_.size(), 12, '0');
            result += found->second;
        }
        at += uuidSize;
    }
    return result;
}

std::string Anonymizer::replaceId(const std::string& id) {
    if (isNoId(id) || isUuidAt(id, 0))
        return id;
    const auto [found, isNew] = ids_.try_emplace(id);
    if (isNew) {
        const std::string prefix = id.starts_with("0x") ? "0x" : "";
        const std::size_t size = id.size() - prefix.size();
        found->second =
            prefix + (size > 1 ? "1" + padded(ids_.size(), size - 1, '0') : std::string("1"));
    }
    return found->second;
}

// A table shortens a long name: "...n/python3". A monitor prints only the program, and its
// beginning.
void Anonymizer::replaceNamesOf(const std::string& pid, std::string& line) const {
    if (!hasWord(line, pid))
        return;
    const Name& name = processes_.at(pid);
    const auto replaceFirst = [&line](const std::string& from, const std::string& to) {
        const std::size_t at = line.find(from);
        if (at != std::string::npos)
            line.replace(at, from.size(), to);
        return at != std::string::npos;
    };
    if (replaceFirst(name.original, name.replacement))
        return;
    const std::size_t size = name.original.size();
    for (std::size_t length = size - 1; length > 2; --length) {
        if (replaceFirst("..." + name.original.substr(size - length),
                         "..." + name.replacement.substr(size - length)) ||
            replaceFirst(name.original.substr(0, length) + "...",
                         name.replacement.substr(0, length) + "..."))
            return;
    }
    const std::string_view program = programOf(name.original);
    const std::string_view other = programOf(name.replacement);
    const std::string_view content = trimmed(line);
    for (std::size_t length = program.size(); length > 0; --length) {
        if (!content.ends_with(" " + std::string(program.substr(0, length))))
            continue;
        const auto at =
            static_cast<std::size_t>(content.data() - line.data()) + content.size() - length;
        line.replace(at, length, other.substr(0, length));
        return;
    }
}

void Anonymizer::replaceNames(std::string& line) const {
    for (const auto& [before, after] :
         {std::pair{"<process_name>", "</process_name>"}, {"<name>", "</name>"}}) {
        if (const auto place = between(line, before, after)) {
            const auto known = names_.find(line.substr(place->first, place->second));
            if (known != names_.end())
                line.replace(place->first, place->second, known->second);
            return;
        }
    }
    if (const auto place = valueOf(line, "Name")) {
        const auto known = names_.find(line.substr(place->first, place->second));
        if (known != names_.end())
            line.replace(place->first, place->second, known->second);
        return;
    }
    for (const auto& [pid, name] : processes_)
        replaceNamesOf(pid, line);
}

std::string Anonymizer::replaceLine(std::string line) {
    line = replaceUuids(line);
    bool isDone = false;
    for (const char* tag : idTags) {
        if (const auto place =
                between(line, std::string("<") + tag + ">", std::string("</") + tag)) {
            line.replace(place->first, place->second,
                         replaceId(line.substr(place->first, place->second)));
            isDone = true;
        }
    }
    for (const char* label : idLabels) {
        if (const auto place = valueOf(line, label)) {
            line.replace(place->first, place->second,
                         replaceId(line.substr(place->first, place->second)));
            isDone = true;
        }
    }
    for (const auto& [id, other] : ids_) {
        if (!isDone && id.size() >= shortestId)
            replaceWord(line, id, other);
    }
    replaceNames(line);
    if (!host_.empty())
        replaceWord(line, host_, "host");
    return line;
}

std::string Anonymizer::replacedText(std::string_view text) {
    std::string result;
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t end = std::min(text.find('\n', at), text.size());
        result += replaceLine(std::string(text.substr(at, end - at)));
        if (end < text.size())
            result += '\n';
        at = end + 1;
    }
    return result;
}

json Anonymizer::replacedFor(std::string_view function, const json& value) {
    if (value.is_string()) {
        const auto& text = value.get_ref<const std::string&>();
        if (function == "nvmlDeviceGetSerial")
            return replaceId(text);
        if (function == "nvmlSystemGetProcessName") {
            const auto known = names_.find(text);
            return known != names_.end() ? known->second : text;
        }
        return replacedText(text);
    }
    if (!value.is_structured())
        return value;
    json result = value;
    for (auto it = result.begin(); it != result.end(); ++it) {
        const bool isFunction = value.is_object() && it.key().starts_with("nvml");
        *it = replacedFor(isFunction ? std::string_view(it.key()) : function, *it);
    }
    return result;
}

json Anonymizer::replacedAnswers(const json& answers) {
    return replacedFor("", answers);
}

std::optional<std::string> Anonymizer::findOriginal(std::string_view text) const {
    const auto isIn = [text](const std::string& original) {
        return text.find(original) != std::string_view::npos;
    };
    for (const auto& [uuid, other] : uuids_) {
        std::string plain = uuid;
        std::erase(plain, '-');
        if (uuid != other && (isIn(uuid) || isIn(plain)))
            return uuid;
    }
    for (const auto& [id, other] : ids_) {
        if (id != other && id.size() >= shortestId && hasWord(std::string(text), id))
            return id;
    }
    for (const auto& [name, other] : names_) {
        if (name != other && name.size() >= shortestId && name.find('/') != std::string::npos &&
            isIn(name))
            return name;
    }
    return std::nullopt;
}

} // namespace genv::recording
