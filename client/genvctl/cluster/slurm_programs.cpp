// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/genvctl/cluster/slurm_programs.hpp"

#include "client/search_path.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <system_error>

namespace genv::ctl::cluster {

namespace {

constexpr std::chrono::seconds timeout{60};
// The output for ten thousand jobs has 100 MiB.
constexpr std::size_t maxOutput = std::size_t{1} << 30;
constexpr const char* slurmHint =
    "\"scontrol ping\" shows whether slurmctld answers; \"--cluster none\" is about this machine.";

[[noreturn]] void throwErrno(const char* what) {
    throw std::system_error(errno, std::generic_category(), what);
}

std::string whyOf(int status, std::string_view messages) {
    std::string why = remote::lastLine(messages);
    return why.empty() ? fmt::format("exit status {}", status) : why;
}

client::Descriptor textAsFile(std::string_view text) {
    client::Descriptor file(memfd_create("genvctl", MFD_CLOEXEC));
    if (!file.isOpen() || !client::writeAll(file.get(), text) || lseek(file.get(), 0, SEEK_SET) < 0)
        throwErrno("a file in memory");
    return file;
}

} // namespace

void requireProgram(const std::string& name) {
    const std::vector<std::string> folders = client::searchFolders();
    const bool isThere =
        std::any_of(folders.begin(), folders.end(), [&](const std::string& folder) {
            return access((folder + '/' + name).c_str(), X_OK) == 0;
        });
    if (!isThere)
        throw Failure(
            ExitStatus::NoService,
            fmt::format("Slurm's program {} is not in PATH, but genv is set up for a "
                        "Slurm cluster",
                        name),
            "Install Slurm's client programs, or use \"--cluster none\" to share the GPUs "
            "of this machine.");
}

SlurmRefusal::SlurmRefusal(const std::string& program, std::string why)
    : Failure(ExitStatus::NoService, fmt::format("Slurm does not answer {}: {}", program, why),
              slurmHint),
      why_(std::move(why)) {}

bool SlurmRefusal::isSilence() const {
    constexpr std::array signs{"Unable to contact", "onnection refused", "imed out", "timeout",
                               "communications"};
    return std::any_of(signs.begin(), signs.end(),
                       [&](const char* sign) { return why_.find(sign) != std::string::npos; });
}

SlurmQuestion::SlurmQuestion(std::vector<std::string> words)
    : words_(std::move(words)), output_(-1) {
    start(client::Descriptor(open("/dev/null", O_RDONLY | O_CLOEXEC)));
}

SlurmQuestion::SlurmQuestion(std::vector<std::string> words, std::string_view input)
    : words_(std::move(words)), output_(-1) {
    start(textAsFile(input));
}

void SlurmQuestion::start(const client::Descriptor& input) {
    requireProgram(words_.front());
    std::array<int, 2> pipe{};
    if (pipe2(pipe.data(), O_CLOEXEC) < 0)
        throwErrno("pipe");
    output_ = client::Descriptor(pipe[0]);
    const client::Descriptor writeEnd(pipe[1]);
    child_.emplace(words_, input.get(), writeEnd.get(), remote::SshBounds{timeout, nullptr});
}

std::string SlurmQuestion::answer() {
    std::string text;
    std::array<char, 65536> part{};
    for (bool speaks = true;;) {
        std::array<pollfd, 2> watched{
            pollfd{output_.get(), POLLIN, 0},
            pollfd{speaks ? child_->messagesDescriptor() : -1, POLLIN, 0}};
        if (poll(watched.data(), watched.size(), -1) < 0 && errno != EINTR)
            throwErrno("waiting for Slurm");
        if (watched[1].revents != 0)
            child_->messages(); // it would block if its pipe for messages were full
        speaks = speaks && (watched[1].revents & (POLLHUP | POLLERR)) == 0;
        if (watched[0].revents == 0)
            continue;
        const ssize_t count = read(output_.get(), part.data(), part.size());
        if (count < 0 && errno == EINTR)
            continue;
        if (count <= 0)
            break;
        text.append(part.data(), static_cast<std::size_t>(count));
        if (text.size() > maxOutput)
            throw Failure(ExitStatus::Failed,
                          fmt::format("{} printed more than 1 GiB", words_.front()), slurmHint);
    }
    const int status = child_->wait();
    if (child_->timedOut())
        throw Failure(ExitStatus::NoService,
                      fmt::format("{} did not answer within {} s", words_.front(), timeout.count()),
                      slurmHint);
    if (status != 0)
        throw SlurmRefusal(words_.front(), whyOf(status, child_->messages()));
    return text;
}

void askSlurmTo(const std::string& what, std::vector<std::string> words) {
    const std::string program = words.front();
    try {
        SlurmQuestion(std::move(words)).answer();
    } catch (const Failure& failure) {
        const std::string why = failure.what();
        if (why.find("denied") != std::string::npos)
            throw Failure(ExitStatus::NotAuthorized,
                          fmt::format("Slurm refuses to {}: {}", what, why),
                          "Only the job's user and Slurm's operators may do that.");
        throw;
    }
}

} // namespace genv::ctl::cluster
