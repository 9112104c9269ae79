// Peers for the fleet's tests: keys, small requests and outcomes, and an agent
// that speaks the real protocol over a real CURVE socket but follows a script.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>
#include <zmq.hpp>

#include "host/fleet/broker.h"
#include "host/fleet/curve.h"
#include "host/fleet/session.h"
#include "schemas/wire/content_hash.h"
#include "schemas/wire/limits.h"
#include "tests/support/fleet_request.h"

namespace fettle::fleet {

inline KeyPair new_keys() {
  auto keys = make_key_pair();
  EXPECT_TRUE(keys.ok());
  return *keys;
}

inline wire::MeasureRequestT request_with_blob(const wire::Hash& hash) {
  auto request = small_request();
  auto expected = std::make_unique<wire::ExpectedOutputT>();
  expected->blob = std::make_unique<wire::Hash>(hash);
  request.expected.push_back(std::move(expected));
  return request;
}

inline wire::OutcomeT measured(double median_ns) {
  wire::MeasurementT measurement;
  measurement.median = median_ns;
  measurement.ticks_per_second = 1e9;
  measurement.number = 1;
  measurement.samples.emplace_back(static_cast<std::uint64_t>(median_ns), 1u);
  wire::OutcomeT outcome;
  outcome.body.Set(std::move(measurement));
  outcome.times = std::make_unique<wire::StageTimesT>();
  outcome.times->total_ns = 1000;
  return outcome;
}

inline wire::HelloT agent_hello(std::uint64_t instance, const std::string& board,
                                const std::string& key, std::uint32_t queue_depth = 2) {
  wire::HelloT hello;
  hello.protocol_version = limits::kProtocolVersion;
  hello.role = wire::Role::Agent;
  hello.instance = instance;
  hello.board = std::make_unique<wire::BoardT>();
  hello.board->id = board;
  hello.board->agent_instance = instance;
  auto device = std::make_unique<wire::DeviceInfoT>();
  device->key = key;
  device->queue_depth = queue_depth;
  hello.devices.push_back(std::move(device));
  return hello;
}

// Dials in, heartbeats, and hands each Assign to `on_assign`; what that returns is
// sent as the outcome, nothing when it returns nothing.
class ScriptedAgent {
 public:
  using Script = std::function<std::optional<wire::OutcomeT>(const wire::AssignT&, ScriptedAgent&)>;

  ScriptedAgent(const std::string& url, const std::string& broker_key, KeyPair keys,
                const std::string& board, const std::string& key, Script script,
                const std::function<void(wire::HelloT&)>& dressed = {})
      : hello_(agent_hello(random_id(), board, key)), script_(std::move(script)) {
    if (dressed) dressed(hello_);
    auto socket = make_client(context_, url, keys, broker_key);
    EXPECT_TRUE(socket.ok());
    socket_ = std::move(*socket);
    thread_ = std::thread([this] { run(); });
  }
  ~ScriptedAgent() { kill(); }

  // Goes silent at once, as a board that lost its power.
  void kill() {
    stopping_ = true;
    if (thread_.joinable()) thread_.join();
  }
  // Ends a lease that the script left open; from any thread.
  void answer_later(LeaseId lease, wire::OutcomeT outcome) {
    std::lock_guard lock(mutex_);
    later_.emplace_back(lease, std::move(outcome));
  }
  int welcomes() const { return welcomes_; }
  int blobs() const { return blobs_; }
  int assigned() const { return assigned_; }
  int most_held() const { return most_held_; }

 private:
  template <typename BodyT>
  void say(BodyT body) {
    const Bytes bytes = encode(message_of(std::move(body)));
    socket_.send(zmq::buffer(bytes), zmq::send_flags::none);
  }

  void run() {
    say(wire::HelloT(hello_));
    last_beat_ = Clock::now();
    while (!stopping_) {
      zmq::pollitem_t item{socket_.handle(), 0, ZMQ_POLLIN, 0};
      zmq::poll(&item, 1, std::chrono::milliseconds(5));
      zmq::message_t message;
      while (!stopping_ && socket_.recv(message, zmq::recv_flags::dontwait)) {
        auto decoded =
            decode_message({static_cast<const std::uint8_t*>(message.data()), message.size()});
        ASSERT_TRUE(decoded.ok()) << decoded.error().text();
        handle(*decoded);
        beat();  // many large messages take long where a sanitizer looks on
      }
      say_what_waited();
      beat();
    }
    socket_.close();
  }

  void beat() {
    if (Clock::now() - last_beat_ < std::chrono::milliseconds(30)) return;
    last_beat_ = Clock::now();
    wire::HeartbeatT beat;
    beat.instance = hello_.instance;
    beat.leases = held_;
    say(std::move(beat));
  }

  void say_what_waited() {
    std::lock_guard lock(mutex_);
    for (auto& [lease, outcome] : later_) {
      wire::DoneT done;
      done.lease = lease;
      done.outcome = encode(outcome);
      std::erase(held_, lease);
      say(std::move(done));
    }
    later_.clear();
  }

  void handle(const wire::MessageT& message) {
    if (message.body.AsWelcome()) ++welcomes_;
    if (message.body.AsPutBlob()) ++blobs_;
    if (message.body.AsHelloNeeded()) {
      wire::HelloT again(hello_);
      again.leases = held_;
      say(std::move(again));
    }
    if (const auto* release = message.body.AsRelease()) std::erase(held_, release->lease);
    if (const auto* assign = message.body.AsAssign()) {
      ++assigned_;
      held_.push_back(assign->lease);
      most_held_ = std::max(most_held_.load(), static_cast<int>(held_.size()));
      if (auto outcome = script_(*assign, *this)) {
        wire::DoneT done;
        done.lease = assign->lease;
        done.outcome = encode(*outcome);
        std::erase(held_, assign->lease);
        say(std::move(done));
      }
    }
  }

  wire::HelloT hello_;
  Script script_;
  TimePoint last_beat_;
  zmq::context_t context_;
  zmq::socket_t socket_;
  std::vector<std::uint64_t> held_;
  std::mutex mutex_;  // guards what is said later
  std::vector<std::pair<LeaseId, wire::OutcomeT>> later_;
  std::atomic<int> welcomes_{0}, blobs_{0}, assigned_{0}, most_held_{0};
  std::atomic<bool> stopping_{false};
  std::thread thread_;
};

}  // namespace fettle::fleet
