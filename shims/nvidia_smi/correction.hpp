// SPDX-License-Identifier: LGPL-2.1-or-later
// Corrects the output of the real nvidia-smi. This is needed because nvidia-smi obtains some of its
// data, mainly the lists of processes, through NVML's export table, which bypasses the filter. Data
// that the filter has corrected is already right and passes unchanged, byte for byte.
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
// | subcommands, unknown     | filter, --id      | filter            | filter; a note says so |
//
// The correction covers the used, total, free and reserved framebuffer memory, with the same
// meaning as in the filter. The total is the capacity, used is the environment's own use, and free
// and reserved are at most the rest of the capacity. BAR1, utilisation, clocks and accounting
// buffers concern the whole GPU and stay unchanged.
//
// Output is corrected line by line, so that a loop (-l) is corrected as it is printed. A line that
// cannot be parsed passes unchanged, with a note if it could contain such a number. The lines of a
// visible process pass as well. XML output (-q -x), however, stops where it is not well-formed. A
// number is changed only if it differs by a whole MiB, because versions of NVML round differently.
//
// The output contains text that other users chose: names of processes. A row is parsed from its
// beginning, which precedes the name. If a name contains line feeds, its further lines are treated
// like their row, unless they resemble a row themselves. In that case they are treated as a row.
#pragma once

#include "shims/nvidia_smi/arguments.hpp"
#include "shims/nvidia_smi/seen.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace genv::shims::nvidia_smi {

/// The callbacks of a corrector.
struct CorrectionCallbacks {
    /// Returns the visible devices and processes, or null if they cannot be determined any more.
    std::function<const Seen*()> seen;
    /// Returns the UUID of a GPU by its PCI address in nvidia-smi's format, or nothing if unknown.
    std::function<std::optional<std::string>(std::string_view)> uuidOfBusId;
    /// Reports once that some output was not corrected.
    std::function<void(const std::string&)> note;
};

/// The replacement of a number.
struct Figure {
    std::optional<std::uint64_t> mib; ///< unset: unknown
};

/// Receives the lines of one run in order, and produces the corrected output.
class Corrector {
  public:
    explicit Corrector(CorrectionCallbacks surroundings) : surroundings_(std::move(surroundings)) {}
    Corrector(const Corrector&) = delete;
    Corrector& operator=(const Corrector&) = delete;
    virtual ~Corrector() = default;

    /// Processes a line with its line feed; the last line may lack it.
    void take(std::string_view line, std::string& out);
    /// Processes a piece of a line that is too long to be corrected.
    virtual void takeOverlong(std::string_view piece, std::string& out);
    /// Finishes after the last line.
    void finish(std::string& out);

  protected:
    virtual void correct(std::string_view line, std::string& out) = 0;
    virtual void end(std::string& /*out*/) {}

    /// Returns the visible devices and processes. Valid within take() and finish().
    [[nodiscard]] const Seen& seen() const { return *seen_; }
    [[nodiscard]] std::optional<std::string> uuidOfBusId(std::string_view busId) const {
        return surroundings_.uuidOfBusId(busId);
    }
    void note(const std::string& text) const { surroundings_.note(text); }

    /// Returns the replacement of a number of MiB that was printed for a GPU, or nothing if the
    /// number may stay. `what` is used, total, free or reserved. Adds a note if the driver does not
    /// report the value.
    [[nodiscard]] std::optional<Figure> replacement(std::string_view what, std::uint64_t printedMib,
                                                    const Memory& memory, const SeenGpu& gpu) const;
    void noteUnknownLayout(std::string_view what) const;

  private:
    CorrectionCallbacks surroundings_;
    const Seen* seen_ = nullptr;
};

/// Returns the corrector for a mode, or null if there is nothing to correct or no correction is
/// possible.
std::unique_ptr<Corrector> makeCorrector(const Arguments& arguments,
                                         CorrectionCallbacks surroundings);

/// Splits a stream into lines. A line longer than one MiB is overlong and processed in pieces.
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

std::unique_ptr<Corrector> makeTableCorrector(CorrectionCallbacks surroundings);
std::unique_ptr<Corrector> makeListCorrector(CorrectionCallbacks surroundings);
std::unique_ptr<Corrector> makeTextCorrector(bool hasDisplay, CorrectionCallbacks surroundings);
std::unique_ptr<Corrector> makeXmlCorrector(CorrectionCallbacks surroundings);
std::unique_ptr<Corrector> makeGpuCsvCorrector(const Arguments& arguments,
                                               CorrectionCallbacks surroundings);
std::unique_ptr<Corrector> makeProcessCsvCorrector(const Arguments& arguments,
                                                   CorrectionCallbacks surroundings);
std::unique_ptr<Corrector> makeMonitorCorrector(CorrectionCallbacks surroundings);

/// Returns the field that a CSV query must have in addition for its rows to be corrected; empty if
/// none.
std::string missingField(const Arguments& arguments);

} // namespace genv::shims::nvidia_smi
