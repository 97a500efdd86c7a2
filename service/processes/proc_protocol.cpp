// SPDX-License-Identifier: LGPL-2.1-or-later
#include "service/processes/proc_protocol.hpp"

#include <cstring>
#include <optional>
#include <type_traits>
#include <utility>

namespace genv::service {

namespace {

// Appends values to a packet.
class PacketWriter {
  public:
    template <typename Number>
    void put(Number number) {
        static_assert(std::is_arithmetic_v<Number>);
        packet_.append(reinterpret_cast<const char*>(&number), sizeof number);
    }
    void put(const std::string& text) {
        put(static_cast<std::uint32_t>(text.size()));
        packet_ += text;
    }
    void put(core::WallTime time) { put(time.time_since_epoch().count()); }
    void put(const core::EnvironmentHint& hint) {
        put(hint.id);
        put(hint.created);
    }
    void put(core::Sluid sluid) { put(sluid.value); }
    void put(const core::SlurmCgroup& cgroup) {
        put(static_cast<std::uint8_t>(cgroup.job.index()));
        std::visit([this](const auto& name) { put(name); }, cgroup.job);
        put(cgroup.owner);
    }
    template <typename Value>
    void put(const std::optional<Value>& value) {
        put(value.has_value());
        if (value)
            put(*value);
    }
    void put(const core::ProcessIdentity& identity) {
        put(identity.pid);
        put(identity.startTime);
    }
    void put(const core::ProcessFacts& facts) {
        put(facts.identity);
        for (const core::Uid uid :
             {facts.uids.real, facts.uids.effective, facts.uids.saved, facts.uids.filesystem})
            put(uid);
        put(facts.parent);
        put(facts.command);
        put(facts.isKernelThread);
    }
    template <typename Value>
    void put(const std::vector<Value>& values) {
        put(static_cast<std::uint32_t>(values.size()));
        for (const Value& value : values)
            put(value);
    }
    std::string take() { return std::move(packet_); }

  private:
    std::string packet_;
};

// Reads values from a packet.
class PacketReader {
  public:
    explicit PacketReader(std::string_view packet) : rest_(packet) {}

    template <typename Number>
    std::enable_if_t<std::is_arithmetic_v<Number>> get(Number& number) {
        const std::string_view bytes = take(sizeof number);
        std::memcpy(&number, bytes.data(), sizeof number);
    }
    void get(bool& flag) {
        std::uint8_t byte = 0;
        get(byte);
        flag = byte != 0;
    }
    void get(std::string& text) { text = take(size(1)); }
    void get(core::WallTime& time) {
        core::WallTime::rep count = 0;
        get(count);
        time = core::WallTime{core::WallTime::duration{count}};
    }
    void get(core::EnvironmentHint& hint) {
        get(hint.id);
        get(hint.created);
    }
    void get(core::SlurmJobName& name) {
        std::uint8_t kind = 0;
        get(kind);
        if (kind == 0)
            get(name.emplace<core::SlurmJobId>());
        else if (kind == 1)
            get(name.emplace<core::Sluid>().value);
        else
            throw ProcProtocolError("the name of a job is of no known kind");
    }
    void get(core::SlurmCgroup& cgroup) {
        get(cgroup.job);
        get(cgroup.owner);
    }
    template <typename Value>
    void get(std::optional<Value>& value) {
        bool isThere = false;
        get(isThere);
        if (isThere)
            get(value.emplace());
    }
    void get(core::ProcessIdentity& identity) {
        get(identity.pid);
        get(identity.startTime);
    }
    void get(core::ProcessFacts& facts) {
        get(facts.identity);
        for (core::Uid* uid :
             {&facts.uids.real, &facts.uids.effective, &facts.uids.saved, &facts.uids.filesystem})
            get(*uid);
        get(facts.parent);
        get(facts.command);
        get(facts.isKernelThread);
    }
    template <typename Value>
    void get(std::vector<Value>& values) {
        values.resize(size(sizeof(std::uint32_t)));
        for (Value& value : values)
            get(value);
    }
    void finish() const {
        if (!rest_.empty())
            throw ProcProtocolError("a packet is too long");
    }

  private:
    std::string_view take(std::size_t count) {
        if (rest_.size() < count)
            throw ProcProtocolError("a packet is too short");
        const std::string_view taken = rest_.substr(0, count);
        rest_.remove_prefix(count);
        return taken;
    }
    // Reads the number of following items, each of which takes at least `each` bytes.
    std::size_t size(std::size_t each) {
        std::uint32_t count = 0;
        get(count);
        if (count > rest_.size() / each)
            throw ProcProtocolError("a packet has fewer values than it says");
        return count;
    }

