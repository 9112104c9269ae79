// `fettle tune --web` in a real browser, and the boards of a session on its terminal. Needs
// Chromium.
#include <pty.h>
#include <sys/wait.h>

#include "tests/e2e/live_page_support.h"

namespace fettle::testing {
namespace {

class TunePage : public LivePage {
 protected:
  TunePage() {
    std::ofstream(tasks_) << R"([
      {"op": "conv2d", "layout": "NHWC", "batch": 1, "height": 14, "width": 14, "in_channels": 16,
       "out_channels": 32, "kernel": [3, 3], "stride": [1, 1], "pad": [1, 1], "dilation": [1, 1],
       "groups": 1, "dtype": "float32", "tail": ["bias", "relu"], "weight": 2},
      {"op": "dense", "batch": 1, "in_features": 256, "out_features": 128, "dtype": "float32",
       "tail": ["bias"]}])";
  }
  std::map<std::string, std::string> with_agent() const {
    auto all = environment();
    all["FETTLE_AGENT"] = FETTLE_AGENT_PROGRAM;
    return all;
  }
  const std::string tasks_ = folder_.file("tasks.json");
};

TEST_F(TunePage, ShowsItsTasksAsTheyGetFaster) {
  RunningProgram tune({FETTLE_PROGRAM, "tune", tasks_, "--web", "--json", "--trials", "60", "--db",
                       folder_.file("x.db"), "--repeat", "3", "--min-repeat-ms", "20"},
                      with_agent());
  const auto find = [&] {
    const std::string said = tune.err();
    const std::size_t at = said.find("http://"), end = said.find('/', at + 7);
    return at == said.npos || end == said.npos ? "" : said.substr(at, end + 1 - at);
  };
  for (int i = 0; i < 6000 && web_.empty(); ++i) {
    std::this_thread::sleep_for(milliseconds(10));
    web_ = find();
  }
  ASSERT_FALSE(web_.empty()) << tune.err();
  Browser browser(folder_.path(), {1280, 900, false});
  browser.open(web_);
  ASSERT_TRUE(
      browser.wait_for("document.querySelectorAll('#sessions tbody tr').length >= 2", seconds(120)))
      << tune.err();
  const char* const title = "document.querySelector('#sessions tbody tr td').textContent";
  EXPECT_NE(browser.evaluate(title).get<std::string>().find("conv2d"), std::string::npos)
      << "a session knows what its tasks are called";
  ASSERT_TRUE(browser.wait_for("document.querySelectorAll('#boards .busy').length === 1"));
  ASSERT_TRUE(browser.wait_for("Number(document.querySelector('#numbers dd').textContent) >= 20"));
  ASSERT_TRUE(browser.wait_for("Number(document.documentElement.dataset.charts) >= 1"));
  EXPECT_NE(browser.evaluate("document.querySelectorAll('#sessions td')[4].textContent"), "–")
      << "GFLOPS";
  EXPECT_TRUE(browser.picture(FETTLE_PICTURES "/tune_page.png"));
  EXPECT_EQ(tune.wait(seconds(200)), 0) << tune.err();
  EXPECT_TRUE(
      browser.wait_for("document.getElementById('state').textContent === 'The session has ended'"));
  EXPECT_EQ(browser.evaluate("document.querySelector('#numbers dd').textContent"), "60")
      << "the last word is the end's";
  expect_quiet(browser);
}

// A program on a terminal of its own, 110 columns wide.
class OnTerminal {
 public:
  OnTerminal(const std::vector<std::string>& argv,
             const std::map<std::string, std::string>& environment) {
    winsize size{40, 110, 0, 0};
    std::vector<char*> words;
    for (const std::string& word : argv) words.push_back(const_cast<char*>(word.c_str()));
    words.push_back(nullptr);
    pid_ = forkpty(&fd_, nullptr, nullptr, &size);
    if (pid_ == 0) {
      setenv("TERM", "xterm", 1);
      for (const auto& [name, value] : environment) setenv(name.c_str(), value.c_str(), 1);
      execvp(words[0], words.data());
      _exit(127);
    }
    reader_ = std::thread([this] {
      char bytes[4096];
      for (ssize_t n; (n = read(fd_, bytes, sizeof bytes)) > 0;) {
        const std::lock_guard hold(mutex_);
        text_.append(bytes, static_cast<std::size_t>(n));
      }
    });
  }
  ~OnTerminal() {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
    reader_.join();
    close(fd_);
  }
  // What was drawn last but one, which is whole, from its heading on.
  std::string screen() const {
    const std::lock_guard hold(mutex_);
    const std::size_t last = text_.rfind("\x1b[J"), at = text_.rfind("  # task", last);
    if (last == text_.npos || at == text_.npos) return "";
    const std::size_t end = text_.find('\x1b', at);
    std::string out;
    for (char c : text_.substr(at, end - at))
      if (c != '\r') out += c;
    return out;
  }
  bool wait_for(const std::string& what, seconds limit) const {
    const auto late = Clock::now() + limit;
    while (screen().find(what) == std::string::npos) {
      if (Clock::now() > late) return false;
      std::this_thread::sleep_for(milliseconds(20));
    }
    return true;
  }
  std::string all() const {
    const std::lock_guard hold(mutex_);
    return text_;
  }

