// SPDX-License-Identifier: LGPL-2.1-or-later
#include "service/journal/sender.hpp"

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <systemd/sd-journal.h>

#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

namespace genv::service::journal {

namespace {

bool isNamedByVariable(int descriptor) {
    const char* stream = std::getenv("JOURNAL_STREAM");
    struct stat status {};
    return stream != nullptr && ::fstat(descriptor, &status) == 0 &&
           fmt::format("{}:{}", status.st_dev, status.st_ino) == stream;
}

bool isConnectedToJournal(int descriptor) {
    sockaddr_un peer{};
    socklen_t length = sizeof(peer) - 1; // leaves room for the path's terminating zero
    return ::getpeername(descriptor, reinterpret_cast<sockaddr*>(&peer), &length) == 0 &&
           peer.sun_family == AF_UNIX &&
           std::string_view(peer.sun_path) == "/run/systemd/journal/stdout";
}

} // namespace

bool isJournal(int descriptor) {
    return isNamedByVariable(descriptor) || isConnectedToJournal(descriptor);
}

bool send(const Record& record) {
    std::vector<std::string> entries{
        "MESSAGE=" + record.line(),
        fmt::format("PRIORITY={}", static_cast<int>(record.severity())),
        "SYSLOG_IDENTIFIER=genvd",
    };
    for (const auto& [name, value] : record.fields())
        entries.push_back(fmt::format("{}={}", name, value));
    std::vector<iovec> vectors;
    for (std::string& entry : entries)
        vectors.push_back({entry.data(), entry.size()});
    return ::sd_journal_sendv(vectors.data(), static_cast<int>(vectors.size())) == 0;
}

} // namespace genv::service::journal
