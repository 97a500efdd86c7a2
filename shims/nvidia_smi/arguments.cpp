// SPDX-License-Identifier: LGPL-2.1-or-later
#include "shims/nvidia_smi/arguments.hpp"

#include "shims/nvidia_smi/line_text.hpp"

#include <algorithm>
#include <array>
#include <map>

namespace genv::shims::nvidia_smi {

namespace {

using Words = std::vector<std::string>;

bool isOneOf(std::string_view word, const std::vector<std::string_view>& list) {
    return std::find(list.begin(), list.end(), word) != list.end();
}

// Returns whether a subcommand accepts -i with several GPUs. nvlink and power-hint accept only one.
// For topo and conf-compute, -i has another meaning.
bool takesIds(std::string_view subcommand) {
    return isOneOf(subcommand,
                   {"dmon", "pmon", "daemon", "stats", "clocks", "vgpu", "mig", "compute-policy",
                    "boost-slider", "encodersessions", "fbcsessions", "power-smoothing"});
}

// Options of the main command that change GPU settings. They take a value, in the same word or the
// next. The options in the second list take none.
const std::vector<std::string_view> changes{"-pm",
                                            "--persistence-mode",
                                            "-e",
                                            "--ecc-config",
                                            "-p",
                                            "--reset-ecc-errors",
                                            "-c",
                                            "--compute-mode",
                                            "-dm",
                                            "--driver-model",
                                            "-fdm",
                                            "--force-driver-model",
                                            "--gom",
                                            "-lgc",
                                            "--lock-gpu-clocks",
                                            "-lmc",
                                            "--lock-memory-clocks",
                                            "-ac",
                                            "--applications-clocks",
                                            "-pl",
                                            "--power-limit",
                                            "-am",
                                            "--accounting-mode",
                                            "-cc",
                                            "--cuda-clocks",
                                            "-mig",
                                            "--multi-instance-gpu",
                                            "-gtt",
                                            "--gpu-target-temp",
                                            "-lmcd",
                                            "--lock-memory-clocks-deferred",
                                            "-acp",
                                            "--applications-clocks-permission",
                                            "--auto-boost-default",
                                            "--auto-boost-default-force",
                                            "--auto-boost-permission"};
const std::vector<std::string_view> plainChanges{"-r",    "--gpu-reset",
                                                 "-rgc",  "--reset-gpu-clocks",
                                                 "-rac",  "--reset-applications-clocks",
                                                 "-rmc",  "--reset-memory-clocks",
                                                 "-rmcd", "--reset-memory-clocks-deferred",
                                                 "-caa",  "--clear-accounted-apps"};

bool isInformation(std::string_view word) {
    return isOneOf(word, {"-h", "--help", "--version", "--dtd"}) || startsWith(word, "--help-");
}

class Parser {
  public:
    explicit Parser(const Words& given) : given_(given) {}

    Arguments parse() {
        if (!given_.empty() && !startsWith(given_.front(), "-"))
            return parseSubcommand();
        for (at_ = 0; at_ < given_.size(); ++at_)
            parseOption();
        result_.mode = mode();
        return std::move(result_);
    }

  private:
    // Parses an option. "--name=value" is split. The value of a short option is the next word, or
    // follows directly: "-i0".
    void parseOption() {
        const std::string& word = given_[at_];
        const std::size_t equals = word.find('=');
        const std::string name = word.substr(0, equals);
        const bool hasValue = equals != std::string::npos;
        if (name == "-i" || name == "--id") {
            result_.isShortId = name == "-i";
            result_.id = hasValue ? word.substr(equals + 1) : next();
        } else if (startsWith(word, "-i") && word.size() > 2 && word[2] >= '0' && word[2] <= '9') {
            result_.isShortId = true;
            result_.id = word.substr(2);
        } else if (startsWith(name, "--query-")) {
            parseQuery(name, hasValue);
        } else if (name == "--format") {
            parseFormat(hasValue ? keep().substr(equals + 1) : keepBoth());
        } else if (name == "-f" || name == "--filename") {
            result_.file = hasValue ? keep().substr(equals + 1) : keepBoth();
        } else if (name == "-d" || name == "--display") {
            result_.hasDisplay = true;
            hasValue ? keep() : keepBoth();
        } else {
            parseFlag(name, hasValue);
        }
    }

    void parseFlag(const std::string& name, bool hasValue) {
        if (isInformation(name))
            isInformation_ = true;
        else if (name == "-L" || name == "--list-gpus")
            isList_ = true;
        else if (name == "-q" || name == "--query")
            isQuery_ = true;
        else if (name == "-x" || name == "--xml-format")
            isXml_ = true;
        else if (isOneOf(name, plainChanges) || isOneOf(name, changes))
            isChange_ = true;
        else if (!isLoop(name))
            isUnknown_ = true;
        keep();
        // Keep a value in a separate word.
        const bool takesValue = isOneOf(name, changes) || isLoop(name);
        if (takesValue && !hasValue && at_ + 1 < given_.size() &&
            !startsWith(given_[at_ + 1], "-")) {
            ++at_;
            keep();
        }
    }

