// Numbers and columns (text.h).
#include "host/app/text.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>

#include <fmt/format.h>

namespace fettle::app {
namespace {

const char* state_text(const tune::TaskProgress& task, bool final) {
  switch (task.end) {
    case tune::TaskEnd::StoppedEarly:
      return "stopped early";
    case tune::TaskEnd::Exhausted:
      return "every candidate tried";
    case tune::TaskEnd::None:
      break;
  }
  return task.waiting_for_expected && !final ? "computing the expected output" : "";
}

}  // namespace

std::string duration_text(std::chrono::duration<double> time) {
  const auto seconds = static_cast<long>(time.count() + 0.5);
  if (seconds < 3600) return fmt::format("{}:{:02}", seconds / 60, seconds % 60);
  return fmt::format("{}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60);
}

std::string instructions_text(double instructions) {
  return fmt::format("{:.4g} Minstr", instructions / 1e6);
}

std::string time_text(double nanoseconds) {
  if (nanoseconds < 1e3) return fmt::format("{:.0f} ns", nanoseconds);
  if (nanoseconds < 1e6) return fmt::format("{:.3g} µs", nanoseconds * 1e-3);
  if (nanoseconds < 1e9) return fmt::format("{:.3g} ms", nanoseconds * 1e-6);
  return fmt::format("{:.3g} s", nanoseconds * 1e-9);
}

std::string gflops_text(std::optional<double> gflops) {
  return gflops ? fmt::format("{:.{}f}", *gflops, *gflops < 10 ? 2 : 1) : "-";
}

std::string percent_text(std::optional<double> share) {
  return share ? fmt::format("{:.1f} %", *share * 100) : "-";
}

std::string share_of_peak(std::optional<double> gflops, double peak_gflops) {
  if (!gflops || peak_gflops <= 0) return "-";
  return percent_text(*gflops / peak_gflops);
}

std::string failures_text(const tune::Progress& progress) {
  std::string text;
  for (const auto& [cause, count] : progress.failures) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", cause, count);
  }
  return text.empty() ? "none" : text;
}

bool is_redrawable(int descriptor) {
  const char* const terminal = std::getenv("TERM");
  return isatty(descriptor) == 1 && terminal != nullptr && std::string_view(terminal) != "dumb";
}

std::optional<TerminalSize> terminal_size() {
  winsize size{};
  if (isatty(STDOUT_FILENO) != 1) return std::nullopt;
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return TerminalSize{};
  return TerminalSize{size.ws_row, size.ws_col};
}

std::size_t terminal_columns(std::size_t otherwise) {
  const auto size = terminal_size();
  return size ? size->columns : otherwise;
}

std::string cut(const std::string& text, std::size_t columns) {
  std::size_t seen = 0, last = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if ((static_cast<unsigned char>(text[i]) & 0xc0) == 0x80) continue;  // continuation byte
    if (++seen == columns) last = i;
    if (seen > columns) return text.substr(0, last) + "…";
  }
  return text;
}

const char* const kFewerOperations =
    "(GFLOPS count a task's own operations; Winograd's algorithm needs fewer of them, so it can "
    "pass the peak)";

std::string overall_line(const tune::Progress& progress, bool final) {
  std::string text = fmt::format("trials {}/{}", progress.trials, progress.trials_wanted);
  if (progress.resumed) text += fmt::format(" ({} resumed)", progress.resumed);
  if (progress.finals_wanted)
    text += fmt::format("  finals {}/{}", progress.finals, progress.finals_wanted);
  text += "  elapsed " + duration_text(progress.elapsed);
  if (!final && progress.left && progress.trials < progress.trials_wanted)
    text += "  left ~" + duration_text(*progress.left);
  text += "  device busy " + percent_text(progress.busy_share);
  if (!final) text += fmt::format("  building {}", progress.building);
  if (progress.remote_builders)
    text += fmt::format(" ({} remote builder{})", progress.remote_builders,
                        progress.remote_builders == 1 ? "" : "s");
  if (final) return text;
  return text + fmt::format("  waiting {}  on boards {}", progress.waiting, progress.on_boards);
}

double search_seconds(const tune::SearchStatistics& search) {
  return std::max(0.0, search.planning_seconds - search.feature_seconds - search.training_seconds);
}

namespace {

constexpr double kPlainThought = 0.95;  // more is not worth a line

std::string thought_line(double thought) {
  if (thought >= kPlainThought) return "";
  return fmt::format(
      "plans: with {} of their usual thought, as boards waited for this machine's cores\n",
      percent_text(thought));
}

std::string certainty_line(const tune::Certainty& certainty) {
  if (certainty.trials() == 0) return "";
  return fmt::format(
      "times: known to ±{} (median of {} trials); {} of the samples were disturbed\n",
      percent_text(certainty.half_interval()), certainty.trials(),
      percent_text(certainty.disturbed_share()));
}

}  // namespace

