// What the tests of live pages share: a broker with a page, boards and clients that play their
// part, a browser.
#pragma once

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>

#include "tests/fault/fleet_peers.h"
#include "tests/support/browser.h"
#include "tests/support/running_program.h"

namespace fettle::testing {

using fleet::KeyPair;
using fleet::ScriptedAgent;
using std::chrono::milliseconds;
using std::chrono::seconds;
using Clock = std::chrono::steady_clock;

// How a board of a test answers, and how long it takes for that.
struct Manners {
  milliseconds takes{20};
  double celsius = 40;
  double fails = 0;  // share of the trials
  std::string complaint = "the worker died: signal 11";
};

inline ScriptedAgent::Script board_script(const Manners& manners) {
  return [manners, dice = std::mt19937(7), heat = 0.0](const wire::AssignT& assign,
                                                       ScriptedAgent&) mutable {
    std::this_thread::sleep_for(manners.takes);
    const auto request = decode_request(assign.request);
    // A played session says what it wants to hear; to a real one the board is its dice.
    double nanoseconds = request ? request->options->racing_bound_ns : 0;
    if (!(nanoseconds > 0)) nanoseconds = std::uniform_real_distribution<double>(2e6, 9e6)(dice);
    std::optional<wire::OutcomeT> outcome = fleet::measured(nanoseconds);
    heat = std::min(heat + 0.2, 12.0);
    auto* measurement = outcome->body.AsMeasurement();
    measurement->after = std::make_unique<wire::ConditionsT>();
    measurement->after->temperature_millidegrees =
        static_cast<int>(1000 * (manners.celsius + heat));
    if (std::uniform_real_distribution<double>(0, 1)(dice) < manners.fails) {
      wire::FailureT failure;
      failure.stage = wire::Stage::Run;
      failure.error = std::make_unique<wire::ErrorT>();
      failure.error->code = dice() % 3 ? ErrorCode::Crash : ErrorCode::RunTimeout;
      failure.error->message = manners.complaint;
      outcome->body.Set(std::move(failure));
    }
    outcome->times->total_ns =
        static_cast<std::uint64_t>(std::chrono::nanoseconds(manners.takes).count());
    return outcome;
  };
}

// A client that tunes nothing: trials of some tasks, each of them faster and faster.
class PlayedSession {
 public:
  PlayedSession(const fleet::BrokerAddress& broker, const std::string& key, const std::string& name,
                int tasks, int trials)
      : trials_(trials) {
    fleet::SessionPlan plan;
    plan.device_key = key;
    plan.name = name;
    auto opened = fleet::Session::open(broker, std::move(plan));
    EXPECT_TRUE(opened.ok()) << (opened ? "" : opened.error().text());
    if (!opened) return;
    session_ = std::move(*opened);
    for (int task = 0; task < tasks; ++task) {
      const Bytes blob(64, static_cast<std::uint8_t>(task + 1));
      hashes_.push_back(content_hash(blob));
      session_->offer_blob(hashes_.back(), blob);
    }
    thread_ = std::thread([this] { run(); });
  }
  ~PlayedSession() {
    stopping_ = true;
    if (thread_.joinable()) thread_.join();
  }
  int done() const { return done_; }
  bool over() const { return over_; }

 private:
  void run() {
    std::mt19937 dice(static_cast<unsigned>(trials_));
    int submitted = 0;
    while (done_ < trials_ && !stopping_) {
      for (; submitted < trials_ && submitted - done_ < 8; ++submitted) {
        const auto task = static_cast<std::size_t>(submitted) % hashes_.size();
        auto request = fleet::request_with_blob(hashes_[task]);
        const double depth = 1 + 0.04 * submitted / static_cast<double>(1 + task);
        request.options->racing_bound_ns = 1e6 * static_cast<double>(task + 2) / depth *
                                           std::uniform_real_distribution<double>(1, 3)(dice);
        session_->submit(static_cast<std::uint64_t>(submitted) + 1, request);
      }
      auto results = session_->poll(milliseconds(20));
      if (!results) break;
      done_ += static_cast<int>(results->size());
    }
    over_ = true;
  }

  int trials_;
  std::unique_ptr<fleet::Session> session_;
  std::vector<wire::Hash> hashes_;
  std::atomic<int> done_{0};
  std::atomic<bool> stopping_{false}, over_{false};
  std::thread thread_;
};

class LivePage : public ::testing::Test {
 protected:
  void SetUp() override {
    if (Browser::program().empty()) GTEST_SKIP() << "no Chromium here: ./dev setup";
  }

  std::map<std::string, std::string> environment() const {
    return {{"FETTLE_HOME", folder_.file("home")}};
  }
  KeyPair let_in(const std::string& name, const std::string& role) {
    const KeyPair keys = fleet::new_keys();
    const auto done =
        run_program({FETTLE_PROGRAM, "keys", "allow", name, keys.public_key, "--role", role},
                    seconds(60), environment());
    EXPECT_EQ(done.status, 0) << done.err;
    return keys;
  }
  void start_broker(std::vector<std::string> more = {}) {
    std::vector<std::string> words = {FETTLE_PROGRAM,        "broker", "--listen",
                                      "tcp://127.0.0.1:*",   "--json", "--state",
                                      folder_.file("state"), "--web"};
    words.insert(words.end(), more.begin(), more.end());
    if (client_.public_key.empty()) client_ = let_in("laptop", "client");
    broker_ = std::make_unique<RunningProgram>(words, environment());
    ASSERT_TRUE(broker_->wait_for_out("\n", seconds(60))) << broker_->err();
    const auto said = nlohmann::json::parse(broker_->out());
    endpoint_ = said["endpoint"];
    key_ = said["public_key"];
    web_ = said["web"];
  }
  fleet::BrokerAddress address() const { return {endpoint_, key_, client_}; }

  std::unique_ptr<ScriptedAgent> board(const std::string& name, const std::string& key,
                                       const std::string& model, const std::string& device,
                                       const Manners& manners, const std::string& host = "",
                                       const std::function<void(wire::DeviceInfoT&)>& facts = {}) {
    return std::make_unique<ScriptedAgent>(
        endpoint_, key_, let_in(name, "agent"), "board-of-" + name, key, board_script(manners),
        [&](wire::HelloT& hello) {
          hello.board->hostname = host.empty() ? name + ".lan" : host;
          hello.board->model = model;
          hello.devices[0]->name = device;
          if (facts) facts(*hello.devices[0]);
        });
  }
  int port() const { return std::stoi(web_.substr(web_.rfind(':') + 1)); }

  // All that the page asked for is the broker's, and nothing went wrong in it.
  void expect_quiet(const Browser& browser) const {
    for (const std::string& url : browser.requests()) {
      EXPECT_TRUE(url.rfind(web_, 0) == 0 || url.rfind("data:", 0) == 0) << url;
    }
    for (const std::string& text : browser.complaints()) ADD_FAILURE() << text;
  }

  ScratchFolder folder_;
  KeyPair client_;
  std::unique_ptr<RunningProgram> broker_;
  std::string endpoint_, key_, web_;
};

}  // namespace fettle::testing
