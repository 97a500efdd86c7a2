// SPDX-License-Identifier: LGPL-2.1-or-later
#include "shims/nvidia_smi/real_tool.hpp"

#include "client/descriptor_functions.hpp"
#include "shims/nvidia_smi/line_text.hpp"
#include "shims/printable.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <system_error>
#include <utility>

namespace genv::shims::nvidia_smi {

namespace {

constexpr int notExecutable = 126;
constexpr std::size_t maxOutputSize = 4U << 20U;
constexpr std::size_t chunkSize = 64U << 10U;
constexpr std::size_t maxReportSize = 4U << 10U;

struct Pipe {
    client::Descriptor reading;
    client::Descriptor writing;
};

Pipe makePipe() {
    std::array<int, 2> ends{};
    if (pipe2(ends.data(), O_CLOEXEC) < 0)
        throw std::system_error(errno, std::generic_category(), "pipe");
    return {client::Descriptor(ends[0]), client::Descriptor(ends[1])};
}

// Reads once. Returns false at the end.
bool readSome(client::Descriptor& from, std::string& to) {
    std::array<char, chunkSize> chunk{};
    const ssize_t size = read(from.get(), chunk.data(), chunk.size());
    if (size > 0)
        to.append(chunk.data(), static_cast<std::size_t>(size));
    else if (size == 0 || (errno != EINTR && errno != EAGAIN))
        from.close();
    return from.isOpen();
}

[[noreturn]] void execute(const std::string& program, const std::vector<std::string>& arguments) {
    std::string name = "nvidia-smi";
    std::vector<char*> words{name.data()};
    for (const std::string& argument : arguments)
        words.push_back(const_cast<char*>(argument.c_str())); // execv() does not modify them
    words.push_back(nullptr);
    execv(program.c_str(), words.data());
    fmt::print(stderr, "genv: {}: {}\n", printable(program), std::strerror(errno));
    std::fflush(stderr);
    _exit(notExecutable);
}

void reap(pid_t child, int& status) {
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
}

// Returns the signals that users and programs send to a command. SIGSTOP and SIGKILL cannot be
// caught.
sigset_t forwardedSignals() {
    sigset_t set{};
    sigemptyset(&set);
    for (const int signal :
         {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGWINCH, SIGCONT, SIGTSTP, SIGALRM})
        sigaddset(&set, signal);
    return set;
}

// Sets the filter in a child, for the program that it becomes. The filter reports to the descriptor
// `report`, if any.
void setFilter(const std::string& filter, int report) {
    const char* given = std::getenv("LD_AUDIT");
    const std::string others = given == nullptr ? "" : given;
    bool isThere = false;
    for (const std::string_view library : split(others, ":"))
        isThere = isThere || library == filter;
    if (!isThere)
        setenv("LD_AUDIT", (others.empty() ? filter : filter + ":" + others).c_str(), 1);
    if (report < 0)
        return;
    setenv("GENV_NVML_FILTER_REPORT", std::to_string(report).c_str(), 1);
    fcntl(report, F_SETFD, 0);
}

class Run {
  public:
    Run(const std::string& program, const std::vector<std::string>& arguments,
        const std::string& filter, Corrector* corrector)
        : corrector_(corrector) {
        sigset_t blocked = forwardedSignals();
        sigaddset(&blocked, SIGCHLD);
        sigprocmask(SIG_BLOCK, &blocked, &oldMask_);
        signals_ = client::Descriptor(signalfd(-1, &blocked, SFD_CLOEXEC | SFD_NONBLOCK));
        struct sigaction ignore {};
        ignore.sa_handler = SIG_IGN;
        sigaction(SIGPIPE, &ignore, &oldPipe_);
        start(program, arguments, filter);
    }
    Run(const Run&) = delete;
    Run& operator=(const Run&) = delete;
    ~Run() {
        sigaction(SIGPIPE, &oldPipe_, nullptr);
        sigprocmask(SIG_SETMASK, &oldMask_, nullptr);
    }

    // Returns the wait status.
    int finish() {
        LineStream* stream = nullptr;
        std::optional<LineStream> lines;
        if (corrector_ != nullptr)
            stream = &lines.emplace(*corrector_);
        while (!hasEnded_ || output_.isOpen())
            turn(stream);
        if (stream != nullptr) {
            std::string rest;
            stream->finish(rest);
            print(rest);
        }
        while (report_.isOpen() && reportText_.size() < maxReportSize &&
               readSome(report_, reportText_) && !isDrained_)
            isDrained_ = !isReadable(report_.get());
        return status_;
    }

    [[nodiscard]] FilterReport report() const {
        FilterReport report;
        for (const std::string_view line : split(reportText_, "\n")) {
            report.hasView = report.hasView || line == "view";
            report.hasExportTable = report.hasExportTable || line == "export-table";
            report.hasNoService = report.hasNoService || line == "no-service";
        }
        return report;
    }

