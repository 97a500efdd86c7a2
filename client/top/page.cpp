// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/top/page.hpp"

#include "client/top/cell_text.hpp"
#include "client/top/gpu_rows.hpp"
#include "client/top/header.hpp"
#include "client/top/jobs_rows.hpp"
#include "client/top/lower_rows.hpp"
#include "client/top/overlays.hpp"
#include "client/top/parked_rows.hpp"
#include "client/top/view.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace genv::top {

namespace {

constexpr Size leastSize{8, 40};

/// The number of lines of each table, including its title; 0 if it is omitted.
struct Heights {
    std::size_t gpus = 0;
    std::size_t processes = 0;
    std::size_t waiters = 0;
    std::size_t parked = 0;
};

// If there is too little room, shortens the queue, what is parked and the processes first.
Heights heightsFor(const View& view, std::size_t room) {
    const auto wanted = [](std::size_t rows) { return rows == 0 ? 0 : rows + 1; };
    const Heights want{view.gpus.size() + 1, view.processes.size() + 1, wanted(view.waiters.size()),
                       wanted(view.parked.size())};
    // Omits a title without rows.
    const auto few = [](std::size_t height) { return height < 2 ? 0 : height; };
    const std::size_t sixth = std::max<std::size_t>(room / 6, room < 12 ? 0 : 2);
    Heights heights;
    heights.waiters = few(std::min(want.waiters, sixth));
    heights.parked = few(std::min(want.parked, sixth));
    const std::size_t rest = room - heights.waiters - heights.parked;
    heights.processes =
        std::min(want.processes, few(std::max<std::size_t>(rest / 3, rest < 8 ? 0 : 3)));
    heights.gpus = std::min(want.gpus, rest - heights.processes);
    std::size_t remaining = rest - heights.processes - heights.gpus;
    const std::size_t more = std::min(remaining, want.processes - heights.processes);
    heights.processes += more;
    remaining -= more;
    const std::size_t moreWaiters = std::min(remaining, want.waiters - heights.waiters);
    heights.waiters = few(heights.waiters + moreWaiters);
    remaining -= moreWaiters;
    heights.parked = few(heights.parked + std::min(remaining, want.parked - heights.parked));
    return heights;
}

class Composer {
  public:
    Composer(const Frame& frame, const Choice& choice, std::size_t width)
        : frame_(frame), choice_(choice), width_(width), view_(viewOf(frame, choice)) {}

    void select(std::optional<Item> item) { selected_ = item; }
    [[nodiscard]] const View& view() const { return view_; }

    void add(const Line& line) {
        lines_.push_back({cutLine(line, width_, choice_.charset), {}, false});
    }

    void addGpus(std::size_t height) {
        if (height == 0)
            return;
        const GpuTable table(frame_, view_, choice_, width_);
        if (view_.gpus.empty())
            add({{noGpus(), style::dim}});
        else
            addTable(table, view_.gpus, height);
    }
    void addProcesses(std::size_t height) {
        if (height == 0 || frame_.isCluster)
            return;
        const ProcessListing table(frame_, view_, choice_, width_);
        if (view_.processes.empty())
            add({{"No processes use these GPUs", style::dim}});
        else
            addTable(table, view_.processes, height);
    }
    void addWaiters(std::size_t height) {
        if (height > 0)
            addTable(QueueTable(frame_, view_, choice_, width_), view_.waiters, height);
    }

    void addParked(std::size_t height) {
        if (height > 0)
            addTable(ParkedTable(frame_, view_, choice_, width_), view_.parked, height);
    }

    void addJobs(std::size_t height) {
        const JobsList list = jobsList(frame_, choice_, height, width_);
        for (std::size_t i = 0; i < list.lines.size(); ++i)
            lines_.push_back(
                {cutLine(list.lines[i], width_, choice_.charset), {}, list.selected == i});
    }

    std::vector<PageLine> take() { return std::move(lines_); }
    /// Returns exactly this number of lines; `last` is the last one.
    std::vector<PageLine> takeWithFooter(std::size_t rows, const Line& footer) {
        lines_.resize(rows - 1);
        add(footer);
        return take();
    }

  private:
    [[nodiscard]] std::string noGpus() const {
        if (!frame_.gpus.empty())
            return "No GPU matches";
        return frame_.isCluster ? "The cluster has no GPUs" : "This machine has no GPUs";
    }

