// SPDX-License-Identifier: LGPL-2.1-or-later
// Port: the log, one line per record. Callers escape foreign text (core/base/text.hpp). The adapter
// never blocks the loop.
#pragma once

#include <fmt/format.h>

#include <string>
#include <utility>

namespace genv::core {

/// Values are those of syslog(3).
enum class Severity { Error = 3, Warning = 4, Notice = 5, Info = 6, Debug = 7 };

class Log {
  public:
    virtual ~Log() = default;

    virtual void write(Severity severity, const std::string& line) = 0;

    template <typename... Args>
    void error(fmt::format_string<Args...> format, Args&&... args) {
        write(Severity::Error, fmt::format(format, std::forward<Args>(args)...));
    }
    template <typename... Args>
    void warning(fmt::format_string<Args...> format, Args&&... args) {
        write(Severity::Warning, fmt::format(format, std::forward<Args>(args)...));
    }
    template <typename... Args>
    void notice(fmt::format_string<Args...> format, Args&&... args) {
        write(Severity::Notice, fmt::format(format, std::forward<Args>(args)...));
    }
    template <typename... Args>
    void info(fmt::format_string<Args...> format, Args&&... args) {
        write(Severity::Info, fmt::format(format, std::forward<Args>(args)...));
    }
};

} // namespace genv::core
