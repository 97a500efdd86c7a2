// SPDX-License-Identifier: LGPL-2.1-or-later
// The terminal: lines go out, keys come in. The only file with ncurses in it is this one's source.
#pragma once

#include "client/top/keys.hpp"
#include "client/top/page.hpp"

#include <deque>
#include <memory>
#include <optional>
#include <vector>

struct screen; // of ncurses

namespace genv::top {

/// A key as the terminal sent it: a click is on a line.
struct RawKey {
    Key key;
    std::optional<std::size_t> line;
};

class Screen {
  public:
    /// Takes the terminal on standard input and output; nothing where ncurses does not know it.
    static std::unique_ptr<Screen> open(bool isColoured);
    Screen(const Screen&) = delete;
    Screen& operator=(const Screen&) = delete;
    /// Gives the terminal back as it was.
    ~Screen();

    [[nodiscard]] Size size() const;
    /// Takes the size that the terminal has now.
    void resize();
    void draw(const std::vector<PageLine>& lines);
    /// The next key that has been pressed; nothing: none has.
    std::optional<RawKey> nextKey();

    /// Leaves the terminal to others until resume().
    void suspend();
    void resume();

  private:
    explicit Screen(struct screen* terminal, bool isColoured);
    void drawLine(int row, const PageLine& line);
    void takeMouse();

    struct screen* terminal_;
    bool isColoured_;
    std::deque<RawKey> mouseKeys_; ///< keys of the mouse that nextKey() has not returned yet
    std::vector<PageLine> drawn_;  ///< the lines on the screen; only changed ones are written again
};

} // namespace genv::top
