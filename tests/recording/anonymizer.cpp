// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tests/recording/anonymizer.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <regex>
#include <utility>

namespace genv::recording {

using nlohmann::json;

namespace {

constexpr std::size_t uuidSize = 36;
// An id that is shorter may be any number, and is replaced only beside its label.
constexpr std::size_t shortestId = 6;
// genv knows the server of MPS by this name.
constexpr std::string_view keptProgram = "nvidia-cuda-mps-server";

// A longer line is no row of a table.
constexpr std::size_t maxRow = 1000;

// What nvidia-smi -q -x and -q call the ids of a board.
constexpr std::array<std::pair<const char*, const char*>, 7> idNames{
    {{"serial", "Serial Number"},
     {"pdi", "GPU PDI"},
     {"chassis_serial_number", "Chassis Serial Number"},
     {"gpu_fabric_guid", "GPU Fabric GUID"},
     {"host_id", "Host ID"},
     {"clusterUuid", "ClusterUUID"},
     {"board_id", "Board ID"}}};

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

// An offset and a size.
using Place = std::pair<std::size_t, std::size_t>;

// Returns the place of the value in a line of -q -x, "<tag>value</tag>", or of -q, "Label : value".
std::optional<Place> valueAt(std::string_view line, const std::string& tag,
                             const std::string& label) {
    const std::size_t open = line.find('<' + tag + '>');
    if (open != std::string_view::npos) {
        const std::size_t begin = open + tag.size() + 2;
        const std::size_t end = line.find("</" + tag, begin);
        return Place{begin, std::min(end, line.size()) - begin};
    }
    const std::size_t colon = line.find(" : ");
    if (colon == std::string_view::npos || trimmed(line.substr(0, colon)) != label)
        return std::nullopt;
    return Place{colon + 3, line.size() - colon - 3};
}

// Returns the places of the ids of boards in a line.
std::vector<Place> idsIn(std::string_view line) {
    std::vector<Place> places;
    for (const auto& [tag, label] : idNames) {
        if (const auto place = valueAt(line, tag, label))
            places.push_back(*place);
    }
    return places;
}

std::vector<std::string> linesOf(std::string_view text) {
    std::vector<std::string> lines;
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t end = std::min(text.find('\n', at), text.size());
        lines.emplace_back(text.substr(at, end - at));
        at = end + 1;
    }
    return lines;
}

// A row about a process in a table, a monitor or a CSV query.
struct Row {
    std::string pid;
    std::string name;
};

std::optional<Row> parseRow(const std::string& line) {
    static const std::regex table(
        R"(\|\s+\d+\s+(?:(?:N/A|\d+)\s+(?:N/A|\d+)\s+)?(\d+)\s+[CGM+]+\s+(\S.*\S|\S)\s+\S+\s*\|)");
    static const std::regex monitor(R"(\s*\d+\s+(\d+)\s+[CGM+]+\s.*\s(\S+)\s*)");
    static const std::regex csv(R"((?:GPU|MIG)-[^,]*, (\d+), ([^,]+), .*)");
    std::smatch found;
    if (line.size() < maxRow &&
        (std::regex_match(line, found, table) || std::regex_match(line, found, monitor) ||
         std::regex_match(line, found, csv)))
        return Row{found[1], found[2]};
    return std::nullopt;
}

std::string_view programOf(std::string_view name) {
    const std::string_view path = name.substr(0, name.find(' '));
    return path.substr(path.rfind('/') + 1);
}

bool isNoName(std::string_view name) {
    return name.empty() || name == "-" || name == "N/A" || name.starts_with('[') ||
           programOf(name) == keptProgram;
}

// Replaces the name of a process in a row. A table shortens a long name: "...n/python3". A monitor
// prints only the program, and only its beginning. Returns whether the row has the name.
bool replaceName(std::string& line, const std::string& name, const std::string& other) {
    const auto replaceFirst = [&line](const std::string& from, const std::string& to) {
        const std::size_t at = line.find(from);
        if (at != std::string::npos)
            line.replace(at, from.size(), to);
        return at != std::string::npos;
    };
    if (replaceFirst(name, other))
        return true;
    for (std::size_t length = name.size() - 1; length > 2 && length < name.size(); --length) {
        const std::size_t rest = name.size() - length;
        if (replaceFirst("..." + name.substr(rest), "..." + other.substr(rest)) ||
            replaceFirst(name.substr(0, length) + "...", other.substr(0, length) + "..."))
            return true;
    }
    const std::string_view program = programOf(name);
    const std::string_view content = trimmed(line);
    for (std::size_t length = program.size(); length > 0; --length) {
        if (!content.ends_with(' ' + std::string(program.substr(0, length))))
            continue;
        const auto end = static_cast<std::size_t>(content.data() - line.data()) + content.size();
        line.replace(end - length, length, programOf(other).substr(0, length));
        return true;
    }
    return false;
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
    const auto [first, last] = processes_.equal_range(pid);
    if (std::none_of(first, last, [&](const auto& known) { return known.second.original == name; }))
        processes_.emplace(pid, Name{name, found->second});
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

void Anonymizer::learnIds(const std::string& line) {
    for (const auto& [begin, size] : idsIn(line))
        replaceId(line.substr(begin, size));
}

// A row may show a process that started after NVML was asked.
void Anonymizer::learnRow(const std::string& line) {
    const std::optional<Row> row = parseRow(line);
    if (!row || isNoName(row->name))
        return;
    std::string copy = line;
    if (!replaceNames(copy))
        learnName(row->pid, row->name);
}

void Anonymizer::learnOutput(std::string_view text) {
    std::string pid;
    for (const std::string& line : linesOf(text)) {
        learnIds(line);
        if (const auto number = valueAt(line, "pid", "Process ID"))
            pid = line.substr(number->first, number->second);
        if (const auto name = valueAt(line, "process_name", "Name"))
            learnName(pid, line.substr(name->first, name->second));
        else
            learnRow(line);
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

bool Anonymizer::replaceNames(std::string& line) const {
    if (const auto place = valueAt(line, "process_name", "Name")) {
        const auto known = names_.find(line.substr(place->first, place->second));
        if (known != names_.end())
            line.replace(place->first, place->second, known->second);
        return known != names_.end();
    }
    return std::any_of(processes_.begin(), processes_.end(), [&line](const auto& process) {
        const auto& [pid, name] = process;
        return hasWord(line, pid) && replaceName(line, name.original, name.replacement);
    });
}

std::string Anonymizer::replaceLine(std::string line) {
    line = replaceUuids(line);
    const std::vector<Place> places = idsIn(line);
    for (const auto& [begin, size] : places)
        line.replace(begin, size, replaceId(line.substr(begin, size)));
    for (const auto& [id, other] : ids_) {
        if (places.empty() && id.size() >= shortestId)
            replaceWord(line, id, other);
    }
    replaceNames(line);
    if (!host_.empty())
        replaceWord(line, host_, "host");
    return line;
}

std::string Anonymizer::replacedText(std::string_view text) {
    std::string result;
    for (const std::string& line : linesOf(text))
        result += replaceLine(line) + '\n';
    if (!text.empty() && !text.ends_with('\n'))
        result.pop_back();
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
