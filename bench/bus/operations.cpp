// SPDX-License-Identifier: LGPL-2.1-or-later
#include "bench/bus/operations.hpp"

#include <poll.h>

#include <algorithm>
#include <cstring>
#include <set>
#include <stdexcept>

namespace genv::bench {

namespace {

// The number of calls per lane in a batch. It is large enough that the start and end of a batch
// matter little.
constexpr unsigned callsPerLane = 4;
// The minimum, even for slow operations.
constexpr unsigned leastRounds = 3;

void expect(const Operation& operation, bool isLast, const char* error, const char* text) {
    const std::string expected = isLast ? operation.expectedError : "";
    if (expected != (error != nullptr ? error : ""))
        throw std::runtime_error(operation.name + ": " +
                                 (error != nullptr ? std::string(error) + ": " + text
                                                   : "succeeded, although it should fail"));
}

class Run {
  public:
    Run(const Operation& operation, unsigned count, unsigned inFlight, Series* times)
        : operation_(operation), count_(count), times_(times), lanes_(std::min(inFlight, count)) {
        for (const Step& step : operation_.steps)
            clients_.insert(step.client);
    }

    void untilDone() {
        const auto began = Clock::now();
        for (unsigned i = 0; i < lanes_.size(); ++i) {
            lanes_.at(i).run = this;
            lanes_.at(i).turn.lane = i;
            begin(lanes_.at(i));
        }
        while (done_ < count_) {
            if (!process())
                wait();
            if (!failure_.empty())
                throw std::runtime_error(failure_);
        }
        if (times_ != nullptr)
            times_->addElapsed(Clock::now() - began);
    }

  private:
    struct Lane {
        Run* run = nullptr;
        Turn turn;
        std::size_t step = 0;
        Clock::time_point began;
    };

    void begin(Lane& lane) {
        if (begun_ >= count_)
            return;
        lane.turn.number = begun_++;
        lane.step = 0;
        // Creating the message is not part of the call.
        const tests::Message message = operation_.steps.front().message(lane.turn);
        lane.began = Clock::now();
        send(lane, message);
    }

    void send(Lane& lane, const tests::Message& message) {
        const int result = sd_bus_call_async(operation_.steps.at(lane.step).client->bus(), nullptr,
                                             message.get(), onAnswer, &lane, UINT64_MAX);
        if (result < 0)
            throw std::runtime_error(operation_.name + ": " + std::strerror(-result));
    }

    // sd-bus calls this, so no exception may escape.
    static int onAnswer(sd_bus_message* answer, void* data, sd_bus_error* /*error*/) {
        Lane& lane = *static_cast<Lane*>(data);
        try {
            lane.run->answered(lane, answer);
        } catch (const std::exception& error) {
            lane.run->failure_ = error.what();
        }
        return 0;
    }

    void answered(Lane& lane, sd_bus_message* answer) {
        const sd_bus_error* error = sd_bus_message_get_error(answer);
        const bool isLast = lane.step + 1 == operation_.steps.size();
        expect(operation_, isLast, error != nullptr ? error->name : nullptr,
               error != nullptr && error->message != nullptr ? error->message : "");
        if (!isLast) {
            ++lane.step;
            send(lane, operation_.steps.at(lane.step).message(lane.turn));
            return;
        }
        if (times_ != nullptr)
            times_->add(Clock::now() - lane.began);
        ++done_;
        begin(lane);
    }

    bool process() {
        bool any = false;
        for (tests::Client* client : clients_) {
            int result = 0;
            while (failure_.empty() && (result = sd_bus_process(client->bus(), nullptr)) > 0)
                any = true;
            if (result < 0)
                throw std::runtime_error(std::string("the bus: ") + std::strerror(-result));
        }
        return any;
    }

    void wait() {
        std::vector<pollfd> polled;
        for (tests::Client* client : clients_)
            polled.push_back({sd_bus_get_fd(client->bus()),
                              static_cast<short>(sd_bus_get_events(client->bus())), 0});
        ::poll(polled.data(), polled.size(), -1);
    }

    const Operation& operation_;
    unsigned count_;
    Series* times_;
    std::vector<Lane> lanes_;
    std::set<tests::Client*> clients_;
    unsigned begun_ = 0;
    unsigned done_ = 0;
    std::string failure_;
};

} // namespace

Operation joined(const std::string& name, const std::vector<Operation>& operations) {
    Operation all{name, {}};
    for (const Operation& operation : operations)
        all.steps.insert(all.steps.end(), operation.steps.begin(), operation.steps.end());
    return all;
}

void runMany(const Operation& operation, unsigned count, unsigned inFlight, Series* times) {
    Run(operation, count, inFlight, times).untilDone();
}

std::vector<Series> measureInTurns(const std::vector<Operation>& operations, const Amount& amount) {
    const unsigned batch = amount.inFlight == 1 ? 1 : amount.inFlight * callsPerLane;
    const unsigned rounds = std::max(leastRounds, amount.calls / batch);
    for (const Operation& operation : operations) // warm the caches up; not counted
        runMany(operation, amount.inFlight, amount.inFlight);
    std::vector<Series> series(operations.size());
    const auto end = Clock::now() + amount.maxTime * operations.size();
    for (unsigned round = 0; round < rounds; ++round) {
        if (round >= leastRounds && Clock::now() > end)
            break;
        for (std::size_t i = 0; i < operations.size(); ++i)
            runMany(operations[i], batch, amount.inFlight, &series[i]);
    }
    return series;
}

} // namespace genv::bench
