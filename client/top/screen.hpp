// SPDX-License-Identifier: LGPL-2.1-or-later
// The terminal: prints lines and reads keys. Only the source of this file uses ncurses.
#pragma once

#include "client/top/keys.hpp"
#include "client/top/page.hpp"

#include <deque>
#include <memory>
#include <optional>
#include <vector>

struct screen; // of ncurses

namespace genv::top {

/// A key, or a click on a line.
struct RawKey {
    Key key;
    std::optional<std::size_t> line;
};

class Screen {
  public:
    /// Takes over the terminal of standard input and output. Returns nothing if ncurses does not
    /// know it.
    static std::unique_ptr<Screen> open(bool isColoured);
    Screen(const Screen&) = delete;
    Screen& operator=(const Screen&) = delete;
    /// Restores the terminal.
    ~Screen();

    [[nodiscard]] Size size() const;
    /// Adopts the current size of the terminal.
    void resize();
    void draw(const std::vector<PageLine>& lines);
    /// Returns the next pressed key, or nothing.
    std::optional<RawKey> nextKey();

    /// Releases the terminal until resume().
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