    std::string_view rest_;
};

void put(PacketWriter& /*writer*/, const ProcGone& /*answer*/) {}
void put(PacketWriter& /*writer*/, const ProcShortage& /*answer*/) {}
void put(PacketWriter& writer, const core::ProcessIdentity& identity) {
    writer.put(identity);
}
void put(PacketWriter& writer, const core::ProcessFacts& facts) {
    writer.put(facts);
}
void put(PacketWriter& writer, const core::Lineage& lineage) {
    writer.put(lineage.facts);
    writer.put(lineage.ancestors);
}
void put(PacketWriter& writer, const ProcClaims& claims) {
    writer.put(claims.identity);
    writer.put(claims.environmentHint);
    writer.put(claims.userNamespaceOwner);
    writer.put(claims.isMpsServer);
    writer.put(claims.slurm);
}
void put(PacketWriter& writer, const ProcArguments& arguments) {
    writer.put(arguments.text);
}

void put(PacketWriter& writer, const ProcLogin& login) {
    writer.put(login.uid);
}

void put(PacketWriter& writer, const ProcPidNamespace& space) {
    writer.put(space.isServices);
}

void get(PacketReader& /*reader*/, ProcGone& /*answer*/) {}
void get(PacketReader& /*reader*/, ProcShortage& /*answer*/) {}
void get(PacketReader& reader, core::ProcessIdentity& identity) {
    reader.get(identity);
}
void get(PacketReader& reader, core::ProcessFacts& facts) {
    reader.get(facts);
}
void get(PacketReader& reader, core::Lineage& lineage) {
    reader.get(lineage.facts);
    reader.get(lineage.ancestors);
}
void get(PacketReader& reader, ProcClaims& claims) {
    reader.get(claims.identity);
    reader.get(claims.environmentHint);
    reader.get(claims.userNamespaceOwner);
    reader.get(claims.isMpsServer);
    reader.get(claims.slurm);
}
void get(PacketReader& reader, ProcArguments& arguments) {
    reader.get(arguments.text);
}

void get(PacketReader& reader, ProcLogin& login) {
    reader.get(login.uid);
}

void get(PacketReader& reader, ProcPidNamespace& space) {
    reader.get(space.isServices);
}

template <std::size_t index = 0>
ProcAnswer answerOf(std::size_t kind, PacketReader& reader) {
    if constexpr (index == std::variant_size_v<ProcAnswer>) {
        throw ProcProtocolError("an answer is of no known kind");
    } else {
        if (kind != index)
            return answerOf<index + 1>(kind, reader);
        std::variant_alternative_t<index, ProcAnswer> answer;
        get(reader, answer);
        reader.finish();
        return answer;
    }
}

} // namespace

std::string encodeProcRequests(const std::vector<ProcRequest>& requests) {
    PacketWriter writer;
    for (const ProcRequest& request : requests) {
        writer.put(request.pid);
        writer.put(static_cast<std::uint32_t>(request.part));
    }
    return writer.take();
}

std::vector<ProcRequest> decodeProcRequests(std::string_view packet) {
    constexpr std::size_t each = 2 * sizeof(std::uint32_t);
    if (packet.empty() || packet.size() % each != 0 || packet.size() / each > maxProcRequests)
        throw ProcProtocolError("a packet holds no requests");
    PacketReader reader(packet);
    std::vector<ProcRequest> requests(packet.size() / each);
    for (ProcRequest& request : requests) {
        std::uint32_t part = 0;
        reader.get(request.pid);
        reader.get(part);
        if (part > static_cast<std::uint32_t>(ProcPart::PidNamespace))
            throw ProcProtocolError("a request is for no known part");
        request.part = static_cast<ProcPart>(part);
    }
    return requests;
}

std::string encodeProcAnswer(const ProcAnswer& answer) {
    PacketWriter writer;
    writer.put(static_cast<std::uint8_t>(answer.index()));
    std::visit([&](const auto& kind) { put(writer, kind); }, answer);
    return writer.take();
}

ProcAnswer decodeProcAnswer(std::string_view packet) {
    PacketReader reader(packet);
    std::uint8_t kind = 0;
    reader.get(kind);
    return answerOf(kind, reader);
}

} // namespace genv::service
