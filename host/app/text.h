// Numbers and columns as people read them.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "host/app/session_boards.h"
#include "host/tune/listener.h"

namespace fettle::app {

std::string duration_text(std::chrono::duration<double> time);  // "4:12", "1:03:20"
// "12.3 Minstr": of a clock that counts executed instructions.
std::string instructions_text(double instructions);
std::string time_text(double nanoseconds);              // "2.61 ms", "840 ns"
std::string gflops_text(std::optional<double> gflops);  // "45.2", "-"
std::string percent_text(std::optional<double> share);  // "46.0 %", "-"
std::string share_of_peak(std::optional<double> gflops, double peak_gflops);
// "Build BuildError 3, Run RunTimeout 1"; "none".
std::string failures_text(const tune::Progress& progress);

// Whether what was written to `descriptor` can be written over: a terminal that is not "dumb"
// (Emacs' shell, many logs of CI).
bool is_redrawable(int descriptor);

struct TerminalSize {
  std::size_t rows = 24, columns = 80;  // where it does not say
};
// Of standard output, where that is a terminal.
std::optional<TerminalSize> terminal_size();
// Its columns; `otherwise` where it is none.
std::size_t terminal_columns(std::size_t otherwise);

// Cuts after `columns` characters (UTF-8 code points), with "…" as the last one.
std::string cut(const std::string& text, std::size_t columns);
// Under tables with a share of peak above 100 %.
extern const char* const kFewerOperations;
// One line: trials, pipeline, busy share, time.
std::string overall_line(const tune::Progress& progress, bool final = false);
// Planning without the features and the model's training.
double search_seconds(const tune::SearchStatistics& search);
// Trials per hour, builds, the device's time by stage, and the search's: three lines.
std::string time_lines(const tune::TuneSummary& summary);
// One line per task under a heading, then the overall line. `columns`: the widest line.
std::string progress_table(const tune::Progress& progress, std::size_t columns,
                           std::size_t most_tasks, bool final);

// One line per board under a heading, at most `most`; "" where there is but one.
std::string boards_table(const std::vector<SessionBoard>& boards, std::size_t columns,
                         std::size_t most);

}  // namespace fettle::app
