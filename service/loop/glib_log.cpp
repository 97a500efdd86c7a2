// SPDX-License-Identifier: LGPL-2.1-or-later
#include "service/loop/glib_log.hpp"

#include "core/base/text.hpp"
#include "core/sentences/sentences.hpp"

#include <glib.h>

#include <map>
#include <mutex>
#include <optional>
#include <string_view>
#include <utility>

namespace genv::service {

namespace {

constexpr std::chrono::minutes window{1};
constexpr std::size_t maxMessage = 512;

// Returns nothing for messages that only serve to debug a library.
std::optional<core::Severity> severityOf(GLogLevelFlags level) {
    if ((level & (G_LOG_LEVEL_ERROR | G_LOG_LEVEL_CRITICAL)) != 0)
        return core::Severity::Error;
    if ((level & G_LOG_LEVEL_WARNING) != 0)
        return core::Severity::Warning;
    if ((level & G_LOG_LEVEL_MESSAGE) != 0)
        return core::Severity::Notice;
    return std::nullopt;
}

std::string textOf(const GLogField& field) {
    const auto* text = static_cast<const char*>(field.value);
    return field.length < 0 ? std::string(text)
                            : std::string(text, static_cast<std::size_t>(field.length));
}

} // namespace

class GlibLog::Lines {
  public:
    Lines(core::Log& log, const core::Clock& clock) : log_(&log), clock_(clock) {}

    void take(const std::string& domain, core::Severity severity, const std::string& message) {
        const std::lock_guard lock(mutex_);
        if (log_ == nullptr)
            return;
        Domain& lines = domains_[domain];
        const core::BootTime now = clock_.bootNow();
        if (now >= lines.windowEnd) {
            logOmitted(domain, lines);
            lines.windowEnd = now + window;
            lines.written = 0;
        }
        if (lines.written >= linesPerMinute) {
            ++lines.omitted;
            return;
        }
        ++lines.written;
        log_->write(severity, fmt::format("{}: {}", core::escaped(domain),
                                          core::escaped(message, maxMessage)));
    }

    void close() {
        const std::lock_guard lock(mutex_);
        for (auto& [name, domain] : domains_)
            logOmitted(name, domain);
        log_ = nullptr;
    }

  private:
    struct Domain {
        core::BootTime windowEnd{};
        std::size_t written = 0;
        std::size_t omitted = 0;
    };

    void logOmitted(const std::string& name, Domain& domain) {
        if (const std::size_t count = std::exchange(domain.omitted, 0); count > 0)
            log_->warning("{} of {} {} left out", core::counted(count, "more line"),
                          core::escaped(name), count == 1 ? "was" : "were");
    }

    std::mutex mutex_; ///< guards the following members
    core::Log* log_;   ///< null once closed
    const core::Clock& clock_;
    std::map<std::string, Domain> domains_;
};

GlibLog::GlibLog(core::Log& log, const core::Clock& clock)
    : lines_(std::make_shared<Lines>(log, clock)) {}

GlibLog::~GlibLog() {
    lines_->close();
}

void GlibLog::take(const std::string& domain, core::Severity severity,
                   const std::string& message) const {
    lines_->take(domain, severity, message);
}

void GlibLog::install() const {
    const auto onMessage = [](GLogLevelFlags level, const GLogField* fields, gsize count,
                              gpointer lines) {
        std::string domain = "GLib";
        std::string message;
        for (gsize i = 0; i < count; ++i) {
            const std::string_view key = fields[i].key;
            if (key == "GLIB_DOMAIN")
                domain = textOf(fields[i]);
            else if (key == "MESSAGE")
                message = textOf(fields[i]);
        }
        if (const auto severity = severityOf(level))
            (*static_cast<std::shared_ptr<Lines>*>(lines))->take(domain, *severity, message);
        return G_LOG_WRITER_HANDLED;
    };
    g_log_set_writer_func(onMessage, std::make_unique<std::shared_ptr<Lines>>(lines_).release(),
                          [](gpointer lines) {
                              const std::unique_ptr<std::shared_ptr<Lines>> back(
                                  static_cast<std::shared_ptr<Lines>*>(lines));
                          });
}

} // namespace genv::service
