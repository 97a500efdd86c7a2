// SPDX-License-Identifier: LGPL-2.1-or-later
// gpu_recorder: records a machine's answers for the tests, into a folder that README.md describes.
// It needs no file but itself, NVIDIA's library and nvidia-smi, changes no setting, and writes only
// replaced UUIDs, serial numbers and names.
#include "tests/recording/anonymizer.hpp"
#include "tests/recording/nvml_recording.hpp"
#include "tests/recording/tool_recording.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <stdexcept>

namespace {

using namespace genv::recording;
using nlohmann::json;
namespace fs = std::filesystem;

constexpr std::size_t maxProcFile = 65536;

constexpr const char* help = R"(Usage: gpu_recorder [OPTION]... DIR

Record what NVML and nvidia-smi answer on this machine, in the new folder DIR. Change no setting, and
replace UUIDs, serial numbers, the host name and process names.

Options:
  --library FILE        Load NVML from FILE [default: libnvidia-ml.so.1]
  --nvidia-smi FILE     Run FILE [default: nvidia-smi in PATH]
  --proc FOLDER         Read the driver's files below FOLDER [default: /proc]
  --timeout SECONDS     Stop waiting for an answer after SECONDS [default: 20]
  -h, --help            Print this help

Exit status: 0; 1 if nothing was recorded; 2 for a wrong command line; 3 if a part is missing.
)";

struct UsageError : std::runtime_error {
    using std::runtime_error::runtime_error;
};

struct Options {
    std::string folder;
    std::string library;
    std::string tool;
    std::string proc = "/proc";
    std::chrono::seconds timeout{20};
    bool isHelp = false;
};

std::chrono::seconds parseSeconds(const std::string& text) {
    constexpr long max = 3600;
    char* end = nullptr;
    const long seconds = std::strtol(text.c_str(), &end, 10);
    if (text.empty() || *end != '\0' || seconds < 1 || seconds > max)
        throw UsageError("invalid timeout \"" + text + "\": expected 1-3600 seconds");
    return std::chrono::seconds{seconds};
}

Options parse(const std::vector<std::string>& words) {
    Options options;
    std::vector<std::string> plain;
    for (std::size_t i = 0; i < words.size(); ++i) {
        const std::string name = words[i].substr(0, words[i].find('='));
        const auto value = [&] {
            if (name.size() < words[i].size())
                return words[i].substr(name.size() + 1);
            if (i + 1 == words.size())
                throw UsageError("option \"" + name + "\" requires a value");
            return words[++i];
        };
        if (name == "-h" || name == "--help")
            options.isHelp = true;
        else if (name == "--library")
            options.library = value();
        else if (name == "--nvidia-smi")
            options.tool = value();
        else if (name == "--proc")
            options.proc = value();
        else if (name == "--timeout")
            options.timeout = parseSeconds(value());
        else if (name.starts_with("-"))
            throw UsageError("unknown option \"" + name + '"');
        else
            plain.push_back(words[i]);
    }
    if (!options.isHelp && plain.size() != 1)
        throw UsageError("expected one folder to record into");
    options.folder = plain.empty() ? "" : plain.front();
    return options;
}

// Where drivers keep their library and nvidia-smi, beside the places that every program looks in.
const std::vector<std::string> libraryFolders{"/usr/lib/x86_64-linux-gnu",
                                              "/usr/lib64",
                                              "/usr/lib",
                                              "/usr/lib/aarch64-linux-gnu",
                                              "/usr/lib/nvidia/lib64",
                                              "/usr/lib/nvidia",
                                              "/usr/local/nvidia/lib64",
                                              "/run/opengl-driver/lib",
                                              "/usr/lib/wsl/lib"};
const std::vector<std::string> toolFolders{"/usr/bin", "/usr/lib/nvidia/bin",
                                           "/usr/local/nvidia/bin", "/run/opengl-driver/bin",
                                           "/usr/lib/wsl/lib"};

std::vector<std::string> librariesFor(const Options& options) {
    if (!options.library.empty())
        return {options.library};
    std::vector<std::string> names{"libnvidia-ml.so.1"};
    for (const std::string& folder : libraryFolders)
        names.push_back(folder + "/libnvidia-ml.so.1");
    return names;
}