    // Shows the page that contains the selected row.
    template <typename Table, typename Row>
    void addTable(const Table& table, const std::vector<const Row*>& rows, std::size_t height) {
        const std::size_t room = std::min(height - 1, rows.size());
        const auto chosen = std::ranges::find_if(
            rows, [&](const Row* row) { return selected_ && itemOf(*row) == *selected_; });
        const auto position = static_cast<std::size_t>(chosen - rows.begin());
        std::size_t first = chosen == rows.end() || room == 0 ? 0 : position / room * room;
        first = std::min(first, rows.size() - room);
        addTitle(table.title(), first, room, rows.size());
        for (std::size_t i = first; i < first + room; ++i) {
            const Item item = itemOf(*rows[i]);
            lines_.push_back(
                {cutLine(table.row(*rows[i]), width_, choice_.charset), item, selected_ == item});
        }
    }

    void addTitle(Line title, std::size_t first, std::size_t room, std::size_t rows) {
        if (room < rows) {
            const std::string part = fmt::format(" {}-{}/{}", first + 1, first + room, rows);
            const std::size_t before = width_ - std::min(width_, part.size());
            title = cutLine(title, before, choice_.charset);
            title.push_back(
                {std::string(before - cellsOf(title, choice_.charset), ' ') + part, style::bold});
        }
        // Fills the whole width to separate the tables.
        title.push_back(
            {std::string(width_ - std::min(width_, cellsOf(title, choice_.charset)), ' '),
             style::bold});
        for (Span& span : title)
            span.style.isReverse = true;
        add(title);
    }

    const Frame& frame_;
    const Choice& choice_;
    std::size_t width_;
    View view_;
    std::optional<Item> selected_;
    std::vector<PageLine> lines_;
};

std::vector<PageLine> sentencePage(std::string_view sentence, Size size, Charset charset) {
    std::vector<PageLine> lines;
    for (std::string& line : wrapped(safe(sentence, charset), size.columns, charset))
        lines.push_back({{{std::move(line), style::plain}}, {}, false});
    lines.resize(size.rows);
    return lines;
}

} // namespace

std::vector<PageLine> screenPage(const Frame& frame, const Choice& choice, Size size) {
    if (size.rows == 0 || size.columns == 0)
        return {};
    if (size.rows < leastSize.rows || size.columns < leastSize.columns)
        return sentencePage(fmt::format("genv top needs {} columns and {} lines; q quits.",
                                        leastSize.columns, leastSize.rows),
                            size, choice.charset);
    if (frame.isEmpty)
        return sentencePage(frame.trouble.empty() ? "Asking the service..." : frame.trouble, size,
                            choice.charset);
    Composer composer(frame, choice, size.columns);
    const std::optional<Item> selected = selectedItem(composer.view(), choice);
    composer.select(selected);
    const std::vector<Line> header = headerLines(frame, choice, size.columns);
    const std::size_t room = size.rows - header.size() - 1;
    for (const Line& line : header)
        composer.add(line);
    if (choice.overlay == Overlay::None) {
        const Heights heights = heightsFor(composer.view(), room);
        composer.addGpus(heights.gpus);
        composer.addProcesses(heights.processes);
        composer.addWaiters(heights.waiters);
        composer.addParked(heights.parked);
    } else if (choice.overlay == Overlay::Help) {
        for (const Line& line : helpLines(choice))
            composer.add(line);
    } else if (choice.overlay == Overlay::Jobs) {
        composer.addJobs(room);
    } else if (selected) {
        for (const Line& line : detailLines(frame, *selected, choice.charset))
            composer.add(line);
    }
    return composer.takeWithFooter(size.rows, footerLine(choice, size.columns));
}

std::vector<PageLine> wholePage(const Frame& frame, const Choice& choice, std::size_t columns) {
    Composer composer(frame, choice, columns);
    for (const Line& line : headerLines(frame, choice, columns))
        composer.add(line);
    const auto all = [](std::size_t rows) { return rows == 0 ? 0 : rows + 1; };
    composer.addGpus(composer.view().gpus.size() + 1);
    composer.addProcesses(composer.view().processes.size() + 1);
    composer.addWaiters(all(composer.view().waiters.size()));
    composer.addParked(all(composer.view().parked.size()));
    return composer.take();
}

} // namespace genv::top
