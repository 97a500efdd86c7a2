// SPDX-License-Identifier: LGPL-2.1-or-later
// bus_latency [CALLS]: how long calls of the service take, beside Peer.Ping of the same object on
// the same bus in the same run, for only the ratio means anything on another machine. The calls
// alternate, so that whatever else the machine does meets them alike. Root's calls, which polkit is
// not asked about.
#include <fmt/format.h>
#include <systemd/sd-bus.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;

constexpr const char* service = "dev.genv.Manager";
constexpr const char* managerPath = "/dev/genv/Manager";

void requireGood(int result, const std::string& what) {
    if (result < 0)
        throw std::runtime_error(what + ": " + std::strerror(-result));
}

class Bus {
  public:
    Bus() {
        sd_bus* bus = nullptr;
        requireGood(sd_bus_open_system(&bus), "the bus");
        bus_.reset(bus);
    }

    template <typename... Arguments>
    std::chrono::nanoseconds time(const std::string& path, const char* interface,
                                  const char* member, const char* signature,
                                  Arguments... arguments) {
        sd_bus_error error = SD_BUS_ERROR_NULL;
        sd_bus_message* reply = nullptr;
        const auto began = Clock::now();
        const int result = sd_bus_call_method(bus_.get(), service, path.c_str(), interface, member,
                                              &error, &reply, signature, arguments...);
        const auto took = Clock::now() - began;
        sd_bus_message_unref(reply);
        const std::string text = error.message != nullptr ? error.message : "";
        sd_bus_error_free(&error);
        requireGood(result, std::string(member) + " " + text);
        return took;
    }

  private:
    struct Unref {
        void operator()(sd_bus* bus) const { sd_bus_flush_close_unref(bus); }
    };
    std::unique_ptr<sd_bus, Unref> bus_;
};

class Series {
  public:
    explicit Series(std::string title) : title_(std::move(title)) {}
    void add(std::chrono::nanoseconds time) { times_.push_back(time.count()); }
    [[nodiscard]] double percentile(double part) {
        std::sort(times_.begin(), times_.end());
        const auto index = static_cast<std::size_t>(part * static_cast<double>(times_.size() - 1));
        return static_cast<double>(times_.at(index)) / 1000;
    }
    void print(double reference) {
        fmt::print("{:34} {:8.1f} {:8.1f} {:8.1f} {:8.2f}\n", title_, percentile(0.5),
                   percentile(0.9), percentile(0.99), percentile(0.5) / reference);
    }

  private:
    std::string title_;
    std::vector<std::int64_t> times_;
};

void measure(int calls) {
    Bus bus;
    const std::string id = "bench";
    bus.time(managerPath, service, "Activate", "a{sv}", 2, "id", "s", id.c_str(), "pid", "u",
             std::uint32_t(::getpid()));
    const std::string environment = "/dev/genv/Manager/environment/" + id;

    Series ping("Peer.Ping");
    Series devices("ListDevices");
    Series environments("ListEnvironments");
    Series attachments("ListAttachments");
    Series getEnvironment("GetEnvironment");
    Series property("Properties.Get Version");
    Series attach("Attach + Detach");
    for (int i = 0; i < calls; ++i) {
        ping.add(bus.time(managerPath, "org.freedesktop.DBus.Peer", "Ping", ""));
        devices.add(bus.time(managerPath, service, "ListDevices", ""));
        environments.add(bus.time(managerPath, service, "ListEnvironments", ""));
        attachments.add(bus.time(managerPath, service, "ListAttachments", ""));
        getEnvironment.add(bus.time(managerPath, service, "GetEnvironment", "s", id.c_str()));
        property.add(bus.time(managerPath, "org.freedesktop.DBus.Properties", "Get", "ss", service,
                              "Version"));
        attach.add(
            bus.time(environment, "dev.genv.Environment", "Attach", "a{sv}", 1, "count", "u", 1U) +
            bus.time(environment, "dev.genv.Environment", "Detach", "au", 0));
    }
    fmt::print("{:34} {:>8} {:>8} {:>8} {:>8}\n", fmt::format("{} calls each, in µs", calls),
               "median", "90 %", "99 %", "of Ping");
    const double reference = ping.percentile(0.5);
    for (Series* series :
         {&ping, &devices, &environments, &attachments, &getEnvironment, &property, &attach})
        series->print(reference);
}

} // namespace

int main(int argc, char** argv) {
    try {
        measure(argc > 1 ? std::atoi(argv[1]) : 5000);
        return EXIT_SUCCESS;
    } catch (const std::exception& error) {
        fmt::print(stderr, "bus_latency: {}\n", error.what());
        return EXIT_FAILURE;
    }
}
