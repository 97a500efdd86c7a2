// SPDX-License-Identifier: LGPL-2.1-or-later
// Reads an a{sv} of options strictly: an unknown option, a wrong type or an invalid value is
// refused with a sentence that says what was expected, so that a misspelt option is never ignored
// silently.
#pragma once

#include "core/base/bytes.hpp"
#include "core/base/error.hpp"
#include "core/base/text.hpp"
#include "dbus/contract/sdbus_compat.hpp"

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace genv::dbus {

using VariantMap = std::map<std::string, sdbus::Variant>;

/// The options of one call. Take every option that the call supports, then call finish().
class CallOptions {
  public:
    explicit CallOptions(VariantMap values) : values_(std::move(values)) {}

    /// Takes an option of exactly this type. Throws core::Error(InvalidArgs) for another type.
    template <typename Value>
    std::optional<Value> take(const std::string& name) {
        const std::optional<sdbus::Variant> value = takeAny(name);
        if (!value)
            return std::nullopt;
        if (!value->containsValueOfType<Value>())
            refuseType(name, *value, compat::signatureOf<Value>());
        return value->get<Value>();
    }

    /// Takes a flag; the default is false.
    bool takeFlag(const std::string& name) { return take<bool>(name).value_or(false); }

    /// Takes an amount of memory, as text such as "4g" (s) or in bytes (t).
    std::optional<core::Bytes> takeMemory(const std::string& name);

    /// Takes a name that requireName() accepts.
    std::optional<std::string> takeName(const std::string& name);

    /// Takes a descriptor (h). Throws core::Error(LimitsExceeded) if the service has no descriptor
    /// left for it.
    std::optional<sdbus::UnixFd> takeDescriptor(const std::string& name);

    /// Takes a time in seconds (t), at least one and at most a hundred years.
    std::optional<std::chrono::seconds> takeSeconds(const std::string& name);

    /// Throws core::Error(InvalidArgs) if there is an option that was not taken.
    void finish() const;

  private:
    std::optional<sdbus::Variant> takeAny(const std::string& name);
    [[noreturn]] static void refuseType(const std::string& name, const sdbus::Variant& value,
                                        const std::string& wanted);

    VariantMap values_;
    std::vector<std::string> known_;
};

} // namespace genv::dbus