  private:
    void start(const std::string& program, const std::vector<std::string>& arguments,
               const std::string& filter) {
        Pipe output;
        Pipe report = makePipe();
        if (corrector_ != nullptr)
            output = makePipe();
        const pid_t parent = getpid();
        child_ = fork();
        if (child_ < 0)
            throw std::system_error(errno, std::generic_category(), "fork");
        if (child_ == 0) {
            prctl(PR_SET_PDEATHSIG, SIGTERM);
            if (getppid() != parent)
                _exit(notExecutable);
            sigaction(SIGPIPE, &oldPipe_, nullptr);
            if (output.writing.isOpen())
                dup2(output.writing.get(), STDOUT_FILENO);
            if (!filter.empty())
                setFilter(filter, report.writing.get());
            sigprocmask(SIG_SETMASK, &oldMask_, nullptr);
            execute(program, arguments);
        }
        output_ = std::move(output.reading);
        report_ = std::move(report.reading);
        fcntl(report_.get(), F_SETFL, O_NONBLOCK);
    }

    void turn(LineStream* stream) {
        std::array<pollfd, 3> waiting{pollfd{signals_.get(), POLLIN, 0},
                                      pollfd{output_.get(), POLLIN, 0},
                                      pollfd{report_.get(), POLLIN, 0}};
        if (poll(waiting.data(), waiting.size(), -1) < 0 && errno != EINTR)
            throw std::system_error(errno, std::generic_category(), "poll");
        if (waiting[2].revents != 0)
            readReport();
        if (waiting[1].revents != 0 && stream != nullptr)
            readOutput(*stream);
        if (waiting[0].revents != 0)
            takeSignals();
    }

    void readReport() {
        std::string more;
        readSome(report_, more);
        if (reportText_.size() < maxReportSize)
            reportText_ += more;
    }

    void readOutput(LineStream& stream) {
        std::string text;
        readSome(output_, text);
        std::string corrected;
        stream.take(text, corrected);
        print(corrected);
    }

    // Writes to standard output. If its reader is gone, the real program receives SIGPIPE from its
    // own pipe, as without the shim.
    void print(std::string_view text) {
        while (!text.empty()) {
            const ssize_t size = write(STDOUT_FILENO, text.data(), text.size());
            if (size < 0 && errno == EAGAIN) {
                pollfd writable{STDOUT_FILENO, POLLOUT, 0};
                poll(&writable, 1, -1);
            } else if (size < 0 && errno != EINTR) {
                output_.close();
                if (!hasEnded_)
                    kill(child_, SIGPIPE);
                return;
            } else if (size > 0) {
                text.remove_prefix(static_cast<std::size_t>(size));
            }
        }
    }

    void takeSignals() {
        signalfd_siginfo info{};
        while (read(signals_.get(), &info, sizeof(info)) == static_cast<ssize_t>(sizeof(info))) {
            const int signal = static_cast<int>(info.ssi_signo);
            if (signal == SIGCHLD) {
                hasEnded_ = hasEnded_ || waitpid(child_, &status_, WNOHANG) == child_;
                continue;
            }
            // A terminal's signals are sent by the kernel to the whole process group.
            if (info.ssi_code != SI_KERNEL && !hasEnded_)
                kill(child_, signal);
            if (signal == SIGTSTP)
                raise(SIGSTOP);
        }
    }

    static bool isReadable(int descriptor) {
        pollfd waiting{descriptor, POLLIN, 0};
        return poll(&waiting, 1, 0) > 0;
    }

    Corrector* corrector_;
    sigset_t oldMask_{};
    struct sigaction oldPipe_ {};
    client::Descriptor signals_;
    client::Descriptor output_;
    client::Descriptor report_;
    std::string reportText_;
    pid_t child_ = -1;
    int status_ = 0;
    bool hasEnded_ = false;
    bool isDrained_ = false;
};

// Ends this process in the same way as the real program, without a core file of its own.
[[noreturn]] void dieOf(int signal) {
    prctl(PR_SET_DUMPABLE, 0);
    std::signal(signal, SIG_DFL);
    sigset_t set{};
    sigemptyset(&set);
    sigaddset(&set, signal);
    sigprocmask(SIG_UNBLOCK, &set, nullptr);
    raise(signal);
    std::exit(128 + signal);
}

} // namespace

std::string outputOf(const std::string& program, const std::vector<std::string>& arguments,
                     const std::string& filter) {
    Pipe output = makePipe();
    const pid_t child = fork();
    if (child < 0)
        return {};
    if (child == 0) {
        const int nowhere = open("/dev/null", O_RDWR | O_CLOEXEC);
        dup2(nowhere, STDIN_FILENO);
        dup2(output.writing.get(), STDOUT_FILENO);
        dup2(nowhere, STDERR_FILENO);
        if (!filter.empty())
            setFilter(filter, -1);
        execute(program, arguments);
    }
    output.writing.close();
    std::string text;
    while (text.size() < maxOutputSize && readSome(output.reading, text)) {
    }
    output.reading.close();
    int status = 0;
    reap(child, status);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? text : std::string();
}

int runReal(const std::string& program, const std::vector<std::string>& arguments,
            const std::string& filter, Corrector* corrector,
            const std::function<void(const FilterReport&)>& onEnd) {
    int status = 0;
    {
        Run run(program, arguments, filter, corrector);
        status = run.finish();
        onEnd(run.report());
    }
    if (WIFSIGNALED(status))
        dieOf(WTERMSIG(status));
    return WEXITSTATUS(status);
}

} // namespace genv::shims::nvidia_smi
