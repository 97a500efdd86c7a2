// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/top/overlays.hpp"

#include "client/top/cell_text.hpp"
#include "client/top/parked_rows.hpp"
#include "client/top/sensor_text.hpp"
#include "client/top/view.hpp"
#include "core/parking/parking_sentences.hpp"
#include "core/sentences/sentences.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

namespace genv::top {

namespace {

struct KeyHelp {
    std::string_view key;
    std::string_view what;
    bool changes = false; ///< not with --readonly
};

constexpr std::array keyHelp{
    KeyHelp{"Up Down PgUp PgDn", "select a row, also the mouse and its wheel"},
    KeyHelp{"Enter", "show everything about the selected row, also a second click"},
    KeyHelp{"/", "show only rows with a user or a text; Esc shows all again"},
    KeyHelp{"m", "show only what is yours"},
    KeyHelp{"J", "show your jobs; Up, Down, PgUp and PgDn scroll them"},
    KeyHelp{"o i u m g t p l", "sort by index, user, memory, use, temperature, power or lease"},
    KeyHelp{"d", "detach the selected GPU from its environment", true},
    KeyHelp{"t", "terminate the selected process", true},
    KeyHelp{"a", "attach the selected GPU to an environment of yours", true},
    KeyHelp{"w", "wait for GPUs in the queue", true},
    KeyHelp{"c", "cancel the selected wait", true},
    KeyHelp{"e", "extend the lease of the selected GPU's environment", true},
    KeyHelp{"p", "park the selected GPU's environment: its memory moves to the host", true},
    KeyHelp{"r", "resume the selected parked environment", true},
    KeyHelp{"h", "show or hide this help"},
    KeyHelp{"q", "quit"},
};

/// Lines with a name and a value.
class Facts {
  public:
    explicit Facts(Charset charset) : charset_(charset) {}

    void add(std::string_view name, std::string_view foreign, Style style = style::plain) {
        constexpr std::size_t nameWidth = 16;
        lines_.push_back({{fitted(name, nameWidth, charset_) + " ", style::dim},
                          {safe(foreign, charset_), style}});
    }
    template <typename Value>
    void addKnown(std::string_view name, const std::optional<Value>& value,
                  fmt::format_string<const Value&> format) {
        if (value)
            add(name, fmt::format(format, *value));
    }
    std::vector<Line> take() { return std::move(lines_); }

