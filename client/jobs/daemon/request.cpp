// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/jobs/daemon/request.hpp"

#include "client/jobs/model/job_error.hpp"
#include "core/base/bytes.hpp"
#include "core/base/text.hpp"
#include "core/model/preemptible.hpp"

#include <nlohmann/json.hpp>

#include <array>
#include <string_view>
#include <vector>

namespace genv::jobs {

namespace {

using Json = nlohmann::json;

constexpr std::size_t maxDevices = 4096;

/// An option and its type. The conversions below know exactly these types.
struct OptionType {
    std::string_view name;
    std::string_view type;
};
constexpr std::array optionTypes{
    OptionType{"gpus", "u"},           OptionType{"gpu-memory", "s"},
    OptionType{"gpu-memory", "t"},     OptionType{"indices", "au"},
    OptionType{"uuids", "as"},         OptionType{"model", "s"},
    OptionType{"over-subscribe", "b"}, OptionType{"over-subscribable", "b"},
    OptionType{"preemptible", "s"},    OptionType{"lifetime", "t"}};

std::string typesOf(std::string_view name) {
    std::string types;
    for (const OptionType& row : optionTypes) {
        if (row.name == name)
            types += (types.empty() ? "\"" : " or \"") + std::string(row.type) + "\"";
    }
    return types;
}

void requireKnown(const std::string& name, const std::string& type) {
    const std::string types = typesOf(name);
    if (types.empty())
        fail(JobErrorCode::InvalidArgs,
             "unknown option \"{}\" of request: expected one of gpus, gpu-memory, indices, uuids, "
             "model, over-subscribe, over-subscribable, preemptible, lifetime",
             core::escaped(name));
    if (types.find('"' + type + '"') == std::string::npos)
        fail(JobErrorCode::InvalidArgs,
             "invalid type \"{}\" of option \"{}\" of request: expected {}", core::escaped(type),
             name, types);
}

template <typename Value>
Json listOf(const std::string& name, const sdbus::Variant& value) {
    auto list = value.get<std::vector<Value>>();
    if (list.empty() || list.size() > maxDevices)
        fail(JobErrorCode::InvalidArgs, "invalid option \"{}\" of request: expected 1-{} devices",
             name, maxDevices);
    return list;
}

void requirePreemptible(const std::string& kind) {
    if (!core::parsePreemptible(kind))
        fail(JobErrorCode::InvalidArgs,
             "invalid option \"preemptible\" of request: \"{}\", expected no, park or end",
             core::escaped(kind));
}

Json jsonOf(const std::string& name, const sdbus::Variant& value) {
    const std::string type = value.peekValueType();
    requireKnown(name, type);
    if (type == "u")
        return value.get<std::uint32_t>();
    if (type == "t")
        return value.get<std::uint64_t>();
    if (type == "b")
        return value.get<bool>();
    if (type == "au")
        return listOf<std::uint32_t>(name, value);
    if (type == "as")
        return listOf<std::string>(name, value);
    auto text = value.get<std::string>();
    if (name == "gpu-memory")
        static_cast<void>(core::parseBytes(text));
    else if (name == "preemptible")
        requirePreemptible(text);
    else
        core::requireName(text);
    return text;
}

sdbus::Variant valueOf(const std::string& name, const Json& value) {
    if (value.is_boolean())
        return sdbus::Variant(value.get<bool>());
    if (value.is_string())
        return sdbus::Variant(value.get<std::string>());
    if (value.is_array() && name == "indices")
        return sdbus::Variant(value.get<std::vector<std::uint32_t>>());
    if (value.is_array())
        return sdbus::Variant(value.get<std::vector<std::string>>());
    return name == "gpus" ? sdbus::Variant(value.get<std::uint32_t>())
                          : sdbus::Variant(value.get<std::uint64_t>());
}

bool has(const Dictionary& options, const char* name) {
    return options.contains(name);
}

void requireConsistent(const Dictionary& options) {
    if (has(options, "indices") + has(options, "uuids") + has(options, "gpus") > 1)
        fail(JobErrorCode::InvalidArgs, "give only one of gpus, indices and uuids in request");
    if (has(options, "model") && !has(options, "gpus"))
        fail(JobErrorCode::InvalidArgs, "model needs gpus in request");
}

} // namespace

std::string encodeRequest(const Dictionary& options) {
    Json json = Json::object();
    for (const auto& [name, value] : options)
        json[name] = jsonOf(name, value);
    requireConsistent(options);
    return json.dump();
}

Dictionary decodeRequest(const std::string& text) {
    const Json json = Json::parse(text.empty() ? "{}" : text, nullptr, false);
    Dictionary options;
    try {
        for (const auto& [name, value] : json.items())
            options.emplace(name, valueOf(name, value));
    } catch (const Json::exception&) {
        fail(JobErrorCode::StorageFailed, "the database has an invalid request for GPUs: {}",
             core::escaped(text));
    }
    return options;
}

std::uint32_t countGpus(const Dictionary& options) {
    if (const auto gpus = options.find("gpus"); gpus != options.end())
        return gpus->second.get<std::uint32_t>();
    if (const auto indices = options.find("indices"); indices != options.end())
        return static_cast<std::uint32_t>(indices->second.get<std::vector<std::uint32_t>>().size());
    if (const auto uuids = options.find("uuids"); uuids != options.end())
        return static_cast<std::uint32_t>(uuids->second.get<std::vector<std::string>>().size());
    return 0;
}

} // namespace genv::jobs
