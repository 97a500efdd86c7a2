// SPDX-License-Identifier: LGPL-2.1-or-later
#include "shims/nvml/view_cache.hpp"

#include "genv/client.hpp"
#include "shims/nvml/filter_report.hpp"
#include "shims/program_environment.hpp"

#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <ctime>
#include <exception>
#include <new>
#include <optional>
#include <utility>
#include <vector>

namespace genv::shims {

namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::seconds;

constexpr seconds freshness{1};
constexpr const char* timeout = "3s"; // in the format of sd-bus
constexpr seconds maxWait{5};         // for another thread's query
constexpr int forbearance = 20;

// One query. All zeros mean that it was never executed.
struct Answer {
    pthread_mutex_t mutex;
    std::shared_ptr<const View> view;
    Clock::time_point expires;
};

// State that a forked child starts anew.
struct Page {
    std::atomic<bool> isInUse;
    Answer devices;
    Answer view;
};

std::atomic<int> asking;     // number of threads with a query in progress
std::atomic<bool> mayNotAsk; // another thread had a query in progress when this process was forked
// Set once and never destroyed, because threads may outlive exit().
const Whereabouts* whereabouts;

// Returns a page that the kernel fills with zeros in a child. All of its locks are then free and
// its answers empty.
Page* makePage() {
    void* memory =
        mmap(nullptr, sizeof(Page), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        return nullptr;
    madvise(memory, sizeof(Page), MADV_WIPEONFORK);
    return new (memory) Page{};
}

Page* page() {
    static Page* const made = makePage();
    if (made != nullptr && !made->isInUse.load(std::memory_order_relaxed) &&
        !made->isInUse.exchange(true) && asking.load() != 0)
        mayNotAsk.store(true);
    return made;
}

// Disables cancellation, because a thread that is canceled during a query would never release the
// lock.
class WithoutCancellation {
  public:
    WithoutCancellation() { pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before_); }
    WithoutCancellation(const WithoutCancellation&) = delete;
    WithoutCancellation& operator=(const WithoutCancellation&) = delete;
    ~WithoutCancellation() { pthread_setcancelstate(before_, nullptr); }

  private:
    int before_ = PTHREAD_CANCEL_ENABLE;
};

using Question = View (*)(Client& client, const client::NamedEnvironment& named);

struct Asked {
    std::shared_ptr<const View> view; ///< null if the program sees the whole machine
    std::optional<FilterEvent> event =
        FilterEvent::NoService; ///< the reason; unset: it is in no environment
};

Asked ask(Question question) {
    ++asking;
    Asked asked;
    try {
        Client client;
        if (const auto own = ownEnvironment(client, *whereabouts))
            asked = {std::make_shared<const View>(question(client, *own)), FilterEvent::Answered};
        else
            asked.event.reset();
    } catch (const AnothersEnvironment&) {
        asked.event = FilterEvent::Anothers;
    } catch (const std::exception&) { // NOLINT(bugprone-empty-catch): null is what it means
    }
    --asking;
    return asked;
}

void refresh(Answer& answer, Question question) {
    const auto began = Clock::now();
    Asked asked = ask(question);
    answer.view = std::move(asked.view);
    const auto ended = Clock::now();
    if (asked.event)
        report(*asked.event);
    const Clock::duration pause = answer.view ? Clock::duration{} : (ended - began) * forbearance;
    answer.expires = ended + std::max<Clock::duration>(freshness, pause);
}

std::shared_ptr<const View> current(Answer Page::*member, Question question) {
    Page* const made = page();
    if (made == nullptr || mayNotAsk.load()) {
        report(FilterEvent::NoService);
        return nullptr;
    }
    Answer& answer = made->*member;
    const WithoutCancellation guard;
    timespec until{};
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += maxWait.count();
    if (pthread_mutex_clocklock(&answer.mutex, CLOCK_MONOTONIC, &until) != 0)
        return nullptr;
    if (Clock::now() >= answer.expires)
        refresh(answer, question);
    std::shared_ptr<const View> view = answer.view;
    pthread_mutex_unlock(&answer.mutex);
    return view;
}

// Sets the timeout of sd-bus, which reads it from a variable. The list of variables still belongs
// to the program, and setenv() would write into it, so use a copy.
void limitBusTimeout() {
    static std::vector<char*>& variables = *new std::vector<char*>; // never destroyed
    for (char** variable = environ; *variable != nullptr; ++variable)
        variables.push_back(*variable);
    variables.push_back(nullptr);
    environ = variables.data();
    setenv("SYSTEMD_BUS_TIMEOUT", timeout, 1);
}

} // namespace

void prepareToAsk() {
    limitBusTimeout();
    whereabouts = new Whereabouts(readWhereabouts());
}

std::shared_ptr<const View> currentDevices() {
    return current(&Page::devices, readDevices);
}

// If the service does not report the devices, it does not report processes either, and the timeout
// has already passed once.
std::shared_ptr<const View> currentView() {
    if (!currentDevices())
        return nullptr;
    return current(&Page::view, readView);
}

} // namespace genv::shims
