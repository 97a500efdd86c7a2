// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/jobs/daemon/submission_options.hpp"

#include "client/jobs/model/book.hpp"
#include "client/jobs/model/job_error.hpp"
#include "core/base/text.hpp"
#include "core/placement/fair_order.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace genv::jobs {

namespace {

using Bytes = std::vector<std::uint8_t>;
using TaskRows = std::vector<sdbus::Struct<std::uint32_t, Bytes>>;
using AfterRows = std::vector<sdbus::Struct<std::uint32_t, std::string>>;

// The kernel accepts no longer word or variable (MAX_ARG_STRLEN), and 6 MiB of all of them.
constexpr std::size_t maxWord = 128 * 1024 - 1;
constexpr std::size_t maxWords = 4 << 20;
constexpr std::size_t maxValues = 32 << 20;
constexpr std::size_t maxPath = 4095;
constexpr std::size_t maxAfter = 1000;
constexpr std::uint32_t maxRetries = 1000;
constexpr std::uint32_t maxCpus = 1'000'000;
// genv-job itself needs some of it.
constexpr std::uint64_t minMemory = 16 << 20;
constexpr std::uint64_t maxTime = std::uint64_t{1} << 55; // µs; the year 3111

/// The options of a call. Take every option that the call has, then call finish().
class Options {
  public:
    explicit Options(Dictionary values) : values_(std::move(values)) {}

    template <typename Value>
    std::optional<Value> take(const std::string& name) {
        known_.push_back(name);
        const auto node = values_.extract(name);
        if (node.empty())
            return std::nullopt;
        const sdbus::Variant& value = node.mapped();
        if (!value.containsValueOfType<Value>())
            fail(JobErrorCode::InvalidArgs, "invalid type \"{}\" of option \"{}\": expected \"{}\"",
                 core::escaped(value.peekValueType()), name, dbus::compat::signatureOf<Value>());
        return value.get<Value>();
    }

    /// Takes a number within these bounds.
    template <typename Number>
    Number takeNumber(const std::string& name, Number least, Number most, Number otherwise) {
        const Number number = take<Number>(name).value_or(otherwise);
        if (number != otherwise && (number < least || number > most))
            fail(JobErrorCode::InvalidArgs, "invalid {} {}: expected {} to {}", name, number, least,
                 most);
        return number;
    }

    void finish() const {
        if (!values_.empty())
            fail(JobErrorCode::InvalidArgs, "unknown option \"{}\": expected one of {}",
                 core::escaped(values_.begin()->first), fmt::join(known_, ", "));
    }

