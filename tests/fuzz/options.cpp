// SPDX-License-Identifier: LGPL-2.1-or-later
// The a{sv} of calls: any dictionary that the bus can deliver, through a real message, to the
// handlers' parsers of options.
#include "dbus/calls/environment_options.hpp"
#include "tests/fuzz/plain_message.hpp"
#include "tests/fuzz/target.hpp"

#include <array>

namespace genv::fuzz::options {

constexpr std::array known{"id",
                           "name",
                           "gpus",
                           "gpu-memory",
                           "pid",
                           "process",
                           "kernel",
                           "attach",
                           "over-subscribe",
                           "wait",
                           "timeout",
                           "hold-for-quota",
                           "lifetime",
                           "uid",
                           "count",
                           "index",
                           "indices",
                           "uuid",
                           "model",
                           "dry-run",
                           "interval",
                           "exact",
                           "over-subscribable"};

std::string nameFrom(Bytes& bytes) {
    const std::size_t which = bytes.below(known.size() + 2);
    return which < known.size() ? known[which] : std::string(bytes.text());
}

std::vector<std::uint32_t> numbersFrom(Bytes& bytes) {
    std::vector<std::uint32_t> numbers(bytes.below(9));
    for (std::uint32_t& number : numbers)
        number = bytes.number32();
    return numbers;
}

sdbus::Variant valueFrom(Bytes& bytes, int depth) {
    switch (bytes.below(depth > 4 ? 12 : 16)) {
    case 0:
        return sdbus::Variant(std::string(bytes.text()));
    case 1:
        return sdbus::Variant(bytes.number32());
    case 2:
        return sdbus::Variant(bytes.number64());
    case 3:
        return sdbus::Variant(bytes.byte() % 2 == 1);
    case 4:
        return sdbus::Variant(numbersFrom(bytes));
    case 5:
        return sdbus::Variant(static_cast<std::int32_t>(bytes.number32()));
    case 6:
        return sdbus::Variant(static_cast<std::int64_t>(bytes.number64()));
    case 7:
        return sdbus::Variant(bytes.byte());
    case 8:
        return sdbus::Variant(static_cast<double>(bytes.number64()));
    case 9:
        return sdbus::Variant(sdbus::ObjectPath(std::string("/").append(bytes.text())));
    case 10:
        return sdbus::Variant(sdbus::Signature(std::string(bytes.text())));
    case 11:
        return sdbus::Variant(static_cast<std::uint16_t>(bytes.number32()));
    case 12:
        return sdbus::Variant(valueFrom(bytes, depth + 1));
    case 13:
        return sdbus::Variant(std::vector<std::string>{std::string(bytes.text()), ""});
    case 14:
        return sdbus::Variant(
            dbus::VariantMap{{std::string(bytes.text()), valueFrom(bytes, depth + 1)}});
    default:
        return sdbus::Variant(sdbus::make_struct(bytes.number32(), std::string(bytes.text())));
    }
}

// Returns the dictionary as the bus delivers it, or nothing for one that no client can send, such
// as text that is not UTF-8.
std::optional<dbus::VariantMap> dictionaryFrom(Bytes& bytes) {
    try {
        dbus::VariantMap sent;
        for (std::size_t count = bytes.below(8); count > 0; --count) {
            const std::string name = nameFrom(bytes);
            sent[name] = valueFrom(bytes, 0);
        }
        sdbus::PlainMessage message = tests::messageOf(sent);
        dbus::VariantMap delivered;
        message >> delivered;
        return delivered;
    } catch (const sdbus::Error&) {
        return std::nullopt;
    }
}

template <typename Read>
void tryReading(Read read) {
    try {
        read();
    } catch (const core::Error& error) {
        expect(error.code() == core::ErrorCode::InvalidArgs, "a wrong option is a wrong argument");
        expectShowable(error.what(), "why an option is refused can be shown");
    }
}

core::EnvironmentRecord environmentFrom(Bytes& bytes) {
    core::EnvironmentRecord environment;
    environment.id = std::string("7");
    if (const std::uint32_t gpus = bytes.byte(); gpus > 0)
        environment.configuration.gpus = gpus;
    return environment;
}

GENV_FUZZ_TARGET(options) {
    Bytes bytes(input);
    const core::EnvironmentRecord environment = environmentFrom(bytes);
    std::vector<std::string> unset;
    for (std::size_t count = bytes.below(4); count > 0; --count)
        unset.push_back(nameFrom(bytes));
    const auto given = dictionaryFrom(bytes);
    if (!given)
        return;

    tryReading([&] {
        const dbus::AttachCallOptions read = dbus::readAttachOptions(*given, environment);
        expect(!read.terms.timeout || read.terms.wait, "only who waits has a time-out");
        expect(!read.terms.lifetime || read.terms.lifetime->count() > 0, "a lease is a time");
    });
    tryReading([&] {
        const core::EnvironmentConfigurationChange change =
            dbus::readConfigurationChange(*given, unset);
        expect(!change.name || !*change.name || isShowable(**change.name), "a name can be shown");
        expect(!change.gpuMemory || !*change.gpuMemory || (*change.gpuMemory)->count > 0,
               "no share is empty");
    });
    // The options of other calls.
    tryReading([&] {
        dbus::CallOptions all(*given);
        all.take<std::string>("id");
        all.take<std::uint32_t>("uid");
        all.take<sdbus::UnixFd>("process");
        all.take<std::vector<std::uint32_t>>("indices");
        all.takeFlag("dry-run");
        all.takeMemory("gpu-memory");
        all.takeName("name");
        all.takeSeconds("interval");
        all.finish();
    });
}

} // namespace genv::fuzz::options
