// SPDX-License-Identifier: LGPL-2.1-or-later
// The parts of a fuzz target. A target is one source file with one GENV_FUZZ_TARGET, whose body
// passes `input` to a parser of foreign input and checks promises about the result. Under Clang it
// is libFuzzer's entry (one program for each target). Otherwise it is added to a table for the
// regression program. A target keeps no state between inputs except open files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace genv::fuzz {

/// Ends the program with a report if a promise was broken.
void expect(bool kept, const char* promise);

/// Returns whether text is valid UTF-8 without control effects on a terminal, a log or a table.
bool isShowable(std::string_view text);
/// Expects that a message for users can be shown.
void expectShowable(std::string_view message, const char* promise);

/// Returns the parts of an input between line feeds.
std::vector<std::string_view> linesIn(std::string_view input);

/// Reads values from an input, one after another. After its end, it returns zeros and empty texts.
class Bytes {
  public:
    explicit Bytes(std::string_view input) : rest_(input) {}

    [[nodiscard]] bool isEmpty() const { return rest_.empty(); }
    std::uint8_t byte();
    /// Returns a number from 0 to most - 1.
    std::size_t below(std::size_t limit) { return byte() % limit; }
    std::uint32_t number32() { return static_cast<std::uint32_t>(number(4)); }
    std::uint64_t number64() { return number(8); }
    /// Returns a text. Its first byte gives the maximum length.
    std::string_view text();
    std::string_view rest() { return take(rest_.size()); }
    std::string_view take(std::size_t count);

  private:
    std::uint64_t number(int bytes);

    std::string_view rest_;
};

/// An unnamed file with the text that a target last put into it.
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

/// A folder of the target, which is removed at the end of the program.
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

/// An entry in the table of the regression program.
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
