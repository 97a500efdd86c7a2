// SPDX-License-Identifier: LGPL-2.1-or-later
#include "service/processes/proc_reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <utility>

namespace genv::service {

namespace {

using std::chrono::milliseconds;

// If this many helpers do not die, assume that the next one would hang as well.
constexpr std::size_t maxHanging = 4;

// How often to check a helper within the time allowed for an entry.
constexpr int looksAtSleep = 6;
// How long to wait for a helper that gets no processor time.
constexpr std::chrono::seconds starvedTime{5};

ProcReading readingOf(ProcAnswer answer) {
    return std::visit([](auto&& kind) { return ProcReading(std::forward<decltype(kind)>(kind)); },
                      std::move(answer));
}

} // namespace

// One call of read(): the pending requests, and the readings so far.
class ProcReader::Look {
  public:
    Look(ProcReader& reader, const std::vector<ProcRequest>& requests, ProcBudget& budget)
        : reader_(reader), requests_(requests), budget_(budget),
          readings_(requests.size(), ProcPostponed{}) {
        for (std::size_t i = 0; i < requests_.size(); ++i)
            pending_.push_back(i);
        if (!reader_.hung().isEmpty() || !budget_.hangs.empty())
            sortOut();
    }

    std::vector<ProcReading> take() {
        while (!pending_.empty() && budget_.remaining.count() > 0) {
            ProcHelper* helper = nullptr;
            try {
                helper = &reader_.helper();
            } catch (const ProcHelperError& error) {
                reader_.logOnce(error.what());
                giveUp();
                break;
            }
            try {
                ask(*helper);
            } catch (const ProcHelperError& error) {
                reader_.logOnce(error.what());
                reader_.endHelper();
                died();
            }
        }
        return std::move(readings_);
    }

  private:
    [[nodiscard]] const ProcRequest& current() const { return requests_[pending_.front()]; }
    void finish(ProcReading reading) {
        readings_[pending_.front()] = std::move(reading);
        pending_.pop_front();
    }

    // Sends as many requests as fit into a packet, and receives answers as long as they arrive.
    void ask(ProcHelper& helper) {
        std::vector<ProcRequest> requests;
        for (std::size_t i = 0; i < std::min(pending_.size(), maxProcRequests); ++i)
            requests.push_back(requests_[pending_[i]]);
        helper.ask(requests);
        for (std::size_t i = 0; i < requests.size(); ++i) {
            if (!takeAnswer(helper)) {
                reader_.endHelper();
                return;
            }
        }
    }

    // Returns false if no answer arrives. A helper that stays in the same sleep for the whole time
    // hangs. A helper that merely gets no processor time proves nothing about the process to read,
    // and consumes no budget.
    bool takeAnswer(ProcHelper& helper) {
        const auto begun = ProcHelper::Clock::now();
        const milliseconds time = std::min(answerTime, budget_.remaining);
        auto asleep = begun;
        std::optional<std::uint64_t> sleep;
        for (;;) {
            if (auto answer = helper.next(ProcHelper::Clock::now() + time / looksAtSleep)) {
                finish(readingOf(*std::move(answer)));
                return true;
            }
            const auto now = ProcHelper::Clock::now();
            const auto seen = helper.sleep();
            if (!seen || seen != sleep)
                asleep = now;
            sleep = seen;
            if (sleep && now - asleep >= time) {
                budget_.remaining -= std::chrono::ceil<milliseconds>(now - asleep);
                if (time == answerTime)
                    hangs();
                else
                    pending_.clear();
                return false;
            }
            if (now - begun > starvedTime) {
                giveUp();
                return false;
            }
        }
    }

    void hangs() {
        const core::Pid pid = current().pid;
        const auto owner = ownerOf(pid);
        if (!owner) {
            finish(ProcGone{});
            return;
        }
        reader_.hung().add(pid, *owner, current().part);
        ++budget_.hangs[*owner];
        finish(ProcHung{});
        sortOut();
    }

    // A single death may have any cause. If a helper dies twice on the same process, treat that
    // process as hung.
    void died() {
        const std::size_t index = pending_.front();
        if (std::exchange(diedOf_, index) == index)
            hangs();
    }

    // Drops requests for processes that hung recently. Puts the requests of users with hung
    // processes last, and drops those of users with too many.
    void sortOut() {
        std::deque<std::size_t> first;
        std::deque<std::size_t> last;
        std::map<core::Uid, bool> hanging;
        for (const std::size_t index : std::exchange(pending_, {})) {
            const ProcRequest& request = requests_[index];
            if (reader_.hung().isHung(request.pid, request.part)) {
                readings_[index] = ProcHung{};
                continue;
            }
            const auto owner = ownerOf(request.pid);
            const auto hangs = owner ? budget_.hangs.find(*owner) : budget_.hangs.end();
            const std::size_t count = hangs != budget_.hangs.end() ? hangs->second : 0;
            if (count >= budget_.hangsPerUser)
                continue;
            if (owner && !hanging.contains(*owner))
                hanging[*owner] =
                    count > 0 || reader_.hung().hangsOf(*owner, ProcPart::Arguments) > 0;
            (owner && hanging[*owner] ? last : first).push_back(index);
        }
        pending_ = std::move(first);
        pending_.insert(pending_.end(), last.begin(), last.end());
    }

    void giveUp() {
        for (const std::size_t index : std::exchange(pending_, {}))
            readings_[index] = ProcShortage{};
    }

    ProcReader& reader_;
    const std::vector<ProcRequest>& requests_;
    ProcBudget& budget_;
    std::vector<ProcReading> readings_;
    std::deque<std::size_t> pending_; ///< indices of requests
    std::optional<std::size_t> diedOf_;
};

ProcReader::~ProcReader() {
    endHelper();
}

std::vector<ProcReading> ProcReader::read(const std::vector<ProcRequest>& requests,
                                          ProcBudget& budget) {
    return Look(*this, requests, budget).take();
}

ProcReading ProcReader::read(ProcRequest request, ProcBudget& budget) {
    return read(std::vector{request}, budget).front();
}

ProcHelper& ProcReader::helper() {
    if (!helper_) {
        hanging_.remove_if(
            [](ChildProcess& child) { return child.reap(milliseconds{0}).has_value(); });
        if (hanging_.size() > maxHanging)
            throw ProcHelperError(fmt::format("cannot be killed, {} times", hanging_.size()));
        helper_.emplace(access_.program);
        trouble_.clear();
    }
    return *helper_;
}

void ProcReader::endHelper() {
    if (!helper_)
        return;
    if (auto hanging = std::move(*helper_).end())
        hanging_.push_back(std::move(*hanging));
    helper_.reset();
}

void ProcReader::logOnce(const std::string& trouble) {
    if (std::exchange(trouble_, trouble) != trouble)
        hung().log(fmt::format("the reader of /proc {}", trouble));
}

} // namespace genv::service
