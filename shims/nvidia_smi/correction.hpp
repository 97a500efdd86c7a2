// SPDX-License-Identifier: LGPL-2.1-or-later
// Correcting what the real nvidia-smi printed. It is needed because nvidia-smi takes part of its
// numbers, the lists of processes above all, from functions that it gets through NVML's export
// table, which no filter of symbols sees; what the filter did reach agrees already and passes byte
// for byte.
//
// | mode                     | which GPUs        | memory            | processes              |
// |--------------------------|-------------------|-------------------|------------------------|
// | table, old and new       | --id, correction  | filter, correction| filter, correction     |
// | -L                       | filter, correction| -                 | -                      |
// | -q, -q -x, with -d       | --id, correction  | filter, correction| filter, correction     |
// | --query-gpu              | --id, correction  | filter, correction| -                      |
// | --query-compute-apps     | --id              | filter            | filter, correction     |
// | --query-accounted-apps   | --id              | -                 | correction: living ones|
// | pmon                     | --id, correction  | -                 | filter, correction     |
// | dmon                     | --id, correction  | filter, correction| -                      |
// | other queries, changes   | --id              | nothing shown     | nothing shown          |
// | subcommands, the unknown | filter, --id      | filter            | filter; a note says so |
//
// Corrected are the used, total, free and reserved framebuffer memory, to what the filter makes of
// them: the total is the capacity, used is the environment's own, free and reserved are at most
// what these leave. BAR1, utilisation, clocks and accounting buffers are the GPU's and stay.
// Everything works line by line, so that a loop (-l) is corrected as it is printed. A line that is
// not understood passes as it is, with a note if it could hold such a number; so does what belongs
// to a process that may be shown; but XML (-q -x) ends where it is not well-formed. Numbers are
// changed where they differ by a whole MiB, since NVML's versions round differently.
//
// Text that others chose stands in the output: names of processes. A row is read from its
// beginning, which stands before the name, and lines that a name with line feeds makes share the
// fate of their row, unless they look like a row themselves: then they are judged as one.
#pragma once

#include "shims/nvidia_smi/arguments.hpp"
#include "shims/nvidia_smi/seen.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace genv::shims::nvidia_smi {

/// What a corrector asks of the world.
struct Surroundings {
    /// What is to be seen now, or null when that cannot be known any more.
    std::function<const Seen*()> seen;
    /// The UUID of a GPU by its PCI address as nvidia-smi writes it; nothing where unknown.
    std::function<std::optional<std::string>(std::string_view)> uuidOfBusId;
    /// Says once that something was not corrected.
    std::function<void(const std::string&)> note;
};

/// What is to stand in place of a number.
struct Figure {
    std::optional<std::uint64_t> mib; ///< unset: it is not known
};

/// Takes the lines of one run in order and gives what is to be printed.
class Corrector {
  public:
    explicit Corrector(Surroundings surroundings) : surroundings_(std::move(surroundings)) {}
    Corrector(const Corrector&) = delete;
    Corrector& operator=(const Corrector&) = delete;
    virtual ~Corrector() = default;

    /// A line with its line feed; the last one may lack it.
    void take(std::string_view line, std::string& out);
    /// A piece of a line that is too long to be corrected.
    virtual void takeOverlong(std::string_view piece, std::string& out);
    /// There is no further line.
    void finish(std::string& out);

  protected:
    virtual void correct(std::string_view line, std::string& out) = 0;
    virtual void end(std::string& /*out*/) {}

    /// What is to be seen, within take() and finish().
    [[nodiscard]] const Seen& seen() const { return *seen_; }
    [[nodiscard]] std::optional<std::string> uuidOfBusId(std::string_view busId) const {
        return surroundings_.uuidOfBusId(busId);
    }
    void note(const std::string& text) const { surroundings_.note(text); }

    /// What is to stand in place of a number of MiB that was printed for a GPU; nothing where it
    /// may stay. `what` is used, total, free or reserved. Notes what the driver does not tell.
    [[nodiscard]] std::optional<Figure> replacement(std::string_view what, std::uint64_t printedMib,
                                                    const Memory& memory, const SeenGpu& gpu) const;
    void noteUnknownLayout(std::string_view what) const;

  private:
    Surroundings surroundings_;
    const Seen* seen_ = nullptr;
};

/// The corrector for a mode; none where there is nothing to correct or nothing that can be.
std::unique_ptr<Corrector> makeCorrector(const Arguments& arguments, Surroundings surroundings);

/// Cuts a stream into lines. A line over a mebibyte is overlong, and taken in pieces.
class LineStream {
  public:
    explicit LineStream(Corrector& corrector) : corrector_(corrector) {}

    void take(std::string_view text, std::string& out);
    void finish(std::string& out);

  private:
    Corrector& corrector_;
    std::string pending_;
    bool isOverlong_ = false;
};

std::unique_ptr<Corrector> makeTableCorrector(Surroundings surroundings);
std::unique_ptr<Corrector> makeListCorrector(Surroundings surroundings);
std::unique_ptr<Corrector> makeTextCorrector(bool hasDisplay, Surroundings surroundings);
std::unique_ptr<Corrector> makeXmlCorrector(Surroundings surroundings);
std::unique_ptr<Corrector> makeGpuCsvCorrector(const Arguments& arguments,
                                               Surroundings surroundings);
std::unique_ptr<Corrector> makeProcessCsvCorrector(const Arguments& arguments,
                                                   Surroundings surroundings);
std::unique_ptr<Corrector> makeMonitorCorrector(Surroundings surroundings);

/// The field that the rows of a query for CSV lack for it to be corrected; empty when none.
std::string missingField(const Arguments& arguments);

} // namespace genv::shims::nvidia_smi