  private:
    Dictionary values_;
    std::vector<std::string> known_;
};

std::string textOf(const char* what, const Bytes& bytes, std::size_t maxLength) {
    if (bytes.size() > maxLength)
        fail(JobErrorCode::InvalidArgs, "{} of {} bytes is too long: expected at most {}", what,
             bytes.size(), maxLength);
    return {bytes.begin(), bytes.end()};
}

std::vector<std::string> takeWords(Options& options, const char* name, const char* what) {
    std::vector<std::string> words;
    std::size_t size = 0;
    for (const Bytes& word :
         options.take<std::vector<Bytes>>(name).value_or(std::vector<Bytes>{})) {
        size += word.size() + sizeof(char*) + 1;
        if (size > maxWords)
            fail(JobErrorCode::InvalidArgs, "the {} is too long: expected at most {} bytes", name,
                 maxWords);
        words.push_back(textOf(what, word, maxWord));
    }
    return words;
}

std::string takePath(Options& options, const char* name) {
    return textOf(name, options.take<Bytes>(name).value_or(Bytes{}), maxPath);
}

std::vector<TaskValue> takeTasks(Options& options, bool& isArray) {
    const auto rows = options.take<TaskRows>("array");
    isArray = rows.has_value();
    if (!rows)
        return {TaskValue{}};
    std::vector<TaskValue> tasks;
    tasks.reserve(rows->size());
    std::size_t size = 0;
    for (const auto& row : *rows) {
        const Bytes& value = row.get<1>();
        size += value.size();
        if (size > maxValues)
            fail(JobErrorCode::InvalidArgs,
                 "the values of the array are too long: expected at most {} bytes", maxValues);
        tasks.push_back({row.get<0>(), textOf("a value of the array", value, maxWord)});
    }
    return tasks;
}

Condition conditionOf(const std::string& word) {
    constexpr std::array<std::pair<std::string_view, Condition>, 3> words{
        {{"ok", Condition::Ok}, {"fail", Condition::Fail}, {"any", Condition::Any}}};
    for (const auto& [text, condition] : words) {
        if (text == word)
            return condition;
    }
    fail(JobErrorCode::InvalidArgs, "invalid condition \"{}\" in after: expected ok, fail or any",
         core::escaped(word));
}

std::vector<Dependency> takeAfter(Options& options) {
    std::vector<Dependency> after;
    for (const auto& row : options.take<AfterRows>("after").value_or(AfterRows{}))
        after.push_back({row.get<0>(), conditionOf(row.get<1>())});
    if (after.size() > maxAfter)
        fail(JobErrorCode::InvalidArgs, "after names {} jobs: expected at most {}", after.size(),
             maxAfter);
    return after;
}

std::optional<core::WallTime> takeBegin(Options& options) {
    const auto begin = options.takeNumber<std::uint64_t>("begin", 0, maxTime, 0);
    return begin == 0 ? std::nullopt : std::optional(core::fromMicroseconds(begin));
}

Plan takePlan(Options& options) {
    constexpr std::uint32_t any = 0;
    Plan plan;
    plan.priority =
        options.takeNumber<std::int32_t>("priority", -core::maxPriority, core::maxPriority, 0);
    plan.begin = takeBegin(options);
    plan.parallel = options.takeNumber<std::uint32_t>("parallel", any, Book::maxTasksPerJob, any);
    plan.retries = options.takeNumber<std::uint32_t>("retries", 0, maxRetries, 0);
    plan.after = takeAfter(options);
    return plan;
}

std::uint64_t takeMemory(Options& options) {
    const std::uint64_t memory = options.take<std::uint64_t>("memory").value_or(0);
    if (memory != 0 && memory < minMemory)
        fail(JobErrorCode::InvalidArgs, "invalid memory of {} bytes: expected at least 16 MiB",
             memory);
    return memory;
}

} // namespace

// Book::submit() checks what the texts contain.
Submission readSubmission(Dictionary values) {
    Options options(std::move(values));
    Submission submission;
    submission.command = takeWords(options, "command", "a word of the command");
    submission.folder = takePath(options, "folder");
    submission.environment = takeWords(options, "environment", "a variable");
    submission.umask = options.take<std::uint32_t>("umask").value_or(022);
    submission.name = options.take<std::string>("name").value_or("");
    const Dictionary request = options.take<Dictionary>("request").value_or(Dictionary{});
    submission.request = encodeRequest(request);
    submission.gpus = countGpus(request);
    submission.tasks = takeTasks(options, submission.isArray);
    submission.plan = takePlan(options);
    submission.hold = options.take<bool>("hold").value_or(false);
    submission.output = takePath(options, "output");
    submission.cpus = options.takeNumber<std::uint32_t>("cpus", 1, maxCpus, 0);
    submission.memoryBytes = takeMemory(options);
    options.finish();
    if (submission.plan.parallel != 0 && !submission.isArray)
        fail(JobErrorCode::InvalidArgs,
             "parallel needs array: it bounds how many of its tasks run");
    return submission;
}

bool readListsAll(Dictionary values) {
    Options options(std::move(values));
    const bool all = options.take<bool>("all").value_or(false);
    options.finish();
    return all;
}

} // namespace genv::jobs
