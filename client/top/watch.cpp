// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/genvctl/terminal/terminal_text.hpp"
#include "client/top/collector.hpp"

#include <poll.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <system_error>
#include <utility>

namespace genv::top {

namespace {

using Clock = std::chrono::steady_clock;

// Signals often arrive in groups, and a group needs only one frame.
constexpr std::chrono::milliseconds settling{20};
constexpr std::chrono::milliseconds leastBetween{100};
// Reading an environment takes genvd 0.04 ms. So it spends at most a hundredth of its time on it.
constexpr std::chrono::milliseconds pauseForEnvironment{4};

/// A descriptor that becomes readable at the next sample, or when the thread must stop.
class Alarm {
  public:
    explicit Alarm(int stop)
        : stop_(stop), timer_(timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK)),
          both_(epoll_create1(EPOLL_CLOEXEC)) {
        for (const int descriptor : {stop, timer_.get()}) {
            epoll_event event{};
            event.events = EPOLLIN;
            if (epoll_ctl(both_.get(), EPOLL_CTL_ADD, descriptor, &event) < 0)
                throw std::system_error(errno, std::generic_category(), "epoll");
        }
    }

    void set(Clock::time_point when) {
        const auto remaining =
            std::max<std::chrono::nanoseconds>(when - Clock::now(), std::chrono::nanoseconds{1});
        const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(remaining);
        itimerspec time{};
        time.it_value.tv_sec = seconds.count();
        time.it_value.tv_nsec = static_cast<long>((remaining - seconds).count());
        timerfd_settime(timer_.get(), 0, &time, nullptr);
    }
    [[nodiscard]] int descriptor() const noexcept { return both_.get(); }
    [[nodiscard]] bool isStopped() const {
        pollfd descriptor{stop_, POLLIN, 0};
        return poll(&descriptor, 1, 0) > 0;
    }
    /// Waits for the next sample. Returns false if the thread must stop.
    bool wait(Clock::time_point when) {
        set(when);
        pollfd descriptor{both_.get(), POLLIN, 0};
        while (poll(&descriptor, 1, -1) < 0 && errno == EINTR) {
        }
        return !isStopped();
    }

  private:
    int stop_;
    client::Descriptor timer_;
    client::Descriptor both_;
};

class ServiceWatch {
  public:
    ServiceWatch(Mailbox& mailbox, const std::optional<remote::Host>& host, int stop)
        : mailbox_(mailbox), host_(host), alarm_(stop), link_(host), reader_(link_, host) {}

    void run() {
        do {
            try {
                watch();
            } catch (const Error& error) {
                post(troubleFrame(link_.explain(error), host_));
            }
            link_.drop();
        } while (alarm_.wait(Clock::now() + sampleInterval));
    }

  private:
    void post(Frame frame) {
        mailbox_.post(FrameMessage{std::make_shared<Frame>(std::move(frame))});
    }

    // Runs until the connection to the bus is lost.
    void watch() {
        Client& client = link_.client();
        // The first call may start the service. After a stop, only an administrator starts it.
        if (!std::exchange(hasAsked_, true))
            client.status();
        client.listenForEventsOnly();
        isFirst_ = true;
        while (!alarm_.isStopped()) {
            sample(client);
            waitForSample(client);
        }
    }

    // Reads everything.
    void sample(Client& client) {
        if (!client.serviceIsThere()) {
            const ServiceUnavailable gone("", "it does not run");
            isFirst_ = true;
            post(troubleFrame(ctl::toFailure(gone), host_));
            return;
        }
        attempt([&] {
            // Shows first what the service knows without the driver.
            if (std::exchange(isFirst_, false)) {
                reader_.readMachine();
                reader_.readQueue();
                post(reader_.frame());
                reader_.readHistory();
            }
            reader_.readProcesses();
            reader_.readMachine();
            post(reader_.frame());
        });
    }

    // Reads what signals have changed.
    void sampleState(Client& client) {
        if (!client.serviceIsThere())
            return sample(client);
        attempt([&] {
            reader_.readMachine();
            reader_.readQueue();
            post(reader_.frame());
        });
    }

    // A service that does not answer may do so next time. When it has ended, or the bus has, the
    // next event says so, or fails.
    template <typename Work>
    void attempt(Work work) {
        try {
            work();
        } catch (const ServiceUnavailable&) {
            if (link_.isRemote())
                throw; // ssh says why
            isFirst_ = true;
        } catch (const Error& error) {
            post(troubleFrame(link_.explain(error), host_));
            isFirst_ = true;
        }
        sampled_ = Clock::now();
    }

    // Posts a frame for each change until the next sample is due.
    void waitForSample(Client& client) {
        const std::chrono::milliseconds pause = reader_.environments() * pauseForEnvironment;
        const Clock::time_point due = Clock::now() + sampleInterval + pause;
        for (;;) {
            alarm_.set(due);
            const auto event = client.nextEvent(alarm_.descriptor());
            if (!event)
                return;
            if (event->kind == Event::Kind::ServiceStarted)
                return;
            alarm_.set(std::max(Clock::now() + settling, sampled_ + leastBetween + pause));
            while (client.nextEvent(alarm_.descriptor())) {
            }
            if (alarm_.isStopped())
                return;
            sampleState(client);
        }
    }

    Mailbox& mailbox_;
    const std::optional<remote::Host>& host_;
    Alarm alarm_;
    ServiceConnection link_;
    ServiceReader reader_;
    bool hasAsked_ = false;
    bool isFirst_ = true;
    Clock::time_point sampled_;
};

} // namespace

void watchService(Mailbox& mailbox, const std::optional<remote::Host>& host, int stop) {
    ServiceWatch(mailbox, host, stop).run();
}

void watchCluster(Mailbox& mailbox, int stop) {
    Alarm alarm(stop);
    do {
        Frame frame;
        try {
            frame = readCluster();
        } catch (const ctl::Failure& failure) {
            frame = troubleFrame(failure, std::nullopt);
        }
        mailbox.post(FrameMessage{std::make_shared<Frame>(std::move(frame))});
    } while (alarm.wait(Clock::now() + clusterInterval));
}

} // namespace genv::top
