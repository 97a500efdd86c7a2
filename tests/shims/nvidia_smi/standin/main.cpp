// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tests/shims/nvidia_smi/standin/print.hpp"

#include <fmt/format.h>

#include <array>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <thread>

namespace genv::standin {

namespace {

using Words = std::vector<std::string>;

struct Options {
    std::optional<std::string> ids;
    std::string display;
    CsvOptions csv;
    std::string query; // of CSV: gpu or compute-apps
    std::string subcommand;
    std::optional<std::string> file;
    bool isList = false;
    bool isQuery = false;
    bool isXml = false;
    std::optional<std::chrono::milliseconds> interval;
    unsigned samples = 0; // of a subcommand; 0: no limit
};

Words split(const std::string& list) {
    Words parts{""};
    for (const char character : list) {
        if (character == ',')
            parts.emplace_back();
        else
            parts.back() += character;
    }
    return parts;
}

class Parser {
  public:
    explicit Parser(Words words) : words_(std::move(words)) {}

    Options parse() {
        if (!words_.empty() && words_[0][0] != '-')
            result_.subcommand = words_[at_++];
        for (; at_ < words_.size(); ++at_)
            option();
        return result_;
    }

  private:
    void option() {
        const std::string word = words_[at_];
        const std::string name = word.substr(0, word.find('='));
        if (name == "-h" || name == "--help") {
            fmt::print("NVIDIA System Management Interface\n");
            std::exit(0);
        } else if (name == "-i" || name == "--id") {
            result_.ids = value(word);
        } else if (name == "-L" || name == "--list-gpus") {
            result_.isList = true;
        } else if (name == "-q" || name == "--query") {
            result_.isQuery = true;
        } else if (name == "-x" || name == "--xml-format") {
            result_.isXml = true;
        } else if (name == "-d" || name == "--display") {
            result_.display = value(word);
        } else if (name == "-f" || name == "--filename") {
            result_.file = value(word);
        } else if (name == "--query-gpu" || name == "--query-compute-apps") {
            result_.query = name.substr(8);
            result_.csv.fields = split(value(word));
        } else if (name == "--format") {
            for (const std::string& part : split(value(word))) {
                result_.csv.noUnits = result_.csv.noUnits || part == "nounits";
                result_.csv.noHeader = result_.csv.noHeader || part == "noheader";
            }
        } else if (name == "-l" || name == "--loop") {
            result_.interval = std::chrono::seconds(std::atoi(value(word).c_str()));
        } else if (name == "-lms" || name == "--loop-ms") {
            result_.interval = std::chrono::milliseconds(std::atoi(value(word).c_str()));
        } else if (name == "-c" && !result_.subcommand.empty()) {
            result_.samples = static_cast<unsigned>(std::atoi(value(word).c_str()));
        } else if (name == "-m" && result_.subcommand == "topo") {
        } else if (name == "-s") {
            value(word);
        } else {
            fmt::print("Invalid combination of input arguments. Please run 'nvidia-smi -h' for "
                       "help.\n\n");
            std::exit(2);
        }
    }

    std::string value(const std::string& word) {
        const std::size_t equals = word.find('=');
        if (equals != std::string::npos)
            return word.substr(equals + 1);
        return at_ + 1 < words_.size() ? words_[++at_] : "";
    }

    Words words_;
    std::size_t at_ = 0;
    Options result_;
};

int layout() {
    const char* driver = std::getenv("GENV_STANDIN_LAYOUT");
    return driver == nullptr ? 535 : std::atoi(driver);
}

// Returns false if the command line names something that does not exist.
bool print(const Options& options, bool isFirst) {
    const Machine machine = walk(options.ids);
    if (options.subcommand == "pmon")
        printProcessMonitor(machine, isFirst);
    else if (options.subcommand == "dmon")
        printDeviceMonitor(machine, isFirst);
    else if (!options.subcommand.empty())
        fmt::print("{}: {} GPUs\n", options.subcommand, machine.count);
    else if (options.query == "gpu")
        return printGpuCsv(machine, options.csv);
    else if (options.query == "compute-apps")
        return printProcessCsv(machine, options.csv);
    else if (options.isQuery && options.isXml)
        printXml(machine);
    else if (options.isQuery)
        printText(machine, options.display);
    else if (options.isList)
        printList(machine);
    else
        printTable(machine, layout());
    return true;
}

void record(const Words& words) {
    const char* file = std::getenv("GENV_STANDIN_RECORD");
    if (file == nullptr)
        return;
    const char* audit = std::getenv("LD_AUDIT");
    std::ofstream out(file, std::ios::app);
    for (const std::string& word : words)
        out << word << ' ';
    out << "LD_AUDIT=" << (audit == nullptr ? "" : audit) << '\n';
}

int end() {
    const char* how = std::getenv("GENV_STANDIN_END");
    if (how == nullptr)
        return 0;
    if (std::strncmp(how, "SIG", 3) != 0)
        return std::atoi(how);
    std::raise(std::atoi(how + 3));
    return 255;
}

int run(const Words& words) {
    record(words);
    if (const char* text = std::getenv("GENV_STANDIN_TEXT")) {
        std::ifstream file(text, std::ios::binary);
        std::array<char, 65536> chunk{};
        while (file.read(chunk.data(), chunk.size()), file.gcount() > 0)
            std::fwrite(chunk.data(), 1, static_cast<std::size_t>(file.gcount()), stdout);
        std::fflush(stdout);
        return end();
    }
    const Options options = Parser(words).parse();
    if (options.file && std::freopen(options.file->c_str(), "w", stdout) == nullptr)
        return 255;
    const auto interval = options.interval.value_or(
        std::chrono::seconds(options.subcommand == "pmon" || options.subcommand == "dmon" ? 1 : 0));
    for (unsigned sample = 1;; ++sample) {
        if (!print(options, sample == 1))
            return 2;
        std::fflush(stdout);
        if (interval.count() == 0 || sample == options.samples)
            return end();
        std::this_thread::sleep_for(interval);
    }
}

} // namespace

} // namespace genv::standin

int main(int count, char** words) {
    return genv::standin::run({words + 1, words + count});
}
