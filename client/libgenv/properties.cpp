// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/libgenv/properties.hpp"

#include "dbus/contract/raw_bus.hpp"

#include <optional>
#include <string_view>
#include <type_traits>

namespace genv::client {

namespace {

using dbus::raw::Reader;

constexpr std::size_t usualCount = 30; // of the properties of an object

template <typename Type>
bool readAs(Reader& reader, std::string_view signature, std::optional<Value::Held>& value) {
    static const std::string own = dbus::compat::signatureOf<Type>();
    if (signature != own)
        return false;
    reader.readVariant(own.c_str(), std::get<Type>(value.emplace(Type{})));
    return true;
}

// Reads the variant by the type that its signature names.
template <typename... Types>
std::optional<Value::Held> readHeld(Reader& reader,
                                    std::type_identity<std::variant<Types...>> /*types*/) {
    std::optional<Value::Held> value;
    const std::string_view signature = reader.variantSignature();
    if (!(readAs<Types>(reader, signature, value) || ...))
        reader.skipVariant();
    return value;
}

Properties readDictionary(Reader& reader) {
    Properties properties;
    properties.reserve(usualCount);
    reader.array("{sv}", [&] {
        reader.entry("sv", [&] {
            const char* name = reader.readText('s');
            if (auto value = readHeld(reader, std::type_identity<Value::Held>{}))
                properties.add(name, Value(*std::move(value)));
        });
    });
    return properties;
}

} // namespace

ManagedObjects readManagedObjects(const sdbus::Message& reply) {
    Reader reader(reply);
    ManagedObjects objects;
    reader.array("{oa{sa{sv}}}", [&] {
        reader.entry("oa{sa{sv}}", [&] {
            auto& interfaces = objects[reader.readText('o')];
            reader.array("{sa{sv}}", [&] {
                reader.entry("sa{sv}", [&] {
                    const char* interface = reader.readText('s');
                    interfaces.insert_or_assign(interface, readDictionary(reader));
                });
            });
        });
    });
    return objects;
}

Properties readProperties(const sdbus::Message& reply) {
    Reader reader(reply);
    return readDictionary(reader);
}

std::vector<Properties> readRows(const sdbus::Message& reply) {
    Reader reader(reply);
    std::vector<Properties> rows;
    reader.array("a{sv}", [&] { rows.push_back(readDictionary(reader)); });
    return rows;
}

} // namespace genv::client
