// SPDX-License-Identifier: LGPL-2.1-or-later
#include "service/state/use_files.hpp"

#include "core/base/text.hpp"
#include "core/state/state_schema.hpp"
#include "core/use/use_record.hpp"
#include "service/state/own_file.hpp"

#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <system_error>
#include <utility>

namespace genv::service {

namespace {

constexpr const char* useFileName = "use.json";

std::string newBootId() {
    std::uint64_t id = 0;
    while (::getrandom(&id, sizeof id, 0) < 0 && errno == EINTR) {
    }
    return fmt::format("{:016x}", id);
}

// systemd makes the directory. A service that somebody else started may have none yet.
int replaceLasting(const std::filesystem::path& file, const core::UseRecord& record) {
    const std::string text = core::encodeUse(record);
    int error = replaceOwnFileOnDisk(AT_FDCWD, file.native(), text);
    if (error == ENOENT && ::mkdir(file.parent_path().c_str(), 0755) == 0)
        error = replaceOwnFileOnDisk(AT_FDCWD, file.native(), text);
    return error;
}

} // namespace

UseFiles::UseFiles(const std::filesystem::path& state, const std::filesystem::path& runtime,
                   core::Log& log, Worker::Post post)
    : lasting_(state / useFileName), recent_(runtime / useFileName), log_(log),
      worker_(std::make_unique<Worker>("genvd-use", std::move(post))) {}

core::UseRecords UseFiles::read() {
    core::UseRecords records{readFile(lasting_), readFile(recent_)};
    if (records.recent) {
        boot_ = records.recent->boot;
    } else {
        boot_ = newBootId();
        writeRecent({boot_, {}, {}, {}});
    }
    return records;
}

std::optional<core::UseRecord> UseFiles::readFile(const std::filesystem::path& file) {
    std::error_code error;
    if (std::filesystem::symlink_status(file, error).type() ==
        std::filesystem::file_type::not_found)
        return std::nullopt;
    std::string why;
    const auto text = readOwnFile(AT_FDCWD, file.native(), maxSize, why);
    try {
        if (text)
            return core::decodeUse(*text);
    } catch (const core::StateError& broken) {
        why = broken.what();
    }
    setAside(file, why);
    return std::nullopt;
}

void UseFiles::write(core::UseRecord record, std::function<void(bool)> done) {
    if (!worker_)
        return;
    worker_->run<int>(
        [file = lasting_, record = std::move(record)] { return replaceLasting(file, record); },
        [this, done = std::move(done)](int error) {
            report(lasting_, error, lastLastingError_);
            done(error == 0);
        });
}

// First waits for a write that is under way, which would replace the newer record.
void UseFiles::writeNow(const core::UseRecord& record) {
    worker_.reset();
    report(lasting_, replaceLasting(lasting_, record), lastLastingError_);
}

void UseFiles::writeRecent(const core::UseRecord& record) {
    report(recent_, replaceOwnFile(AT_FDCWD, recent_.native(), core::encodeUse(record)),
           lastRecentError_);
}

void UseFiles::report(const std::filesystem::path& file, int error, int& lastError) {
    if (error != 0 && error != lastError)
        log_.error("cannot write {}: {}; trying again every minute", file.native(),
                   std::generic_category().message(error));
    else if (error == 0 && lastError != 0)
        log_.info("{} is written again", file.native());
    lastError = error;
}

void UseFiles::setAside(const std::filesystem::path& file, const std::string& why) {
    const std::string target = file.native() + ".broken";
    const bool moved = std::rename(file.c_str(), target.c_str()) == 0;
    log_.error("set {} aside{}: {}; the use that it recorded counts no more", file.native(),
               moved ? " as " + target : " in place", core::escaped(why, 256));
}

} // namespace genv::service
