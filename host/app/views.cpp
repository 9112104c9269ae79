// The views (views.h) for people; json_view.cpp holds the one for programs.
#include "host/app/views.h"

#include <unistd.h>
#include <algorithm>
#include <chrono>
#include <mutex>

#include "host/app/message.h"
#include "host/app/text.h"

namespace fettle::app {
namespace {

using Clock = std::chrono::steady_clock;

class QuietView : public tune::TuneListener {
 public:
  void trial_done(std::size_t, const records::TuningRecord&, const tune::Progress&) override {}
  void tick(const tune::Progress&) override {}
  void warn(const std::string& line) override { app::warn(line); }
};

class PlainView final : public QuietView {
 public:
  void tick(const tune::Progress& progress) override {
    if (Clock::now() - last_ < std::chrono::seconds(10)) return;
    last_ = Clock::now();
    std::string line = overall_line(progress);
    if (!progress.failures.empty()) line += "  failures: " + failures_text(progress);
    print("{}\n", line);
    std::fflush(stdout);
  }

 private:
  Clock::time_point last_ = Clock::now();
};

// A block of lines at the bottom of the terminal, drawn over itself.
class LiveView final : public QuietView, public Screen {
 public:
  explicit LiveView(const SessionBoards* boards) : boards_(boards) {
    print_control("\x1b[?25l");  // no cursor
    set_screen(this);
  }
  ~LiveView() override {
    set_screen(nullptr);  // from here on no other thread calls hide()
    hide();
    print_control("\x1b[?25h");
    std::fflush(stdout);
  }
  LiveView(const LiveView&) = delete;
  LiveView& operator=(const LiveView&) = delete;

  void tick(const tune::Progress& progress) override {
    const TerminalSize size = terminal_size().value_or(TerminalSize{});
    const std::size_t columns = size.columns - 1;
    const std::size_t rows = size.rows > 8 ? size.rows - 6 : 2;
    const std::string boards =
        boards_ ? boards_table(boards_->boards(), columns, std::max<std::size_t>(rows / 3, 1)) : "";
    const auto taken = static_cast<std::size_t>(std::count(boards.begin(), boards.end(), '\n'));
    const std::string block =
        progress_table(progress, columns, rows > taken + 2 ? rows - taken : 2, false) + boards;
    std::lock_guard lock(mutex_);
    clear();
    print_text(block);
    std::fflush(stdout);
    for (char character : block) lines_ += character == '\n';
  }

  void hide() override {
    std::lock_guard lock(mutex_);
    clear();
  }

 private:
  void clear() {
    if (lines_ > 0) print_control(fmt::format("\x1b[{}A\x1b[J", lines_));
    lines_ = 0;
    std::fflush(stdout);
  }

  const SessionBoards* const boards_;
  std::mutex mutex_;
  std::size_t lines_ = 0;
};

}  // namespace

std::unique_ptr<tune::TuneListener> make_live_view(const SessionBoards* boards) {
  return std::make_unique<LiveView>(boards);
}
std::unique_ptr<tune::TuneListener> make_plain_view() { return std::make_unique<PlainView>(); }
std::unique_ptr<tune::TuneListener> make_quiet_view() { return std::make_unique<QuietView>(); }

}  // namespace fettle::app