  private:
    Charset charset_;
    std::vector<Line> lines_;
};

std::string holderText(const GpuHolder& holder, Time now) {
    std::string text =
        fmt::format("{} of {} (uid {})", holder.environment, holder.user, holder.uid);
    if (holder.name)
        text += fmt::format(", named {}", *holder.name);
    text += holder.shareBytes ? ", " + shortAmount(*holder.shareBytes) + " of its memory" : "";
    if (holder.since)
        text += ", for " + spanBetween(*holder.since, now);
    if (holder.expires)
        text += ", lease ends in " + spanBetween(now, *holder.expires);
    if (holder.isLingering)
        text += ", lingering";
    if (holder.parent)
        text += ", within " + *holder.parent;
    return text;
}

std::vector<Line> gpuDetails(const Frame& frame, const Gpu& gpu, Charset charset) {
    Facts facts(charset);
    facts.add("GPU", gpu.label, style::bold);
    if (!gpu.model.empty())
        facts.add("Model", gpu.model);
    if (!gpu.uuid.empty())
        facts.add("UUID", gpu.uuid);
    if (!gpu.pciAddress.empty())
        facts.add("PCI address", gpu.pciAddress);
    facts.add("Health", gpu.health, gpu.health == "ok" ? style::good : style::bad);
    if (gpu.totalMemoryBytes)
        facts.add("Memory", usedOf(gpu.usedMemoryBytes, *gpu.totalMemoryBytes));
    if (gpu.unaccountedBytes > 0)
        facts.add("Outside genv", core::describeUnaccounted({gpu.unaccountedBytes}),
                  style::warning);
    for (const auto& [name, value] : sensorFacts(gpu.sensors))
        facts.add(name, value);
    if (gpu.sampledAt)
        facts.add("Read", spanBetween(*gpu.sampledAt, frame.when) + " ago");
    if (gpu.reservedFor)
        facts.add("Reserved for", *gpu.reservedFor);
    facts.addKnown("Locked by", gpu.lockHolder, "{}");
    for (const GpuHolder& holder : gpu.holders)
        facts.add("Held by", holderText(holder, frame.when),
                  holder.uid == frame.uid ? style::accent : style::plain);
    for (const GpuHolder& part : gpu.parts)
        facts.add("A part has", holderText(part, frame.when));
    for (const Process& process : frame.processes) {
        if (std::ranges::find(process.gpus, gpu.index) != process.gpus.end())
            facts.add("Process",
                      fmt::format("{} {} of {}{}", process.pid, process.program, process.user,
                                  process.environment ? "" : ", outside genv"),
                      process.environment ? style::plain : style::warning);
    }
    return facts.take();
}

std::vector<Line> processDetails(const Frame& frame, const Process& process, Charset charset) {
    Facts facts(charset);
    facts.add("Process", std::to_string(process.pid), style::bold);
    facts.add("Program", process.program);
    facts.add("User", fmt::format("{} (uid {})", process.user, process.uid));
    facts.add("Environment", process.environment.value_or("outside genv"),
              process.environment ? style::plain : style::warning);
    facts.add("GPUs", fmt::format("{}", fmt::join(process.gpus, ", ")));
    if (process.memoryBytes)
        facts.add("Memory", shortAmount(*process.memoryBytes));
    facts.addKnown("Utilization", process.utilizationPercent, "{}%");
    if (process.started)
        facts.add("Started", spanBetween(*process.started, frame.when) + " ago");
    return facts.take();
}

std::vector<Line> waiterDetails(const Frame& frame, const Waiter& waiter, Charset charset) {
    Facts facts(charset);
    facts.add("Place", std::to_string(waiter.place), style::bold);
    facts.add(frame.isCluster ? "Job" : "Ticket", std::to_string(waiter.ticket));
    facts.add("User", fmt::format("{} (uid {})", waiter.user, waiter.uid));
    facts.add("Environment", waiter.environment);
    facts.addKnown("Name", waiter.name, "{}");
    facts.add("Wants", waiter.wanted);
    facts.add("Waiting", spanBetween(waiter.since, frame.when));
    if (!waiter.reason.empty())
        facts.add("Reason", waiter.reason);
    return facts.take();
}

std::vector<Line> parkedDetails(const Frame& frame, const Parked& parked, Charset charset) {
    Facts facts(charset);
    facts.add("Environment", parked.environment, style::bold);
    facts.addKnown("Name", parked.name, "{}");
    facts.add("User", fmt::format("{} (uid {})", parked.user, parked.uid));
    facts.add("State", parked.state);
    const core::ParkedWhy why{parked.reason, "", parked.takenBy, parked.expected};
    if (const std::string because = core::becauseParked(why); !because.empty())
        facts.add("Why", because);
    if (why.resumesByItself())
        facts.add("Goes on", parked.expected
                                 ? "by itself, about " + momentOf(*parked.expected, frame.when)
                                 : "by itself, when those GPUs are free");
    if (!parked.problem.empty())
        facts.add("Problem", parked.problem, style::bad);
    facts.add("GPUs", parkedGpus(parked));
    facts.add(parked.bytesToMove > 0 ? "Moved" : "Host memory", parkedMemory(parked));
    if (parked.since)
        facts.add("Since", spanBetween(*parked.since, frame.when) + " ago");
    return facts.take();
}

template <typename Row>
const Row* find(const std::vector<Row>& rows, const Item& item) {
    const auto found =
        std::ranges::find_if(rows, [&](const Row& row) { return itemOf(row) == item; });
    return found == rows.end() ? nullptr : &*found;
}

} // namespace

std::vector<Line> helpLines(const Choice& choice) {
    constexpr std::size_t keyWidth = 18;
    std::vector<Line> lines{{{"Keys", style::bold}}};
    for (const KeyHelp& help : keyHelp) {
        if (!help.changes || !choice.isReadOnly)
            lines.push_back({{fitted(help.key, keyWidth, choice.charset) + " ", style::accent},
                             {std::string(help.what), style::plain}});
    }
    return lines;
}

std::vector<Line> detailLines(const Frame& frame, const Item& item, Charset charset) {
    if (const Gpu* gpu = item.kind == Item::Kind::Gpu ? find(frame.gpus, item) : nullptr)
        return gpuDetails(frame, *gpu, charset);
    if (const Process* process =
            item.kind == Item::Kind::Process ? find(frame.processes, item) : nullptr)
        return processDetails(frame, *process, charset);
    if (const Waiter* waiter =
            item.kind == Item::Kind::Waiter ? find(frame.waiters, item) : nullptr)
        return waiterDetails(frame, *waiter, charset);
    if (const Parked* parked = item.kind == Item::Kind::Parked ? find(frame.parked, item) : nullptr)
        return parkedDetails(frame, *parked, charset);
    return {{{"It is no longer there.", style::warning}}};
}

} // namespace genv::top