// Returns the path of nvidia-smi, or nothing.
std::string toolFor(const Options& options) {
    if (!options.tool.empty())
        return options.tool;
    const char* given = std::getenv("PATH");
    std::vector<std::string> folders;
    const std::string path = given != nullptr ? given : "";
    for (std::size_t at = 0; at < path.size();) {
        const std::size_t end = std::min(path.find(':', at), path.size());
        folders.push_back(path.substr(at, end - at));
        at = end + 1;
    }
    folders.insert(folders.end(), toolFolders.begin(), toolFolders.end());
    for (const std::string& folder : folders) {
        std::string file = folder + "/nvidia-smi";
        if (!folder.empty() && ::access(file.c_str(), X_OK) == 0)
            return file;
    }
    return {};
}

// The programs of the machine are asked as they are, without genv's filter and shim.
void leaveEnvironment(char** arguments) {
    ::setenv("GENV_BYPASS", "1", 1);
    ::setenv("LC_ALL", "C", 1);
    if (std::getenv("LD_AUDIT") == nullptr)
        return;
    ::unsetenv("LD_AUDIT");
    ::execv("/proc/self/exe", arguments);
    throw std::runtime_error(std::string("cannot start again without LD_AUDIT: ") +
                             std::strerror(errno));
}

void write(const fs::path& file, std::string_view text) {
    fs::create_directories(file.parent_path());
    std::ofstream out(file, std::ios::binary);
    out << text;
    out.close();
    if (!out)
        throw std::runtime_error("cannot write " + file.string() + ": " + std::strerror(errno));
}

std::string readFile(const fs::path& file) {
    std::ifstream in(file, std::ios::binary);
    std::string text(maxProcFile, '\0');
    in.read(text.data(), static_cast<std::streamsize>(text.size()));
    text.resize(static_cast<std::size_t>(in.gcount()));
    return text;
}

// The files of a recording, in memory: nothing that identifies the machine reaches the disk.
using Files = std::vector<std::pair<std::string, std::string>>;

// The driver's character devices in /proc/devices.
std::string devicesOf(const std::string& text) {
    std::string result = "Character devices:\n";
    bool isCharacter = false;
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t end = std::min(text.find('\n', at), text.size());
        const std::string line = text.substr(at, end - at);
        at = end + 1;
        if (line.ends_with(':'))
            isCharacter = line == "Character devices:";
        else if (isCharacter && line.find("nvidia") != std::string::npos)
            result += line + '\n';
    }
    return result;
}

// The files below /proc from which genv learns the nodes of GPUs and MIG instances.
Files readProc(const fs::path& proc) {
    Files files{{"proc/devices", devicesOf(readFile(proc / "devices"))}};
    const fs::path driver = proc / "driver/nvidia";
    std::vector<fs::path> paths{driver / "version"};
    std::error_code error;
    for (fs::directory_iterator it(driver / "gpus", error), end; !error && it != end;
         it.increment(error))
        paths.push_back(it->path() / "information");
    for (fs::recursive_directory_iterator it(driver / "capabilities", error), end;
         !error && it != end; it.increment(error))
        paths.push_back(it->path());
    std::sort(paths.begin(), paths.end());
    for (const fs::path& path : paths) {
        if (fs::is_regular_file(path, error))
            files.emplace_back("proc" / path.lexically_relative(proc), readFile(path));
    }
    return files;
}

const std::string* outputOf(const std::vector<ToolOutput>& outputs, std::string_view mode) {
    for (const ToolOutput& output : outputs) {
        if (output.name == mode)
            return &output.out;
    }
    return nullptr;
}

// The host's name is replaced unless it is a word that nvidia-smi prints anyway.
std::string hostToReplace(const std::vector<ToolOutput>& outputs) {
    char name[256] = {};
    ::gethostname(name, sizeof(name) - 1);
    std::string host = name;
    const std::string* words = outputOf(outputs, "help");
    if (host.size() < 3 || host == "localhost" || host == "host" ||
        (words != nullptr && words->find(host) != std::string::npos))
        return {};
    return host;
}

json indexOf(const std::vector<ToolOutput>& outputs) {
    json modes = json::array();
    for (const ToolOutput& output : outputs) {
        json mode{{"name", output.name}, {"arguments", output.arguments}, {"status", nullptr}};
        if (output.status)
            mode["status"] = *output.status;
        if (output.signal != 0)
            mode["signal"] = output.signal;
        modes.push_back(std::move(mode));
    }
    return {{"format", 1}, {"modes", std::move(modes)}};
}

