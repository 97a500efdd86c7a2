// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/genvctl/cluster/json_records.hpp"

#include <algorithm>

namespace genv::ctl::cluster {

namespace {

using nlohmann::json;

constexpr std::string_view errorList = "errors";

/// Scans a text value by value. Skipped values are only searched for their end; selected values go
/// to the parser. Throws InvalidJson if the text ends too early or is not valid JSON.
class JsonScanner {
  public:
    explicit JsonScanner(std::string_view text) : text_(text) {}

    /// Whether the next value starts with this character.
    bool startsWith(char c) {
        skipBlanks();
        return at_ < text_.size() && text_[at_] == c;
    }

    /// Calls `use` with the name of each member of an object; `use` must consume the value.
    template <typename Handling>
    void eachMember(Handling use) {
        forEach('{', '}', [&] {
            const std::string_view name = take();
            if (name.size() < 2 || name.front() != '"')
                fail("invalid member name: expected a string");
            expect(':');
            use(name.substr(1, name.size() - 2)); // names that genv reads have no escapes
        });
    }

    /// Calls `use` for each element of an array; `use` must consume the element.
    template <typename Handling>
    void eachElement(Handling use) {
        forEach('[', ']', use);
    }

    /// Returns the text of the next value.
    std::string_view take() {
        skipBlanks();
        const std::size_t begin = at_;
        std::size_t depth = 0;
        do {
            const char c = next();
            if (c == '"')
                skipString();
            else if (c == '{' || c == '[')
                ++depth;
            else if ((c == '}' || c == ']') && depth-- == 0)
                fail("a value is missing");
            else if (depth == 0)
                skipWord();
        } while (depth > 0);
        return text_.substr(begin, at_ - begin);
    }

    json parse() {
        const std::string_view value = take();
        try {
            return json::parse(value.begin(), value.end());
        } catch (const json::exception& error) {
            throw InvalidJson(error.what());
        }
    }

    void expectEnd() {
        skipBlanks();
        if (at_ != text_.size())
            fail("something follows the object");
    }

  private:
    [[noreturn]] static void fail(const char* what) { throw InvalidJson(what); }

    void skipBlanks() { at_ = std::min(text_.find_first_not_of(" \t\r\n", at_), text_.size()); }

    char next() {
        if (at_ >= text_.size())
            fail("the text ends within a value");
        return text_[at_++];
    }

    void expect(char c) {
        skipBlanks();
        if (next() != c)
            fail("the text has another form than JSON");
    }

    // Skips the rest of a string; its opening quote has been read.
    void skipString() {
        for (;;) {
            const std::size_t end = text_.find('"', at_);
            if (end == std::string_view::npos)
                fail("the text ends within a string");
            std::size_t escapes = end;
            while (escapes > at_ && text_[escapes - 1] == '\\')
                --escapes;
            at_ = end + 1;
            if ((end - escapes) % 2 == 0)
                return;
        }
    }

    // Skips the rest of a number, true, false or null; its first character has been read.
    void skipWord() { at_ = std::min(text_.find_first_of(" \t\r\n,:]}", at_), text_.size()); }

    template <typename Handling>
    void forEach(char open, char close, Handling use) {
        expect(open);
        if (startsWith(close)) {
            ++at_;
            return;
        }
        for (;;) {
            use();
            skipBlanks();
            const char c = next();
            if (c == close)
                return;
            if (c != ',')
                fail("the text has another form than JSON");
        }
    }

    std::string_view text_;
    std::size_t at_ = 0;
};

bool isAmong(const std::vector<std::string_view>& words, std::string_view word) {
    return std::find(words.begin(), words.end(), word) != words.end();
}

json selectedFields(JsonScanner& scanner, const std::vector<std::string_view>& fields) {
    if (!scanner.startsWith('{'))
        return scanner.parse();
    json record = json::object();
    scanner.eachMember([&](std::string_view name) {
        if (isAmong(fields, name))
            record[std::string(name)] = scanner.parse();
        else
            scanner.take();
    });
    return record;
}

} // namespace

RecordsSummary readRecords(std::string_view text, const RecordSelection& selection,
                           const std::function<void(const std::string&, const json&)>& use) {
    RecordsSummary summary;
    JsonScanner scanner(text);
    scanner.eachMember([&](std::string_view name) {
        if (name == errorList) {
            summary.errors = scanner.parse();
        } else if (isAmong(selection.lists, name) && scanner.startsWith('[')) {
            const std::string list(name);
            summary.lists.push_back(list);
            scanner.eachElement([&] { use(list, selectedFields(scanner, selection.fields)); });
        } else {
            scanner.take();
        }
    });
    scanner.expectEnd();
    return summary;
}

} // namespace genv::ctl::cluster
