// What peers have not read is counted while it lies in ZeroMQ's pipes, too.
#include "host/fleet/outbox.h"

#include <gtest/gtest.h>

#include <chrono>
#include <optional>
#include <thread>

namespace fettle::fleet {
namespace {

constexpr std::size_t kBytes = 10'000;

class OutboxTest : public ::testing::Test {
 protected:
  OutboxTest() {
    router.set(zmq::sockopt::router_mandatory, true);
    router.set(zmq::sockopt::linger, 0);
    router.set(zmq::sockopt::sndhwm, 8);
    router.bind("inproc://outbox");
  }
  // Connected, and said so.
  zmq::socket_t dial(const std::string& name) {
    zmq::socket_t peer(context, zmq::socket_type::dealer);
    peer.set(zmq::sockopt::routing_id, name);
    peer.set(zmq::sockopt::rcvhwm, 8);
    peer.set(zmq::sockopt::linger, 0);
    peer.connect("inproc://outbox");
    peer.send(zmq::str_buffer("here"));
    zmq::message_t address, text;
    EXPECT_TRUE(router.recv(address) && router.recv(text));
    return peer;
  }
  Outbox::Sent send(const std::string& to, const std::string& account, char first = 'x') {
    return outbox.send(to, account, share(Bytes(kBytes, static_cast<std::uint8_t>(first))));
  }
  // As the broker's loop does by polling: the socket hears of what was read, and of who is gone.
  void listen() {
    static_cast<void>(router.get(zmq::sockopt::events));
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  static std::optional<char> read(zmq::socket_t& peer) {
    zmq::message_t text;
    if (!peer.recv(text, zmq::recv_flags::dontwait)) return std::nullopt;
    EXPECT_EQ(text.size(), kBytes);
    return *static_cast<const char*>(text.data());
  }

  zmq::context_t context;
  zmq::socket_t router{context, zmq::socket_type::router};
  Outbox outbox{router};
};

TEST_F(OutboxTest, CountsWhatLiesInPipesAndWhatWaits) {
  auto slow = dial("slow"), quick = dial("quick");
  unsigned at_once = 0;
  for (char i = 0; i < 40; ++i) {
    const auto sent = send("slow", "key", i);
    ASSERT_NE(sent, Outbox::Sent::Gone);
    at_once += sent == Outbox::Sent::Yes;
    EXPECT_EQ(outbox.unread("key"), kBytes * (std::size_t(i) + 1));
  }
  EXPECT_GE(at_once, 8u);
  EXPECT_LT(at_once, 40u) << "a pipe has a bound";
  EXPECT_TRUE(outbox.any_waits());
  EXPECT_EQ(send("quick", "key"), Outbox::Sent::Yes);
  EXPECT_EQ(outbox.unread("key"), kBytes * 41) << "of all connections of a key";
  EXPECT_EQ(outbox.unread("another"), 0u);

  char next = 0;
  for (int turn = 0; turn < 1000 && next < 40; ++turn) {
    while (const auto got = read(slow)) EXPECT_EQ(*got, next++) << "in their order";
    listen();
    EXPECT_TRUE(outbox.retry().empty());
  }
  EXPECT_EQ(next, 40);
  EXPECT_FALSE(outbox.any_waits());
  EXPECT_TRUE(read(quick));
  EXPECT_EQ(outbox.unread("key"), 0u);
  outbox.tidy();
  EXPECT_EQ(outbox.unread("key"), 0u);
}

TEST_F(OutboxTest, WhatIsForgottenOrGoneIsNotCounted) {
  EXPECT_EQ(send("nobody", "key"), Outbox::Sent::Gone);
  EXPECT_EQ(outbox.unread("key"), 0u);
  auto slow = dial("slow");
  while (send("slow", "key") == Outbox::Sent::Yes) {
  }
  const std::size_t before = outbox.unread("key");
  EXPECT_EQ(send("slow", "key"), Outbox::Sent::Waits);
  outbox.forget("slow");
  EXPECT_EQ(outbox.unread("key"), before - kBytes) << "what the pipe has is still there";
  slow.close();
  for (int i = 0; i < 1000 && outbox.unread("key") > 0; ++i) {
    listen();
  }
  EXPECT_EQ(outbox.unread("key"), 0u);
}

}  // namespace
}  // namespace fettle::fleet