std::string time_lines(const tune::TuneSummary& summary) {
  const tune::Progress& progress = summary.progress;
  const tune::TimeSplit::Device& device = summary.time.device();
  const double seconds = progress.elapsed.count(), all = device.all();
  if (seconds <= 0 || summary.time.builds() == 0) return "";
  const auto share = [&](double part) { return percent_text(all > 0 ? part / all : 0); };
  return fmt::format(
             "time: {:.0f} trials an hour; a build takes {:.0f} ms (median; 90 %: {:.0f} ms)\n",
             progress.trials_per_hour(), summary.time.build_ms(0.5), summary.time.build_ms(0.9)) +
         fmt::format(
             "device: samples {}, other runs {}, loading {}, checking {}, rest {}, idle {}\n",
             share(device.run), share(device.warmup), share(device.load), share(device.check),
             share(device.other), share(device.idle)) +
         fmt::format(
             "beside it: builds {:.1f} s, search {:.1f} s, features {:.1f} s, model {:.1f} s, "
             "upload {:.1f} s\n",
             summary.time.build_seconds(), search_seconds(summary.search),
             summary.search.feature_seconds, summary.search.training_seconds,
             summary.time.upload_seconds()) +
         thought_line(summary.search.mean_thought()) + certainty_line(summary.certainty);
}

namespace {

std::string best_text(const tune::TaskProgress& task) {
  if (task.best_nanoseconds) return time_text(*task.best_nanoseconds);
  return task.best_instructions ? instructions_text(*task.best_instructions) : "-";
}

}  // namespace

std::string progress_table(const tune::Progress& progress, std::size_t columns,
                           std::size_t most_tasks, bool final) {
  std::size_t title_width = 8;
  for (const auto& task : progress.tasks) title_width = std::max(title_width, task.title.size());
  constexpr std::size_t kFigures = 62;
  title_width = std::min(title_width, columns > kFigures + 12 ? columns - kFigures : 12);
  const auto line = [&](const std::string& text) { return cut(text, columns) + "\n"; };

  std::string text =
      line(fmt::format("{:>3} {:<{}} {:>6} {:>6} {:>8} {:>8} {:>7} {:>9}", "#", "task", title_width,
                       "trials", "failed", final ? "weight" : "now", "GFLOPS", "% peak", "best"));
  std::size_t shown = 0;
  for (const auto& task : progress.tasks) {
    if (++shown > most_tasks) {
      text += line(fmt::format("    … and {} more tasks", progress.tasks.size() - most_tasks));
      break;
    }
    text += line(fmt::format(
        "{:>3} {:<{}} {:>6} {:>6} {:>8} {:>8} {:>7} {:>9}  {}", shown, cut(task.title, title_width),
        title_width, task.trials, task.failed,
        final ? fmt::format("{:g}", task.weight) : gflops_text(task.current_gflops),
        gflops_text(task.best_gflops()), share_of_peak(task.best_gflops(), progress.peak_gflops),
        best_text(task), state_text(task, final)));
  }
  if (const auto sum = progress.sum_nanoseconds(); sum && progress.tasks.size() > 1) {
    text += line(fmt::format("sum of all tasks by their weights: {}", time_text(*sum)));
  }
  const bool fewer_operations =
      std::any_of(progress.tasks.begin(), progress.tasks.end(), [&](const auto& task) {
        return progress.peak_gflops > 0 && task.best_gflops().value_or(0) > progress.peak_gflops;
      });
  if (final && fewer_operations) {
    text += line(kFewerOperations);
  }
  text += line(overall_line(progress, final));
  text += line("failures: " + failures_text(progress));
  return text;
}

std::string boards_table(const std::vector<SessionBoard>& boards, std::size_t columns,
                         std::size_t most) {
  if (boards.size() < 2) return "";
  const auto line = [&](const std::string& text) { return cut(text, columns) + "\n"; };
  std::size_t width = 8;
  for (const SessionBoard& board : boards) width = std::max(width, board.name.size());
  constexpr std::size_t kFigures = 54;
  width = std::min(width, columns > kFigures + 12 ? columns - kFigures : 12);
  std::string text = line(fmt::format("    {:<{}} {:<11} {:>6} {:>6} {:>6} {:>8}  {}", "board",
                                      width, "state", "trials", "failed", "°C", "busy", "model"));
  std::size_t shown = 0;
  for (const SessionBoard& board : boards) {
    if (++shown > most) return text + line(fmt::format("    … and {} more", boards.size() - most));
    const std::string state =
        board.state == "busy"
            ? board.state
            : board.state + " " + duration_text(std::chrono::duration<double>(board.silent));
    text += line(fmt::format("    {:<{}} {:<11} {:>6} {:>6} {:>6} {:>8}  {}",
                             cut(board.name, width), width, state, board.trials, board.failed,
                             board.temperature ? fmt::format("{:.1f}", *board.temperature) : "-",
                             percent_text(board.busy), board.model));
  }
  return text;
}

}  // namespace fettle::app
