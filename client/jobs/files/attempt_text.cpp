// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/jobs/files/attempt_text.hpp"

#include "client/jobs/model/job_error.hpp"
#include "core/base/text.hpp"

#include <charconv>

namespace genv::jobs {

namespace {

constexpr std::string_view orderHead = "genv attempt order 1\n";
constexpr std::string_view endingHead = "genv attempt ending 1\n";
constexpr std::string_view last = "end";

class Writer {
  public:
    explicit Writer(std::string_view head) : text_(head) {}

    void put(std::string_view field) {
        if (field.find('\0') != std::string_view::npos)
            fail(JobErrorCode::StorageFailed, "a text of the job contains a 0 byte");
        text_.append(field).push_back('\0');
    }
    template <typename Integer>
    requires std::is_integral_v<Integer>
    void put(Integer number) { put(fmt::format("{}", number)); }
    void put(const std::vector<std::string>& fields) {
        put(fields.size());
        for (const std::string& field : fields)
            put(field);
    }
    std::string finish() {
        put(last);
        return std::move(text_);
    }

  private:
    std::string text_;
};

class Reader {
  public:
    Reader(std::string_view text, std::string_view head) : rest_(text) {
        if (!rest_.starts_with(head))
            refuse("it begins differently, or is of another version of genv");
        rest_.remove_prefix(head.size());
    }

    std::string_view field() {
        const std::size_t end = rest_.find('\0');
        if (end == std::string_view::npos)
            refuse("it is cut");
        const std::string_view field = rest_.substr(0, end);
        rest_.remove_prefix(end + 1);
        return field;
    }
    std::string text() { return std::string(field()); }
    template <typename Integer>
    Integer number() {
        const std::string_view digits = field();
        Integer number{};
        const char* const stop = digits.data() + digits.size();
        const auto [end, error] = std::from_chars(digits.data(), stop, number);
        if (error != std::errc() || end != stop)
            refuse("it has no number where one was expected");
        return number;
    }
    bool flag() {
        const auto number = this->number<unsigned>();
        if (number > 1)
            refuse("it has no flag where one was expected");
        return number == 1;
    }
    std::vector<std::string> texts() {
        const auto count = number<std::size_t>();
        if (count > rest_.size()) // each field has at least its end
            refuse("it is cut");
        std::vector<std::string> texts;
        texts.reserve(count);
        while (texts.size() < count)
            texts.push_back(text());
        return texts;
    }
    void finish() {
        if (field() != last || !rest_.empty())
            refuse("it ends differently");
    }

    [[noreturn]] static void refuse(const char* why) {
        fail(JobErrorCode::StorageFailed, "invalid file of an attempt: {}", why);
    }

  private:
    std::string_view rest_;
};

} // namespace

std::string encode(const AttemptOrder& order) {
    Writer writer(orderHead);
    writer.put(order.command);
    writer.put(order.folder);
    writer.put(order.variables);
    writer.put(order.umask);
    writer.put(order.environmentId);
    writer.put(order.statusFile);
    writer.put(order.output);
    writer.put(order.outputIsLog ? 1 : 0);
    return writer.finish();
}

AttemptOrder decodeOrder(std::string_view text) {
    Reader reader(text, orderHead);
    AttemptOrder order;
    order.command = reader.texts();
    order.folder = reader.text();
    order.variables = reader.texts();
    order.umask = reader.number<std::uint32_t>();
    order.environmentId = reader.text();
    order.statusFile = reader.text();
    order.output = reader.text();
    order.outputIsLog = reader.flag();
    reader.finish();
    if (order.command.empty() || order.umask > 0777)
        Reader::refuse("its order has no command, or no valid umask");
    return order;
}

std::string encode(const AttemptEnding& ending) {
    Writer writer(endingHead);
    writer.put(ending.status);
    writer.put(ending.signal);
    writer.put(ending.reason);
    writer.put(core::toMicroseconds(ending.at));
    return writer.finish();
}

AttemptEnding decodeEnding(std::string_view text) {
    Reader reader(text, endingHead);
    AttemptEnding ending;
    ending.status = reader.number<int>();
    ending.signal = reader.number<int>();
    ending.reason = core::printable(reader.field()); // it may be cut within a character
    ending.at = core::fromMicroseconds(reader.number<std::uint64_t>());
    reader.finish();
    if (ending.status < -1 || ending.status > 255 || ending.signal < 0 || ending.signal > 127)
        Reader::refuse("its status or signal cannot be");
    return ending;
}

} // namespace genv::jobs
