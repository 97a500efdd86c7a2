// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/genvctl/remote/far_hold.hpp"

#include "client/genvctl/common/exit_status.hpp"
#include "core/base/json_extent.hpp"
#include "core/base/text.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <system_error>

namespace genv::ctl {

namespace {

using remote::HostFailure;
using remote::Trouble;
using FarJson = nlohmann::json;

constexpr std::size_t maxAnswerSize = std::size_t{64} << 10;
// The time for all hosts together to end their holds.
constexpr std::chrono::milliseconds partingTime{3000};
constexpr int noSuchCommand = 127;

struct Pipe {
    client::Descriptor readEnd;
    client::Descriptor writeEnd;
};

Pipe makePipe() {
    std::array<int, 2> ends{};
    if (pipe2(ends.data(), O_CLOEXEC) < 0)
        throw std::system_error(errno, std::generic_category(), "pipe");
    return {client::Descriptor(ends[0]), client::Descriptor(ends[1])};
}

// Parses an object of numbers and lists of numbers, without deeper nesting.
FarJson shallowJson(const std::string& text) {
    return core::extentOf(text).depth > 2 ? FarJson() : FarJson::parse(text, nullptr, false);
}

bool isSmallNumber(const FarJson& json) {
    return json.is_number_unsigned() && json.get<std::uint64_t>() <= UINT32_MAX;
}

std::optional<FarGrant> readGrant(const std::string& line) {
    const FarJson json = shallowJson(line);
    if (!json.is_object() || !json.contains("environment") || !json.contains("devices") ||
        !json.contains("process"))
        return std::nullopt;
    const FarJson& id = json["environment"];
    const FarJson& devices = json["devices"];
    if (!id.is_string() || !core::isIdentifier(id.get<std::string>()) || !devices.is_array() ||
        !isSmallNumber(json["process"]))
        return std::nullopt;
    FarGrant grant{id.get<std::string>(), {}, json["process"].get<std::uint32_t>()};
    for (const FarJson& device : devices) {
        if (!isSmallNumber(device))
            return std::nullopt;
        grant.devices.push_back(device.get<std::uint32_t>());
    }
    return grant;
}

// Returns the error message of a remote genvctl: the last line that starts with its name. A hint
// follows it.
std::string complaintIn(std::string_view messages) {
    constexpr std::string_view complaintMark = "genvctl: ";
    std::size_t found = messages.rfind(complaintMark);
    while (found != std::string_view::npos && found != 0 && messages[found - 1] != '\n')
        found = messages.rfind(complaintMark, found - 1);
    if (found == std::string_view::npos)
        return remote::lastLine(messages);
    messages.remove_prefix(found + complaintMark.size());
    return remote::lastLine(messages.substr(0, messages.find('\n')));
}

} // namespace

FarHold::FarHold(const remote::Host& host, const std::vector<std::string>& options) : host_(host) {
    Pipe input = makePipe();
    Pipe output = makePipe();
    std::vector<std::string> words{"genvctl", "run", "--hold"};
    words.insert(words.end(), options.begin(), options.end());
    // The ssh process has no timeout of its own, because it lives as long as the hold. The waiting
    // code sets the timeout.
    ssh_ = std::make_unique<remote::SshChild>(remote::quietSsh(host, remote::commandLine(words)),
                                              input.readEnd.get(), output.writeEnd.get(),
                                              remote::SshBounds{});
    input_ = std::move(input.writeEnd);
    output_ = std::move(output.readEnd);
    fcntl(output_.get(), F_SETFL, O_NONBLOCK);
}

FarHold::~FarHold() = default;

int FarHold::descriptor() const noexcept {
    return refusal_ ? -1 : output_.get();
}

void FarHold::take() {
    std::array<char, 4096> part{};
    const ssize_t count = read(output_.get(), part.data(), part.size());
    if (count < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (count <= 0) {
        refusal_ = ended();
        return;
    }
    if (grant_)
        return; // no further output is expected
    text_.append(part.data(), static_cast<std::size_t>(count));
    if (const std::size_t end = text_.find('\n'); end != std::string::npos)
        takeLine(text_.substr(0, end));
    else if (text_.size() > maxAnswerSize)
        takeLine({});
}

void FarHold::takeLine(const std::string& line) {
    grant_ = readGrant(line);
    if (grant_)
        return;
    ssh_->kill();
    refusal_ = {HostFailure(Trouble::Failed, "\"genvctl run --hold\" there answers something else",
                            remote::noisyShellHint),
                false};
}

FarRefusal FarHold::ended() {
    input_.close(); // it may wait for the end of its input before it ends
    const int status = ssh_->wait();
    if (status == remote::sshFailed || status > 128)
        return {remote::sshFailure(host_, {}, *ssh_, ssh_->messages()), false};
    if (status == noSuchCommand)
        return {HostFailure(Trouble::NoService, "cannot find the command genvctl",
                            "Install genv there, where a command over ssh finds it."),
                false};
    std::string message = complaintIn(ssh_->messages());
    if (message.empty())
        message = fmt::format("\"genvctl run --hold\" ended with {}", status);
    const auto meaning = static_cast<ExitStatus>(status);
    const Trouble trouble = meaning == ExitStatus::NotAuthorized ? Trouble::NotAuthorized
                            : meaning == ExitStatus::NoService   ? Trouble::NoService
                                                                 : Trouble::Failed;
    return {HostFailure(trouble, message), meaning == ExitStatus::NoDevice};
}

void FarHold::giveUp(std::chrono::milliseconds waited) {
    ssh_->kill();
    refusal_ = {HostFailure(Trouble::TimedOut,
                            fmt::format("no answer within {:g} s",
                                        std::chrono::duration<double>(waited).count()),
                            "\"genvctl remote --timeout\" gives it more time."),
                false};
}

void FarHold::release() {
    input_.close();
}

bool FarHold::isReleasedWithin(std::chrono::milliseconds time) {
    return ssh_->endsWithin(time);
}

// Passed by value, so that the holds are destroyed when this function returns.
// NOLINTNEXTLINE(performance-unnecessary-value-param)
void release(std::vector<std::unique_ptr<FarHold>> holds) {
    for (const auto& hold : holds)
        hold->release();
    const auto until = std::chrono::steady_clock::now() + partingTime;
    for (const auto& hold : holds) {
        const auto remaining = until - std::chrono::steady_clock::now();
        hold->isReleasedWithin(std::max(std::chrono::ceil<std::chrono::milliseconds>(remaining),
                                        std::chrono::milliseconds{0}));
    }
}

} // namespace genv::ctl
