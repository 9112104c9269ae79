// `fettle broker --web` in a real browser: boards, queues and sessions as they change, whatever
// peers call themselves. Needs Chromium.
#include <httplib.h>

#include "tests/e2e/live_page_support.h"

namespace fettle::testing {
namespace {

const std::string kHostile =
    "<script>document.documentElement.dataset.taken='1'</script>"
    "<img src=x onerror=\"document.documentElement.dataset.taken='1'\">";

const char* const kBoardStates =
    "[...document.querySelectorAll('#boards tr')].map((r) => "
    "r.children[0].firstChild.textContent + ' ' + r.children[3].firstChild.textContent).join()";

TEST_F(LivePage, ShowsThreeBoardsAndTwoSessionsAsTheyChange) {
  ASSERT_NO_FATAL_FAILURE(start_broker());
  Browser browser(folder_.path(), {1280, 900, false});
  browser.open(web_);
  ASSERT_TRUE(browser.wait_for("document.documentElement.dataset.updates"));
  EXPECT_EQ(browser.evaluate("document.getElementById('boards').textContent"),
            "No board has dialled in.");

  auto one = board("pynq-1", "pynq", "Xilinx Pynq-Z1", "Cortex-A9 x2", {milliseconds(30), 51, 0.1});
  ASSERT_TRUE(browser.wait_for("document.querySelectorAll('#boards .free').length === 1"))
      << "a board that dials in appears";
  auto two = board("pynq-2", "pynq", "Xilinx Pynq-Z2", "Cortex-A9 x2", {milliseconds(45), 47, 0.1});
  auto three = board("rk3399", "rk3399-big", "Radxa Rock Pi 4", "Cortex-A72 x2",
                     {milliseconds(60), 58, 0.02});
  ASSERT_TRUE(browser.wait_for("document.querySelectorAll('#boards .free').length === 3"));

  std::string name;
  {
    PlayedSession resnet(address(), "pynq", "resnet-18", 6, 1500);
    PlayedSession mobilenet(address(), "rk3399-big", "mobilenet-v2", 9, 700);
    ASSERT_TRUE(browser.wait_for("document.querySelectorAll('#sessions article').length === 2"));
    ASSERT_TRUE(browser.wait_for("document.querySelectorAll('#boards .busy').length === 3"));
    // Figures rise while one looks, and rows are kept, not made anew.
    browser.evaluate("window.kept = document.querySelector('#boards tr')");
    const char* const trials =
        "[...document.querySelectorAll('#boards tr')].map((r) => Number(r.children[7].textContent))"
        ".reduce((a, b) => a + b, 0)";
    const int before = browser.evaluate(trials).get<int>();
    ASSERT_TRUE(browser.wait_for(std::string(trials) + " > " + std::to_string(before + 20)));
    EXPECT_EQ(browser.evaluate("window.kept === document.querySelector('#boards tr')"), true);
    ASSERT_TRUE(browser.wait_for("document.documentElement.dataset.charts === '3'"))
        << "utilisation, and each session's curves";
    ASSERT_TRUE(
        browser.wait_for("[...document.querySelectorAll('#sessions article')].every((a) => "
                         "a.querySelectorAll('details')[1].hidden === false)",
                         seconds(60)))
        << "failures by their cause";
    EXPECT_EQ(browser.evaluate("document.querySelectorAll('#sessions tbody')[0].children.length +"
                               "document.querySelectorAll('#sessions tbody')[2].children.length"),
              15)
        << "six tasks and nine";
    // What a canvas shows is colours.
    ASSERT_TRUE(browser.wait_for(
        "[...document.querySelectorAll('canvas')].every((c) => new Set(new Uint32Array("
        "c.getContext('2d').getImageData(0, 0, c.width, c.height).data.buffer)).size > 20)"));
    std::this_thread::sleep_for(seconds(9));
    EXPECT_TRUE(browser.picture(FETTLE_PICTURES "/live_page.png"));
    browser.resize({1280, 900, true});
    std::this_thread::sleep_for(milliseconds(300));
    EXPECT_TRUE(browser.picture(FETTLE_PICTURES "/live_page_dark.png"));
    browser.resize({390, 844, false});
    std::this_thread::sleep_for(milliseconds(1500));
    EXPECT_EQ(browser.evaluate("document.documentElement.scrollWidth"), 390)
        << "a narrow screen is not scrolled sideways";
    EXPECT_TRUE(browser.picture(FETTLE_PICTURES "/live_page_narrow.png"));
    three->kill();
    ASSERT_TRUE(
        browser.wait_for(std::string(kBoardStates) + ".includes('rk3399 gone')", seconds(40)))
        << browser.evaluate(kBoardStates);
  }
  ASSERT_TRUE(browser.wait_for("document.querySelectorAll('#sessions .ended').length === 2"));
  expect_quiet(browser);
  std::printf("requests:");
  std::size_t weight = 0;
  for (const char* path : {"/", "/live.css", "/chart.js", "/live.js"}) {
    const auto answer = httplib::Client("127.0.0.1", port()).Get(path);
    ASSERT_TRUE(answer);
    std::printf(" %s %zu B,", path, answer->body.size());
    weight += answer->body.size();
  }
  std::printf(
      " together %zu B; an event of three boards and two sessions %s B\n", weight,
      browser.evaluate("document.documentElement.dataset.bytes").get<std::string>().c_str());
}

TEST_F(LivePage, ATrialIsOnThePageAMomentAfterItsBoardAnswers) {
  ASSERT_NO_FATAL_FAILURE(start_broker());
  std::atomic<std::int64_t> answered{0};
  const auto now_us = [] {
    return std::chrono::duration_cast<std::chrono::microseconds>(Clock::now().time_since_epoch())
        .count();
  };
  ScriptedAgent agent(endpoint_, key_, let_in("pynq-1", "agent"), "b1", "pynq",
                      [&](const wire::AssignT&, ScriptedAgent&) {
                        answered = now_us();
                        return std::optional(fleet::measured(1e6));
                      });
  Browser browser(folder_.path());
  browser.open(web_);
  ASSERT_TRUE(browser.wait_for("document.querySelectorAll('#boards .free').length === 1"));
  fleet::SessionPlan plan;
  plan.device_key = "pynq";
  auto session = fleet::Session::open(address(), plan);
  ASSERT_TRUE(session.ok()) << session.error().text();
  std::vector<double> latency;
  for (std::uint64_t trial = 1; trial <= 40; ++trial) {
    (*session)->submit(trial, fleet::small_request());
    ASSERT_TRUE(
        browser.wait_for("document.querySelector('#boards tr').children[7].textContent === '" +
                         std::to_string(trial) + "'"));
    latency.push_back(static_cast<double>(now_us() - answered) / 1000);
    std::this_thread::sleep_for(milliseconds(37 * (trial % 7)));
  }
  std::sort(latency.begin(), latency.end());
  std::printf("from a board's answer to the page: median %.0f ms, 90 %% %.0f ms, most %.0f ms\n",
              latency[20], latency[36], latency[39]);
  EXPECT_LT(latency[20], 1000);
}

TEST_F(LivePage, AHostileNameStaysText) {
  ASSERT_NO_FATAL_FAILURE(start_broker());
  Manners manners{milliseconds(5), 40, 0.5, kHostile};
  auto agent = board("pynq-1", kHostile.substr(0, 60), kHostile, kHostile, manners, kHostile);
  Browser browser(folder_.path());
  browser.open(web_);
  ASSERT_TRUE(browser.wait_for("document.querySelectorAll('#boards .free').length === 1"));
  PlayedSession session(address(), kHostile.substr(0, 60), kHostile, 2, 40);
  ASSERT_TRUE(browser.wait_for("document.querySelectorAll('#sessions article').length === 1"));
  ASSERT_TRUE(browser.wait_for("document.querySelector('#sessions').textContent.includes('Run ')"));
  ASSERT_TRUE(browser.wait_for("document.documentElement.dataset.charts === '2'"));
  EXPECT_EQ(browser.evaluate("document.documentElement.dataset.taken === undefined"), true);
  EXPECT_EQ(browser.evaluate("document.querySelectorAll('main script, img').length"), 0);
  for (const char* where : {"#boards", "#queues", "#sessions h3", "#sessions"}) {
    EXPECT_EQ(browser.evaluate("document.querySelector('" + std::string(where) +
                               "').textContent.includes('<script>document')"),
              true)
        << where << " shows it as text";
  }
  expect_quiet(browser);
}

TEST_F(LivePage, ThePageComesBackWithItsBroker) {
  const std::string port_option = "127.0.0.1:" + std::to_string(38'000 + getpid() % 2'000);
  ASSERT_NO_FATAL_FAILURE(start_broker({port_option}));
  Browser browser(folder_.path());
  browser.open(web_);
  ASSERT_TRUE(browser.wait_for("document.getElementById('state').textContent === 'Live'"));
  broker_->signal(SIGTERM);
  EXPECT_EQ(broker_->wait(seconds(20)), 0) << "a page that is open does not keep it";
  ASSERT_TRUE(browser.wait_for("document.getElementById('state').className === 'lost'"));
  ASSERT_NO_FATAL_FAILURE(start_broker({port_option}));
  EXPECT_TRUE(
      browser.wait_for("document.getElementById('state').textContent === 'Live'", seconds(60)));
}

TEST_F(LivePage, ATokenOpensIt) {
  const std::string token = "0123456789abcdefXYZ", file = folder_.file("token");
  std::ofstream(file) << token << "\n";
  ::chmod(file.c_str(), 0600);
  ASSERT_NO_FATAL_FAILURE(start_broker({"0.0.0.0:0", "--web-token-file", file}));
  httplib::Client plain("127.0.0.1", port());
  EXPECT_EQ(plain.Get("/")->status, 401);
  EXPECT_EQ(plain.Get("/events?token=wrong")->status, 401);
  web_ = "http://127.0.0.1:" + std::to_string(port()) + "/";
  Browser browser(folder_.path());
  browser.open(web_ + "?token=" + token);
  EXPECT_TRUE(browser.wait_for("document.documentElement.dataset.updates"));
  expect_quiet(browser);

  const auto refused =
      run_program({FETTLE_PROGRAM, "broker", "--listen", "tcp://127.0.0.1:*", "--web", "0.0.0.0:0"},
                  seconds(20), environment());
  EXPECT_EQ(refused.status, 2);
  EXPECT_NE(refused.err.find("--web-token-file"), refused.err.npos) << refused.err;
}

}  // namespace
}  // namespace fettle::testing
