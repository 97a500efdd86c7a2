// SPDX-License-Identifier: LGPL-2.1-or-later
#include "service/slurm/slurm_socket.hpp"

#include "core/descriptor.hpp"
#include "service/loop/glib_loop.hpp"
#include "service/posix/unix_socket.hpp"

#include <fmt/format.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <optional>
#include <string>
#include <system_error>
#include <utility>

namespace genv::service {

namespace {

constexpr const char* unexpected = "genv-slurm answered another request";

std::string sentRequest(const SlurmRequest& request) {
    return encodeSlurmRequest(request) + '\n';
}

} // namespace

/// One connection. The constructor sends the request. When the connection closes, the answer is
/// delivered.
class SlurmSocket::Exchange {
  public:
    using Finished = std::function<void(const SlurmAnswer&)>;

    /// Throws std::system_error. `finished` may destroy this object.
    Exchange(const SlurmSocketSettings& settings, core::Scheduler& scheduler,
             const SlurmRequest& request, Finished finished)
        : connection_(connectToUnixSocket(settings.socket)), finished_(std::move(finished)) {
        const std::string line = sentRequest(request);
        // The line is far smaller than the buffer of a new socket, so it is sent at once or never.
        // A closed connection is detected by reading.
        const ssize_t sent = ::send(connection_.get(), line.data(), line.size(), MSG_NOSIGNAL);
        if (sent >= 0 ? static_cast<std::size_t>(sent) != line.size() : errno != EPIPE)
            throw std::system_error(sent < 0 ? errno : EMSGSIZE, std::generic_category());
        readable_ = GlibLoop::onReadable(connection_.get(), [this] { receive(); });
        deadline_ = scheduler.after(settings.answerTimeout, [this] {
            finish(core::SlurmFailure{"genv-slurm did not answer in time"});
        });
    }

  private:
    void receive() {
        std::array<char, 16'384> chunk{};
        const ssize_t got = ::recv(connection_.get(), chunk.data(), chunk.size(), MSG_DONTWAIT);
        if (got < 0 && (errno == EINTR || errno == EAGAIN))
            return;
        if (got <= 0) {
            finish(answerAtEnd());
            return;
        }
        received_.append(chunk.data(), static_cast<std::size_t>(got));
        if (received_.size() > maxSlurmAnswer)
            finish(core::SlurmFailure{"genv-slurm sent too long an answer"});
    }

    [[nodiscard]] SlurmAnswer answerAtEnd() const {
        if (received_.empty())
            return core::SlurmFailure{"genv-slurm ended, or systemd refused the connection; "
                                      "\"journalctl -u 'genv-slurm*'\" may show the reason"};
        try {
            if (received_.find('\n') != received_.size() - 1)
                throw SlurmProtocolError("expected one line");
            return decodeSlurmAnswer(std::string_view(received_).substr(0, received_.size() - 1));
        } catch (const SlurmProtocolError& error) {
            return core::SlurmFailure{
                fmt::format("genv-slurm sent an invalid answer: {}", error.what())};
        }
    }

    void finish(const SlurmAnswer& answer) {
        readable_.reset();
        deadline_.reset();
        const Finished finished = std::move(finished_);
        finished(answer); // this object may be destroyed now
    }

    core::Descriptor connection_;
    std::string received_;
    Finished finished_;
    std::unique_ptr<core::Scheduled> readable_;
    std::unique_ptr<core::Scheduled> deadline_;
};

SlurmSocket::SlurmSocket(SlurmSocketSettings settings, core::Scheduler& scheduler)
    : settings_(std::move(settings)), scheduler_(scheduler) {}

SlurmSocket::~SlurmSocket() {
    *alive_ = false;
}

void SlurmSocket::listDevices(Devices devices) {
    ask(SlurmListDevices{}, [devices = std::move(devices)](const SlurmAnswer& answer) {
        if (const auto* list = std::get_if<std::vector<core::SlurmDevice>>(&answer))
            devices(*list);
        else if (const auto* failure = std::get_if<core::SlurmFailure>(&answer))
            devices(*failure);
        else
            devices(core::SlurmFailure{unexpected});
    });
}

void SlurmSocket::findJob(core::Sluid sluid, Found found) {
    ask(SlurmFindJob{sluid}, [found = std::move(found)](const SlurmAnswer& answer) {
        if (const auto* job = std::get_if<SlurmFound>(&answer))
            found(job->job);
        else if (const auto* failure = std::get_if<core::SlurmFailure>(&answer))
            found(*failure);
        else
            found(core::SlurmFailure{unexpected});
    });
}

void SlurmSocket::setEnd(core::SlurmJobId job, core::WallTime end, Done done) {
    ask(SlurmSetEnd{job, end}, withDone(std::move(done)));
}

void SlurmSocket::cancel(core::SlurmJobId job, Done done) {
    ask(SlurmCancel{job}, withDone(std::move(done)));
}

void SlurmSocket::requeue(core::SlurmJobId job, Done done) {
    ask(SlurmRequeue{job}, withDone(std::move(done)));
}

SlurmSocket::Answer SlurmSocket::withDone(Done done) {
    return [done = std::move(done)](const SlurmAnswer& answer) {
        if (std::holds_alternative<SlurmDone>(answer))
            done(std::nullopt);
        else if (const auto* failure = std::get_if<core::SlurmFailure>(&answer))
            done(*failure);
        else
            done(core::SlurmFailure{unexpected});
    };
}

void SlurmSocket::ask(SlurmRequest request, Answer answer) {
    if (waiting_.size() >= settings_.maxWaiting) {
        answerLater(std::move(answer), {"too many requests to Slurm are waiting"});
        return;
    }
    waiting_.push_back({request, std::move(answer)});
    beginNext();
}

void SlurmSocket::beginNext() {
    while (!waiting_.empty() && exchanges_.size() < settings_.maxConnections) {
        Waiting next = std::move(waiting_.front());
        waiting_.pop_front();
        const auto place = exchanges_.emplace(exchanges_.end());
        auto finished = [this, place, answer = next.answer](const SlurmAnswer& given) {
            exchanges_.erase(place);
            const std::shared_ptr<bool> alive = alive_;
            answer(given);
            if (*alive)
                beginNext();
        };
        try {
            *place = std::make_unique<Exchange>(settings_, scheduler_, next.request,
                                                std::move(finished));
        } catch (const std::system_error& error) {
            exchanges_.erase(place);
            answerLater(
                std::move(next.answer),
                {fmt::format(
                    "genv-slurm cannot be reached at {}: {}; check that its socket unit runs",
                    settings_.socket.string(), error.code().message())});
        }
    }
}

void SlurmSocket::answerLater(Answer answer, core::SlurmFailure failure) {
    scheduler_.soon([answer = std::move(answer), failure = std::move(failure), alive = alive_] {
        if (*alive)
            answer(failure);
    });
}

} // namespace genv::service
