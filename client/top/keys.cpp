// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/top/keys.hpp"

#include "client/top/jobs_rows.hpp"
#include "client/top/prompts.hpp"
#include "client/top/view.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>

namespace genv::top {

namespace {

constexpr std::ptrdiff_t pageOfRows = 10;
constexpr std::size_t maxInputSize = 128; // bytes

void appendCharacter(std::string& text, char32_t character) {
    if (text.size() >= maxInputSize)
        return;
    const auto add = [&](char32_t bits) { text += static_cast<char>(bits); };
    if (character < 0x80) {
        add(character);
    } else if (character < 0x800) {
        add(0xc0U | (character >> 6U));
        add(0x80U | (character & 0x3fU));
    } else if (character < 0x10000) {
        add(0xe0U | (character >> 12U));
        add(0x80U | ((character >> 6U) & 0x3fU));
        add(0x80U | (character & 0x3fU));
    } else {
        add(0xf0U | (character >> 18U));
        add(0x80U | ((character >> 12U) & 0x3fU));
        add(0x80U | ((character >> 6U) & 0x3fU));
        add(0x80U | (character & 0x3fU));
    }
}

void removeCharacter(std::string& text) {
    const auto isRest = [](char byte) {
        return (static_cast<unsigned char>(byte) & 0xc0U) == 0x80U;
    };
    while (!text.empty() && isRest(text.back()))
        text.pop_back();
    if (!text.empty())
        text.pop_back();
}

// Applies an editing key to a line of text. Returns false for any other key.
bool edit(std::string& text, const Key& key) {
    switch (key.kind) {
    case Key::Kind::Character:
        appendCharacter(text, key.character);
        return true;
    case Key::Kind::Backspace:
        removeCharacter(text);
        return true;
    case Key::Kind::ClearLine:
        text.clear();
        return true;
    default:
        return false;
    }
}

// Moves the selection down by this number of rows, or up if it is negative.
void move(Choice& choice, const View& view, std::ptrdiff_t rows) {
    const std::vector<Item> items = view.items();
    if (items.empty())
        return;
    const auto selected = selectedItem(view, choice);
    const auto position = std::ranges::find(items, *selected) - items.begin();
    const auto last = static_cast<std::ptrdiff_t>(items.size()) - 1;
    choice.selected =
        items.at(static_cast<std::size_t>(std::clamp<std::ptrdiff_t>(position + rows, 0, last)));
}

void pressSortLetter(Choice& choice, char32_t letter) {
    struct Letter {
        char32_t letter;
        Sort sort;
    };
    constexpr std::array letters{Letter{'i', Sort::Index},       Letter{'u', Sort::User},
                                 Letter{'m', Sort::Memory},      Letter{'g', Sort::Utilization},
                                 Letter{'t', Sort::Temperature}, Letter{'p', Sort::Power},
                                 Letter{'l', Sort::Lease}};
    choice.isSorting = false;
    const auto found = std::ranges::find(letters, letter, &Letter::letter);
    if (found != letters.end())
        choice.sort = found->sort;
}

void toggle(Choice& choice, Overlay overlay) {
    choice.overlay = choice.overlay == overlay ? Overlay::None : overlay;
}

void leave(Choice& choice) {
    if (choice.overlay != Overlay::None)
        choice.overlay = Overlay::None;
    else
        choice.filter.clear();
}

void pressWhileFiltering(Choice& choice, const Key& key) {
    if (edit(choice.filter, key))
        return;
    choice.isFiltering = false;
    if (key.kind == Key::Kind::Escape)
        choice.filter.clear();
}

void click(Choice& choice, const View& view, const Item& item) {
    if (selectedItem(view, choice) == item)
        toggle(choice, Overlay::Details);
    choice.selected = item;
}

bool moveInJobs(Choice& choice, const Frame& frame, const Key& key) {
    const std::size_t last = std::max<std::size_t>(jobsCount(frame), 1) - 1;
    const auto to = [&](std::ptrdiff_t rows) {
        const auto now = static_cast<std::ptrdiff_t>(std::min(choice.job, last));
        choice.job = static_cast<std::size_t>(
            std::clamp<std::ptrdiff_t>(now + rows, 0, static_cast<std::ptrdiff_t>(last)));
    };
    switch (key.kind) {
    case Key::Kind::Up:
        to(-1);
        return true;
    case Key::Kind::Down:
        to(1);
        return true;
    case Key::Kind::PageUp:
        to(-pageOfRows);
        return true;
    case Key::Kind::PageDown:
        to(pageOfRows);
        return true;
    case Key::Kind::Home:
        choice.job = 0;
        return true;
    case Key::Kind::End:
        choice.job = last;
        return true;
    default:
        return false;
    }
}

bool pressMovement(Choice& choice, const View& view, const Key& key) {
    const auto all = static_cast<std::ptrdiff_t>(view.items().size());
    switch (key.kind) {
    case Key::Kind::Up:
        move(choice, view, -1);
        return true;
    case Key::Kind::Down:
        move(choice, view, 1);
        return true;
    case Key::Kind::PageUp:
        move(choice, view, -pageOfRows);
        return true;
    case Key::Kind::PageDown:
        move(choice, view, pageOfRows);
        return true;
    case Key::Kind::Home:
        move(choice, view, -all);
        return true;
    case Key::Kind::End:
        move(choice, view, all);
        return true;
    case Key::Kind::Enter:
        toggle(choice, Overlay::Details);
        return true;
    case Key::Kind::Escape:
        leave(choice);
        return true;
    case Key::Kind::Click:
        if (key.item)
            click(choice, view, *key.item);
        return true;
    default:
        return false;
    }
}

Outcome pressLetter(Choice& choice, const Frame& frame, char32_t letter) {
    switch (letter) {
    case 'q':
    case 'Q':
        return {true, {}};
    case 'h':
    case '?':
        toggle(choice, Overlay::Help);
        break;
    case '/':
        choice.isFiltering = true;
        choice.overlay = Overlay::None;
        break;
    case 'o':
        choice.isSorting = true;
        break;
    case 'm':
        choice.mineOnly = !choice.mineOnly;
        break;
    case 'J':
        choice.job = 0;
        toggle(choice, Overlay::Jobs);
        break;
    case 'j':
        move(choice, viewOf(frame, choice), 1);
        break;
    case 'k':
        move(choice, viewOf(frame, choice), -1);
        break;
    default:
        beginPrompt(choice, frame, letter);
    }
    return {};
}

} // namespace

Outcome press(Choice& choice, const Frame& frame, const Key& key) {
    choice.message.clear();
    if (choice.isFiltering) {
        pressWhileFiltering(choice, key);
        return {};
    }
    if (choice.isSorting) {
        pressSortLetter(choice, key.kind == Key::Kind::Character ? key.character : 0);
        return {};
    }
    if (choice.prompt) {
        if (choice.prompt->kind != Prompt::Kind::Confirm && edit(choice.prompt->input, key))
            return {};
        return {false, answerPrompt(choice, frame, key)};
    }
    if (choice.overlay == Overlay::Jobs && moveInJobs(choice, frame, key))
        return {};
    const View view = viewOf(frame, choice);
    // Keeps the selected row, so that a refresh cannot change the target of an action.
    choice.selected = selectedItem(view, choice);
    if (pressMovement(choice, view, key) || key.kind != Key::Kind::Character)
        return {};
    return pressLetter(choice, frame, key.character);
}

} // namespace genv::top
