// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tests/hostile/flooder.hpp"

#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <new>
#include <stdexcept>
#include <vector>

namespace genv::tests {

namespace {

// One connection of the flood.
class Tap {
  public:
    Tap(const FloodOptions& options, Flooder::Counts& counts)
        : options_(options), counts_(counts), client_(options.uid) {}

    // Sends as many calls as may be in flight. Returns false once the bus has closed the
    // connection.
    bool fill() {
        for (; inFlight_ < options_.inFlight && hasMore(); ++inFlight_) {
            const Message call = options_.call(client_);
            if (sd_bus_call_async(client_.bus(), nullptr, call.get(), onReply, this, UINT64_MAX) <
                0) {
                return false;
            }
            ++counts_.sent;
            ++sent_;
        }
        int more = 1;
        while (more > 0)
            more = sd_bus_process(client_.bus(), nullptr);
        return more == 0;
    }
    [[nodiscard]] bool isOver() const { return inFlight_ == 0 && !hasMore(); }
    [[nodiscard]] pollfd poll() const {
        return {sd_bus_get_fd(client_.bus()), static_cast<short>(sd_bus_get_events(client_.bus())),
                0};
    }

  private:
    [[nodiscard]] bool hasMore() const { return options_.calls == 0 || sent_ < options_.calls; }

    static int onReply(sd_bus_message* reply, void* data, sd_bus_error* /*error*/) {
        Tap& tap = *static_cast<Tap*>(data);
        const sd_bus_error* error = sd_bus_message_get_error(reply);
        const char* text = error != nullptr && error->message != nullptr ? error->message : "";
        if (error != nullptr && std::strstr(text, "pending replies") != nullptr) {
            // The bus's own limits do not matter here; the flood consists of the calls that reach
            // the service.
            ++tap.counts_.refusedByBus;
            return 0;
        }
        --tap.inFlight_;
        if (error == nullptr)
            ++tap.counts_.served;
        else if (std::strstr(text, "of your calls wait") != nullptr)
            ++tap.counts_.refusedByService;
        else
            ++tap.counts_.refusedOtherwise;
        return 0;
    }

    const FloodOptions& options_;
    Flooder::Counts& counts_;
    Client client_;
    std::size_t inFlight_ = 0;
    std::size_t sent_ = 0;
};

void floodOnce(const FloodOptions& options, Flooder::Counts& counts) {
    std::vector<std::unique_ptr<Tap>> taps;
    for (std::size_t i = 0; i < options.connections; ++i)
        taps.push_back(std::make_unique<Tap>(options, counts));
    counts.isConnected = true;
    for (;;) {
        std::vector<pollfd> polled;
        for (const auto& tap : taps) {
            if (!tap->fill())
                return;
            polled.push_back(tap->poll());
        }
        if (std::all_of(taps.begin(), taps.end(), [](const auto& tap) { return tap->isOver(); }))
            break;
        ::poll(polled.data(), polled.size(), -1);
    }
}

void flood(const FloodOptions& options, Flooder::Counts& counts) {
    do
        floodOnce(options, counts);
    while (options.again);
    counts.isOver = true;
}

} // namespace

Flooder::Flooder(const FloodOptions& options) {
    void* memory =
        ::mmap(nullptr, sizeof(Counts), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        throw std::runtime_error("mmap");
    counts_ = new (memory) Counts;
    pid_ = ::fork();
    if (pid_ == 0) {
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);
        try {
            flood(options, *counts_);
        } catch (const std::exception&) {
            ::_exit(1);
        }
        ::_exit(0);
    }
}

Flooder::~Flooder() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    ::munmap(counts_, sizeof(Counts));
}

} // namespace genv::tests
