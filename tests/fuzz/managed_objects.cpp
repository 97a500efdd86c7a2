// SPDX-License-Identifier: LGPL-2.1-or-later
// The answer of a service, possibly on another host: objects with any properties become the
// library's values or its one exception.
#include "client/libgenv/conversions.hpp"
#include "client/libgenv/machine_conversions.hpp"
#include "tests/fuzz/plain_message.hpp"
#include "tests/fuzz/target.hpp"

#include <array>

namespace genv::fuzz::managed_objects {

constexpr std::array names{"Id",
                           "Uid",
                           "User",
                           "Name",
                           "Created",
                           "Gpus",
                           "GpuMemory",
                           "Processes",
                           "Kernels",
                           "Devices",
                           "Expires",
                           "Index",
                           "Lingering",
                           "UUID",
                           "Model",
                           "TotalMemory",
                           "AvailableMemory",
                           "Attachments",
                           "LockedBy",
                           "Health",
                           "UsedMemory",
                           "Utilization",
                           "Temperature",
                           "PowerUsage",
                           "SampledAt",
                           "PCIAddress",
                           "PowerLimit",
                           "ReservedFor",
                           "Attached",
                           "Parent",
                           "Job",
                           "DriverVersion",
                           "Isolation",
                           "OverSubscribable"};

using tests::messageOf;

using Attachments = std::vector<sdbus::Struct<std::string, std::uint64_t, std::uint64_t>>;

sdbus::Variant valueFrom(Bytes& bytes) {
    switch (bytes.below(7)) {
    case 0:
        return sdbus::Variant(std::string(bytes.text()));
    case 1:
        return sdbus::Variant(bytes.number32());
    case 2:
        return sdbus::Variant(bytes.number64());
    case 3:
        return sdbus::Variant(static_cast<std::int32_t>(bytes.number32()));
    case 4:
        return sdbus::Variant(std::vector<std::string>{std::string(bytes.text())});
    case 5:
        return sdbus::Variant(std::vector<std::uint32_t>{bytes.number32(), bytes.number32()});
    default:
        return sdbus::Variant(
            Attachments{{std::string(bytes.text()), bytes.number64(), bytes.number64()}});
    }
}

// Returns an object with every property in its type, before the input changes some.
client::Dictionary goodObject() {
    const std::string text = "7";
    const std::uint32_t few = 1;
    const std::uint64_t many = 1;
    client::Dictionary all;
    for (const char* name : {"Id", "User", "Name", "UUID", "Model", "LockedBy", "Health"})
        all[name] = sdbus::Variant(text);
    for (const char* name : {"Uid", "Gpus", "Index", "Utilization", "PowerUsage"})
        all[name] = sdbus::Variant(few);
    for (const char* name : {"Created", "GpuMemory", "Expires", "TotalMemory", "AvailableMemory",
                             "UsedMemory", "SampledAt"})
        all[name] = sdbus::Variant(many);
    all["Lingering"] = sdbus::Variant(true);
    all["Temperature"] = sdbus::Variant(std::int32_t{30});
    all["Kernels"] = sdbus::Variant(std::vector<std::string>{});
    all["Processes"] = sdbus::Variant(std::vector<std::uint32_t>{7});
    all["Devices"] = sdbus::Variant(std::vector<std::uint32_t>{1});
    all["Attachments"] = sdbus::Variant(Attachments{{"7", 0, 1}});
    return all;
}

template <typename Read>
void tryReading(Read read) {
    try {
        read();
    } catch (const sdbus::Error&) {
        // The library reports this as genv::Error.
    }
}

GENV_FUZZ_TARGET(managed_objects) {
    Bytes bytes(input);
    std::map<sdbus::ObjectPath, std::map<std::string, client::Dictionary>> sent;
    client::Dictionary last;
    tryReading([&] {
        for (std::size_t count = bytes.below(5); count > 0; --count) {
            const bool isDevice = bytes.below(2) == 1;
            const std::string path = std::string("/dev/genv/Manager/") +
                                     (isDevice ? "device/" : "environment/") +
                                     std::to_string(count);
            last = goodObject();
            for (std::size_t changes = bytes.below(4); changes > 0; --changes) {
                const char* name = names[bytes.below(names.size())];
                if (bytes.below(4) == 0)
                    last.erase(name);
                else
                    last[name] = valueFrom(bytes);
            }
            sent[sdbus::ObjectPath(path)][isDevice ? "dev.genv.Device" : "dev.genv.Environment"] =
                last;
        }
    });
    const client::ManagedObjects objects = client::readManagedObjects(messageOf(sent));
    const client::Properties read = client::readProperties(messageOf(last));
    expect(objects.size() == sent.size() && read.size() == last.size(),
           "every object and property is read");
    tryReading([&] { client::toMachine(objects, read); });
    tryReading([&] { client::toProcessDescriptions(std::vector<client::Properties>{read}); });
    tryReading([&] { client::toEnvironment(read); });
    tryReading([&] { client::toServiceStatus(read); });
    tryReading([&] { client::toHistoryEvent(last); });
    tryReading([&] { client::toActions({sdbus::make_struct(std::string(bytes.text()), last)}); });
    for (const auto& [name, value] : last)
        client::toText(value);
    const std::string id(bytes.rest());
    if (id.find('\0') == std::string::npos)
        expect(client::environmentId(client::environmentPath(id)) == id,
               "an environment's path says its id");
}

} // namespace genv::fuzz::managed_objects
