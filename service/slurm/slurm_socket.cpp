// SPDX-License-Identifier: LGPL-2.1-or-later
#include "service/slurm/slurm_socket.hpp"

#include <fmt/format.h>

#include <optional>
#include <string>
#include <system_error>
#include <utility>

namespace genv::service {

namespace {

constexpr const char* unexpected = "genv-slurm answered another request";

SlurmAnswer slurmAnswerOf(LineExchange::End end, const std::string& line) {
    switch (end) {
    case LineExchange::End::Ended:
        return core::SlurmFailure{"genv-slurm ended, or systemd refused the connection; "
                                  "\"journalctl -u 'genv-slurm*'\" may show the reason"};
    case LineExchange::End::Late:
        return core::SlurmFailure{"genv-slurm did not answer in time"};
    case LineExchange::End::TooLong:
        return core::SlurmFailure{"genv-slurm sent too long an answer"};
    case LineExchange::End::NoLine:
        return core::SlurmFailure{"genv-slurm sent an invalid answer: expected one line"};
    case LineExchange::End::Answered:
        break;
    }
    try {
        return decodeSlurmAnswer(line);
    } catch (const SlurmProtocolError& error) {
        return core::SlurmFailure{
            fmt::format("genv-slurm sent an invalid answer: {}", error.what())};
    }
}

} // namespace

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
        auto finished = [this, place, answer = next.answer](LineExchange::End end,
                                                            const std::string& line) {
            exchanges_.erase(place);
            const std::shared_ptr<bool> alive = alive_;
            answer(slurmAnswerOf(end, line));
            if (*alive)
                beginNext();
        };
        try {
            *place = std::make_unique<LineExchange>(
                settings_.socket, encodeSlurmRequest(next.request), settings_.answerTimeout,
                maxSlurmAnswer, scheduler_, std::move(finished));
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
