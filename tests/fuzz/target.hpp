// SPDX-License-Identifier: LGPL-2.1-or-later
// What a fuzz target is made of. A target is one source file with one GENV_FUZZ_TARGET, whose body
// gives `input` to what reads foreign bytes and checks what it promises of the result. Under Clang
// it is libFuzzer's entry (one program for each target); else it joins a table that the regression
// program walks. A target keeps nothing from input to input but what it opened.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace genv::fuzz {

/// Ends the program with a report unless a promise was kept.
void expect(bool kept, const char* promise);

/// Whether text is valid UTF-8 that does nothing to a terminal, a log or a table.
bool isShowable(std::string_view text);
/// Expects that a message for people is.
void expectShowable(std::string_view message, const char* promise);

/// The parts of an input between line feeds.
std::vector<std::string_view> linesIn(std::string_view input);

/// Takes values from an input, one after another; zeros and empty texts once it is used up.
class Bytes {
  public:
    explicit Bytes(std::string_view input) : rest_(input) {}

    [[nodiscard]] bool isEmpty() const { return rest_.empty(); }
    std::uint8_t byte();
    /// From 0 to most - 1.
    std::size_t below(std::size_t most) { return byte() % most; }
    std::uint32_t number32() { return static_cast<std::uint32_t>(number(4)); }
    std::uint64_t number64() { return number(8); }
    /// As long as its first byte says, at most.
    std::string_view text();
    std::string_view rest() { return take(rest_.size()); }
    std::string_view take(std::size_t count);

  private:
    std::uint64_t number(int bytes);

    std::string_view rest_;
};

/// A file without a name that holds what a target last put into it.
class ForeignFile {
  public:
    ForeignFile();
    ForeignFile(const ForeignFile&) = delete;
    ForeignFile& operator=(const ForeignFile&) = delete;
    ~ForeignFile();

    void fill(std::string_view text) const;
    [[nodiscard]] const std::string& path() const { return path_; }

  private:
    int fd_;
    std::string path_;
};

/// A folder of the target's own, which is removed at the end of the program.
class ForeignFolder {
  public:
    ForeignFolder();
    ForeignFolder(const ForeignFolder&) = delete;
    ForeignFolder& operator=(const ForeignFolder&) = delete;
    ~ForeignFolder();

    void fill(const std::string& name, std::string_view text) const;
    [[nodiscard]] const std::string& path() const { return path_; }

  private:
    std::string path_;
};

/// What the regression program walks.
struct Target {
    Target(const char* named, void (*function)(std::string_view));
    std::string_view name;
    void (*run)(std::string_view input);
};
const std::vector<const Target*>& targets();

} // namespace genv::fuzz

// NOLINTBEGIN(bugprone-macro-parentheses): the name is one
#ifdef GENV_LIBFUZZER
#define GENV_FUZZ_TARGET(name)                                                                     \
    static void name##Target(std::string_view input);                                              \
    extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);             \
    extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {            \
        name##Target({reinterpret_cast<const char*>(data), size});                                 \
        return 0;                                                                                  \
    }                                                                                              \
    static void name##Target(std::string_view input)
#else
#define GENV_FUZZ_TARGET(name)                                                                     \
    static void name##Target(std::string_view input);                                              \
    static const genv::fuzz::Target name##Entry{#name, name##Target};                              \
    static void name##Target(std::string_view input)
#endif
// NOLINTEND(bugprone-macro-parentheses)
