# SPDX-License-Identifier: LGPL-2.1-or-later
"""The C++ headers that generate.py writes beside those of sdbus-c++-xml2cpp.

The annotation dev.genv.Sensor marks a property as the value of a sensor of a device: a number, unknown if it is the
maximum of its type. Its value is the name of that number in JSON, with the unit, and in camel case in C++.
"""

HEADER = """// Generated from the interface XML by dbus/generate.py; do not edit.
#pragma once

#include <array>
#include <string_view>

namespace genv::dbus {

/// A method of the interface XML.
struct MethodName {
    std::string_view interface;
    std::string_view member;
};

/// Every method that the service exports.
inline constexpr std::array methods{
"""

FOOTER = """};

} // namespace genv::dbus
"""

PROPERTIES_HEADER = """// Generated from the interface XML by dbus/generate.py; do not edit.
#pragma once

namespace genv::dbus {
"""

PROPERTIES = """
/// The properties of {interface}, read from an object that implements it; it names this a friend.
struct {name}Properties {{
    template <typename Object, typename Visitor>
    static void visit(Object& object, Visitor&& visitor) {{
{visits}    }}
}};
"""

ADAPTORS_HEADER = """// Generated from the interface XML by dbus/generate.py; do not edit.
#pragma once

#include "dbus/calls/handlers.hpp"
#include "dbus/calls/unknown.hpp"
#include "dbus/device_adaptor.hpp"
#include "dbus/environment/environment_view.hpp"
#include "dbus/environment_adaptor.hpp"

#include <utility>

namespace genv::dbus {
"""

VIEW_ADAPTOR = """
/// {interface} with the properties of a view.
class {name}ViewAdaptor : public dev::genv::{name}_adaptor {{
  protected:
    using {name}_adaptor::{name}_adaptor;
    ~{name}ViewAdaptor() = default;

  private:
    [[nodiscard]] virtual {name}View view() const = 0;

{properties}}};
"""

VIEW_PROPERTY = """    auto {property}() -> decltype(std::declval<{name}View>().{property}()) override {{
        return view().{property}();
    }}
"""

SENSOR_ADAPTOR = """
/// {interface} with the values of its sensors.
class {name}SensorAdaptor : public dev::genv::{name}_adaptor {{
  protected:
    using {name}_adaptor::{name}_adaptor;
    ~{name}SensorAdaptor() = default;

{properties}
  private:
    [[nodiscard]] virtual const core::DeviceReading& reading() const = 0;
}};
"""

SENSOR_PROPERTY = """    auto {property}() -> decltype(orMaximum(core::DeviceReading{{}}.{member})) override {{
        return readProperty([this] {{ return orMaximum(reading().{member}); }});
    }}
"""

SENSORS = """// Generated from the interface XML by dbus/generate.py; do not edit.
#pragma once

#include <array>

namespace genv::dbus::contract {{

/// How a sensor of a device is named.
struct SensorName {{
    const char* property; ///< of {interface}
    const char* key;      ///< in JSON, with the unit
    const char* meaning;  ///< a phrase
}};

inline constexpr std::array sensors{{
{names}}};

/// Calls the visitor with the name of each sensor and with its member of `values`.
template <typename Values, typename Visitor>
constexpr void visitSensors(Values& values, Visitor&& visitor) {{
{visits}}}

}} // namespace genv::dbus::contract
"""


def members(interfaces):
    lines = [
        f'    MethodName{{"{interface.get("name")}", "{method.get("name")}"}},\n'
        for interface in interfaces
        for method in interface.findall("method")
    ]
    return HEADER + "".join(lines) + FOOTER


def properties(interfaces):
    parts = [PROPERTIES_HEADER]
    for interface in interfaces:
        name = interface.get("name")
        visits = "".join(f'        visitor("{prop.get("name")}", object.{prop.get("name")}());\n'
                         for prop in interface.findall("property"))
        parts.append(PROPERTIES.format(interface=name, name=name.rpartition(".")[2], visits=visits))
    return "".join(parts) + "\n} // namespace genv::dbus\n"


def sensors(interface):
    """Returns the name of each sensor in JSON, by property."""
    found = {}
    for prop in interface.findall("property"):
        for annotation in prop.findall("annotation"):
            if annotation.get("name") == "dev.genv.Sensor":
                found[prop.get("name")] = annotation.get("value")
    return found


def camel_case(key):
    first, *others = key.split("_")
    return first + "".join(word.capitalize() for word in others)


def meaning(prop):
    """Returns the documentation of a sensor as a phrase, without the unit."""
    phrase, unit, _ = prop.get("doc").removeprefix("The ").rpartition(", in ")
    if not unit:
        raise SystemExit(f"{prop.get('name')}: a sensor's documentation ends with its unit, such as \", in percent.\"")
    return phrase[0].upper() + phrase[1:]


def sensor_names(interface):
    names, visits = [], []
    for place, (name, key) in enumerate(sensors(interface).items()):
        prop = interface.find(f"property[@name='{name}']")
        names.append(f'    SensorName{{"{name}", "{key}", "{meaning(prop)}"}},\n')
        visits.append(f"    visitor(sensors[{place}], values.{camel_case(key)});\n")
    return SENSORS.format(interface=interface.get("name"), names="".join(names), visits="".join(visits))


def adaptors(interfaces):
    """Returns an adaptor for each interface with sensors, and for dev.genv.Environment."""
    parts = [ADAPTORS_HEADER]
    for interface in interfaces:
        full = interface.get("name")
        name = full.rpartition(".")[2]
        properties = [prop.get("name") for prop in interface.findall("property")]
        if found := sensors(interface):
            getters = (SENSOR_PROPERTY.format(property=prop, member=camel_case(key)) for prop, key in found.items())
            parts.append(SENSOR_ADAPTOR.format(interface=full, name=name, properties="".join(getters)))
        elif name == "Environment":
            getters = (VIEW_PROPERTY.format(property=prop, name=name) for prop in properties)
            parts.append(VIEW_ADAPTOR.format(interface=full, name=name, properties="".join(getters)))
    return "".join(parts) + "\n} // namespace genv::dbus\n"
