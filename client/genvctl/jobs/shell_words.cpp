// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/genvctl/jobs/shell_words.hpp"

#include <utility>

namespace genv::ctl {

namespace {

class Splitter {
  public:
    explicit Splitter(std::string_view line) : rest_(line) {}

    std::optional<std::vector<std::string>> split() {
        while (!rest_.empty()) {
            const char character = take();
            if (character == ' ' || character == '\t')
                endWord();
            else if (character == '#' && !word_)
                break;
            else if (!add(character))
                return std::nullopt;
        }
        endWord();
        return std::move(words_);
    }

  private:
    char take() {
        const char character = rest_.front();
        rest_.remove_prefix(1);
        return character;
    }

    void endWord() {
        if (word_)
            words_.push_back(*std::exchange(word_, std::nullopt));
    }

    // Adds a character, or the text that begins with this quotation mark.
    bool add(char character) {
        if (!word_)
            word_.emplace();
        if (character == '\'' || character == '"')
            return addQuoted(character);
        if (character == '\\' && rest_.empty())
            return false;
        *word_ += character == '\\' ? take() : character;
        return true;
    }

    bool addQuoted(char mark) {
        while (!rest_.empty()) {
            const char character = take();
            if (character == mark)
                return true;
            const bool isEscape = mark == '"' && character == '\\' && !rest_.empty() &&
                                  (rest_.front() == '"' || rest_.front() == '\\');
            *word_ += isEscape ? take() : character;
        }
        return false;
    }

    std::string_view rest_;
    std::optional<std::string> word_;
    std::vector<std::string> words_;
};

} // namespace

std::optional<std::vector<std::string>> shellWords(std::string_view line) {
    return Splitter(line).split();
}

} // namespace genv::ctl