Files makeFiles(const NvmlRecording& nvml, const std::vector<ToolOutput>& outputs,
                const fs::path& proc) {
    Anonymizer anonymizer(hostToReplace(outputs));
    anonymizer.learn(nvml.answers.is_object() ? nvml.answers : json::object());
    for (const ToolOutput& output : outputs)
        anonymizer.learnOutput(output.out);
    Files files;
    if (nvml.answers.is_object())
        files.emplace_back("nvml.json",
                           anonymizer.replacedAnswers(nvml.answers).dump(1, '\t') + '\n');
    if (!outputs.empty())
        files.emplace_back("nvidia-smi/modes.json", indexOf(outputs).dump(1, '\t') + '\n');
    for (const ToolOutput& output : outputs) {
        files.emplace_back("nvidia-smi/" + output.name + ".out",
                           anonymizer.replacedText(output.out));
        if (!output.err.empty())
            files.emplace_back("nvidia-smi/" + output.name + ".err",
                               anonymizer.replacedText(output.err));
    }
    for (const auto& [name, text] : readProc(proc))
        files.emplace_back(name, anonymizer.replacedText(text));
    for (const auto& [name, text] : files) {
        if (anonymizer.findOriginal(text))
            throw std::runtime_error("nothing was written: a UUID, serial number or process name "
                                     "could not be replaced in " +
                                     name);
    }
    return files;
}

// Writes all files or none.
void writeFolder(const fs::path& folder, const Files& files) {
    std::string name = folder.string();
    while (name.size() > 1 && name.ends_with('/'))
        name.pop_back();
    if (fs::exists(name) && (!fs::is_directory(name) || !fs::is_empty(name)))
        throw std::runtime_error("cannot record into " + name +
                                 ": expected a new or an empty folder");
    std::string next = name + ".XXXXXX";
    if (::mkdtemp(next.data()) == nullptr)
        throw std::runtime_error("cannot create " + name + ": " + std::strerror(errno));
    try {
        for (const auto& [file, text] : files)
            write(fs::path(next) / file, text);
        ::chmod(next.c_str(), 0755);
        fs::rename(next, name);
    } catch (const std::exception&) {
        std::error_code ignored;
        fs::remove_all(next, ignored);
        throw;
    }
}

// Says what is missing. Returns whether anything is.
bool complain(const NvmlRecording& nvml, const std::string& tool,
              const std::vector<ToolOutput>& outputs) {
    bool isMissing = false;
    const auto say = [&isMissing](const std::string& text) {
        std::fprintf(stderr, "gpu_recorder: %s\n", text.c_str());
        isMissing = true;
    };
    if (!nvml.error.empty())
        say("no answers of NVML: " + nvml.error);
    if (tool.empty())
        say("no nvidia-smi: none is in PATH or where drivers install it");
    for (const ToolOutput& output : outputs) {
        if (!output.status)
            say("nvidia-smi did not end in time in the mode \"" + output.name + '"');
        else if (output.status == 127)
            say("cannot run " + tool);
    }
    if (!tool.empty() && outputs.size() < toolModes().size())
        say("the other modes of nvidia-smi were left out");
    return isMissing;
}

int record(const Options& options) {
    const NvmlRecording nvml = recordNvml(librariesFor(options), options.timeout);
    if (!nvml.folder.empty()) {
        const char* others = std::getenv("LD_LIBRARY_PATH");
        const std::string path = nvml.folder + (others != nullptr ? ":" + std::string(others) : "");
        ::setenv("LD_LIBRARY_PATH", path.c_str(), 1);
    }
    const std::string tool = toolFor(options);
    std::vector<ToolOutput> outputs;
    if (!tool.empty())
        outputs = recordTool(tool, options.timeout);
    const bool isMissing = complain(nvml, tool, outputs);
    if (!nvml.answers.is_object() && tool.empty())
        return 1;
    const Files files = makeFiles(nvml, outputs, options.proc);
    writeFolder(options.folder, files);
    const std::size_t gpus = nvml.answers.is_object() ? nvml.answers["devices"].size() : 0;
    std::printf("recorded in %s: GPUs %zu, modes of nvidia-smi %zu, files %zu\n",
                options.folder.c_str(), gpus, outputs.size(), files.size());
    return isMissing ? 3 : 0;
}

} // namespace

int main(int count, char** arguments) {
    try {
        const Options options = parse({arguments + 1, arguments + count});
        if (options.isHelp) {
            std::fputs(help, stdout);
            return 0;
        }
        leaveEnvironment(arguments);
        return record(options);
    } catch (const UsageError& error) {
        std::fprintf(stderr, "gpu_recorder: %s\nTry \"gpu_recorder --help\".\n", error.what());
        return 2;
    } catch (const std::exception& error) {
        std::fprintf(stderr, "gpu_recorder: %s\n", error.what());
        return 1;
    }
}