 private:
  pid_t pid_ = -1;
  int fd_ = -1;
  mutable std::mutex mutex_;
  std::string text_;
  std::thread reader_;
};

TEST_F(TunePage, TheTerminalNamesEachBoardsState) {
  ASSERT_NO_FATAL_FAILURE(start_broker());
  const auto facts = [](wire::DeviceInfoT& device) {
    device.kind = wire::DeviceKind::Cpu;
    device.clock_hz = 1e9;
    device.memory_limit_bytes = std::uint64_t{1} << 30;
    device.cpu = std::make_unique<wire::CpuFactsT>();
    device.cpu->arch = "x86_64";
    device.cpu->triple = "x86_64-unknown-linux-gnu";
    device.cpu->cores = {0, 1};
    device.cpu->vector_bits = 128;
    device.cpu->page_bytes = 4096;
  };
  std::vector<std::unique_ptr<ScriptedAgent>> boards;
  boards.push_back(
      board("bench-1", "bench", "a bench", "two cores", {milliseconds(60), 41}, "", facts));
  boards.push_back(
      board("bench-2", "bench", "a bench", "two cores", {milliseconds(80), 52}, "", facts));
  boards.push_back(
      board("bench-3", "bench", "a bench", "two cores", {milliseconds(99), 63}, "", facts));
  {  // as let_in does, but its keys stay: this account's own
    const auto made =
        run_program({FETTLE_PROGRAM, "keys", "new", "client"}, seconds(60), environment());
    ASSERT_EQ(made.status, 0) << made.err;
    const std::string key = made.out.substr(0, made.out.find('\n'));
    ASSERT_EQ(run_program({FETTLE_PROGRAM, "keys", "allow", "me", key}, seconds(60), environment())
                  .status,
              0);
  }
  OnTerminal tune({FETTLE_PROGRAM, "tune", tasks_, "--broker", endpoint_, "--device", "bench",
                   "--db", folder_.file("x.db"), "--trials", "100000"},
                  with_agent());
  const auto three_busy = [&] {
    const std::string screen = tune.screen();
    int busy = 0;
    for (std::size_t at = 0; (at = screen.find(".lan ", at)) != screen.npos; ++at) {
      if (screen.find("busy", at) < screen.find('\n', at)) ++busy;
    }
    return busy == 3;
  };
  const auto late = Clock::now() + seconds(90);
  while (!three_busy() && Clock::now() < late) std::this_thread::sleep_for(milliseconds(50));
  ASSERT_TRUE(three_busy()) << tune.all();
  std::this_thread::sleep_for(seconds(5));
  boards.pop_back();
  ASSERT_TRUE(tune.wait_for("gone", seconds(60)))
      << tune.screen() << "\nat the end:\n"
      << tune.all().substr(tune.all().size() - std::min<std::size_t>(tune.all().size(), 4000));
  const std::string screen = tune.screen();
  const std::size_t third = screen.find("bench-3.lan");
  ASSERT_NE(third, screen.npos) << screen;
  EXPECT_LT(screen.find("gone", third), screen.find('\n', third)) << screen;

  // As a picture, for people.
  std::ofstream(folder_.file("terminal.html"))
      << "<meta charset=utf-8><body style='background:#111;color:#ddd'><pre style='font:14px "
         "monospace'>"
      << screen << "</pre>";
  Browser browser(folder_.path(), {1060, 300, true});
  browser.open("file://" + folder_.file("terminal.html"));
  ASSERT_TRUE(browser.wait_for("document.querySelector('pre')"));
  EXPECT_TRUE(browser.picture(FETTLE_PICTURES "/terminal_boards.png"));
}

}  // namespace
}  // namespace fettle::testing
