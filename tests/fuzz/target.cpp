// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tests/fuzz/target.hpp"

#include "core/base/text.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <system_error>

namespace genv::fuzz {

namespace {

// Bypasses stdio: a target may have replaced stderr.
void print(std::string_view text) {
    while (!text.empty()) {
        const ssize_t count = ::write(STDERR_FILENO, text.data(), text.size());
        if (count <= 0)
            return;
        text.remove_prefix(static_cast<std::size_t>(count));
    }
}

[[noreturn]] void giveUp(const char* what) {
    throw std::system_error(errno, std::generic_category(), what);
}

void fillDescriptor(int fd, std::string_view text) {
    if (::ftruncate(fd, 0) < 0 ||
        ::pwrite(fd, text.data(), text.size(), 0) != static_cast<ssize_t>(text.size()))
        giveUp("filling a file");
}

std::vector<const Target*>& allTargets() {
    static std::vector<const Target*> all;
    return all;
}

} // namespace

void expect(bool kept, const char* promise) {
    if (kept)
        return;
    print("fuzz: not so: " + std::string(promise) + "\n");
    std::abort();
}

bool isShowable(std::string_view text) {
    while (!text.empty()) {
        const auto character = core::takeCharacter(text);
        if (!character || !core::isPrintable(*character))
            return false;
    }
    return true;
}

void expectShowable(std::string_view message, const char* promise) {
    if (!isShowable(message))
        print("fuzz: shown: " + core::escaped(message, 4096) + "\n");
    expect(isShowable(message), promise);
}

std::vector<std::string_view> linesIn(std::string_view input) {
    std::vector<std::string_view> lines;
    while (!input.empty()) {
        const std::size_t end = std::min(input.find('\n'), input.size());
        lines.push_back(input.substr(0, end));
        input.remove_prefix(std::min(end + 1, input.size()));
    }
    return lines;
}

std::uint8_t Bytes::byte() {
    return static_cast<std::uint8_t>(number(1));
}

std::uint64_t Bytes::number(int bytes) {
    std::uint64_t value = 0;
    for (const char each : take(static_cast<std::size_t>(bytes)))
        value = (value << 8U) | static_cast<unsigned char>(each);
    return value;
}

std::string_view Bytes::take(std::size_t count) {
    const std::string_view taken = rest_.substr(0, count);
    rest_.remove_prefix(taken.size());
    return taken;
}

std::string_view Bytes::text() {
    return take(byte());
}

ForeignFile::ForeignFile() : fd_(::memfd_create("foreign", MFD_CLOEXEC)) {
    if (fd_ < 0)
        giveUp("memfd_create");
    path_ = "/proc/self/fd/" + std::to_string(fd_);
}

ForeignFile::~ForeignFile() {
    ::close(fd_);
}

void ForeignFile::fill(std::string_view text) const {
    fillDescriptor(fd_, text);
}

ForeignFolder::ForeignFolder()
    : path_((std::filesystem::temp_directory_path() / "genv-fuzz-XXXXXX").string()) {
    if (::mkdtemp(path_.data()) == nullptr)
        giveUp("mkdtemp");
}

ForeignFolder::~ForeignFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
}

void ForeignFolder::fill(const std::string& name, std::string_view text) const {
    const int fd =
        ::open((path_ + "/" + name).c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        giveUp("open");
    fillDescriptor(fd, text);
    ::close(fd);
}

Target::Target(const char* named, void (*function)(std::string_view)) : name(named), run(function) {
    allTargets().push_back(this);
}

const std::vector<const Target*>& targets() {
    return allTargets();
}

} // namespace genv::fuzz