    // Returns whether the option is -l or -lms, including forms with the number in the same word.
    static bool isLoop(const std::string& name) {
        if (isOneOf(name, {"-l", "-lms", "--loop", "--loop-ms"}))
            return true;
        for (const std::string_view option : {"-lms", "-l"}) {
            if (startsWith(name, option) &&
                parseNumber(std::string_view(name).substr(option.size())))
                return true;
        }
        return false;
    }

    void parseQuery(const std::string& name, bool hasValue) {
        static const std::map<std::string_view, Mode> queries{
            {"--query-gpu", Mode::QueryGpu},
            {"--query-compute-apps", Mode::QueryComputeApps},
            {"--query-accounted-apps", Mode::QueryAccountedApps},
        };
        const auto query = queries.find(name);
        csvMode_ = query == queries.end() ? Mode::QueryOther : query->second;
        hasValue ? keep() : keepBoth();
        result_.fieldsWord = result_.words.size() - 1;
        result_.fieldsAt = hasValue ? name.size() + 1 : 0;
        const std::string_view list =
            std::string_view(result_.words.back()).substr(result_.fieldsAt);
        result_.fields.clear();
        for (const std::string_view field : split(list, ","))
            result_.fields.push_back(lowered(trimmed(field)));
    }

    void parseFormat(std::string_view list) {
        for (const std::string_view word : split(list, ","))
            result_.noHeader = result_.noHeader || trimmed(word) == "noheader";
    }

    Arguments parseSubcommand() {
        const std::string& name = given_.front();
        result_.mode = name == "pmon"   ? Mode::ProcessMonitor
                       : name == "dmon" ? Mode::DeviceMonitor
                                        : Mode::Subcommand;
        for (at_ = 0; at_ < given_.size(); ++at_) {
            const std::string& word = given_[at_];
            if (at_ > 0 && isInformation(word))
                result_.mode = Mode::Information;
            if (takesIds(name) && (word == "-i" || word == "--id"))
                result_.id = next();
            else if (takesIds(name) && startsWith(word, "--id="))
                result_.id = word.substr(5);
            else if (word == "-f" || word == "--filename")
                result_.file = keepBoth();
            else
                keep();
        }
        return std::move(result_);
    }

    [[nodiscard]] Mode mode() const {
        if (isInformation_ && !isQuery_)
            return Mode::Information;
        if (isUnknown_)
            return Mode::Other;
        if (isChange_)
            return Mode::Change;
        if (csvMode_)
            return *csvMode_;
        if (isQuery_)
            return isXml_ ? Mode::QueryXml : Mode::QueryText;
        return isList_ ? Mode::List : isXml_ ? Mode::Other : Mode::Table;
    }

    std::string next() { return at_ + 1 < given_.size() ? given_[++at_] : std::string(); }
    const std::string& keep() {
        result_.words.push_back(given_[at_]);
        return result_.words.back();
    }
    const std::string& keepBoth() {
        keep();
        if (at_ + 1 < given_.size()) {
            ++at_;
            keep();
        }
        return result_.words.back();
    }

    const Words& given_;
    std::size_t at_ = 0;
    Arguments result_;
    std::optional<Mode> csvMode_;
    bool isInformation_ = false;
    bool isList_ = false;
    bool isQuery_ = false;
    bool isXml_ = false;
    bool isChange_ = false;
    bool isUnknown_ = false;
};

std::string joined(const Words& words) {
    std::string list;
    for (const std::string& word : words)
        list += (list.empty() ? "" : ",") + word;
    return list;
}

} // namespace

bool Arguments::isCsv() const {
    return mode == Mode::QueryGpu || mode == Mode::QueryComputeApps ||
           mode == Mode::QueryAccountedApps;
}

bool Arguments::takesId() const {
    switch (mode) {
    case Mode::Information:
    case Mode::List: // prints all GPUs with some versions, even with -i
    case Mode::Other:
        return false;
    case Mode::Subcommand:
        return takesIds(words.front());
    default:
        return true;
    }
}

void Arguments::addField(const std::string& field) {
    (words[fieldsWord] += ',') += field;
    fields.push_back(field);
    addedField = true;
}

bool Arguments::hasField(std::string_view name) const {
    return std::find(fields.begin(), fields.end(), name) != fields.end();
}

std::vector<std::string> Arguments::forReal(const std::vector<std::string>& uuids) const {
    Words line = words;
    if (uuids.empty())
        return line;
    if (isShortId || mode == Mode::Subcommand || mode == Mode::ProcessMonitor ||
        mode == Mode::DeviceMonitor) {
        line.emplace_back("-i");
        line.push_back(joined(uuids));
    } else {
        line.push_back("--id=" + joined(uuids));
    }
    return line;
}

Arguments parseArguments(const std::vector<std::string>& given) {
    return Parser(given).parse();
}

} // namespace genv::shims::nvidia_smi
