// SPDX-License-Identifier: LGPL-2.1-or-later
#include "shims/docker/engine_command_line.hpp"

namespace genv::shims {

namespace {

// Reads words one by one, and collects the result in `given`.
class Reader {
  public:
    Reader(const Words& words, std::size_t begin, const OptionTable& table)
        : words_(words), table_(table) {
        given.end = begin;
    }

    GivenOptions given;

    void read() {
        while (given.end < words_.size() && !given.unclear) {
            const std::string& word = words_[given.end];
            if (word.size() < 2 || word[0] != '-')
                return;
            if (word == "--") {
                ++given.end;
                return;
            }
            if (!(word[1] == '-' ? readLong(word) : readLetters(word)))
                return;
        }
    }

  private:
    // Both return whether there are more options to read.
    bool readLong(const std::string& word) {
        const std::size_t equals = word.find('=');
        const auto option = findOption(table_, std::string_view(word).substr(2, equals - 2));
        if (equals != std::string::npos) {
            if (option)
                add(*option, word.substr(equals + 1), 1, true);
            ++given.end; // an unknown option with "=" also contains its value
            return true;
        }
        if (!option) {
            given.unclear = word;
            return false;
        }
        return addSeparate(*option);
    }

    bool readLetters(const std::string& word) {
        for (std::size_t at = 1; at < word.size(); ++at) {
            const auto option = findOption(table_, word[at]);
            if (word.size() - at > 2 && word[at + 1] == '=') {
                if (option)
                    add(*option, word.substr(at + 2), 1, true);
                break;
            }
            if (!option) {
                given.unclear = word;
                return false;
            }
            if (option->takesValue && at + 1 < word.size()) {
                add(*option, word.substr(at + 1), 1, true);
                break;
            }
            if (option->takesValue)
                return addSeparate(*option);
        }
        ++given.end;
        return true;
    }

    bool addSeparate(const Option& option) {
        if (!option.takesValue) {
            add(option, "", 1, false);
            ++given.end;
            return true;
        }
        // The engine reports a missing value.
        if (given.end + 1 == words_.size())
            return false;
        add(option, words_[given.end + 1], 2, false);
        given.end += 2;
        return true;
    }

    void add(const Option& option, std::string value, std::size_t count, bool isJoined) {
        given.options.push_back(
            {option.name, std::move(value), given.end, given.end + count, isJoined});
    }

    const Words& words_;
    const OptionTable& table_;
};

} // namespace

GivenOptions readOptions(const Words& words, std::size_t begin, const OptionTable& table) {
    Reader reader(words, begin, table);
    reader.read();
    return std::move(reader.given);
}

} // namespace genv::shims
