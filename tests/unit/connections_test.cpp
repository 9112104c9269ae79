// Connections to a listener of this process end when they are old.
#include <gtest/gtest.h>

#include <arpa/inet.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "host/web/connections.h"

namespace fettle::web {
namespace {

using std::chrono::milliseconds;

int of_loopback(sockaddr_in& address) {
  address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
}

// A pair, the second one of which somebody connected to.
struct Pair {
  explicit Pair(int listener, const sockaddr_in& at) {
    sockaddr_in any;
    client = of_loopback(any);
    EXPECT_EQ(connect(client, reinterpret_cast<const sockaddr*>(&at), sizeof at), 0);
    server = accept(listener, nullptr, nullptr);
  }
  ~Pair() { close(client), close(server); }
  bool ended() const {
    pollfd look{client, POLLIN, 0};
    char byte;
    return poll(&look, 1, 1000) == 1 && recv(client, &byte, 1, MSG_DONTWAIT) == 0;
  }
  bool quiet() const {
    pollfd look{client, POLLIN, 0};
    return poll(&look, 1, 0) == 0;
  }
  int client, server;
};

TEST(Connections, OldOnesEndAndOthersDoNot) {
  sockaddr_in at[2];
  int listeners[2];
  for (int i = 0; i < 2; ++i) {
    listeners[i] = of_loopback(at[i]);
    socklen_t size = sizeof at[i];
    ASSERT_EQ(bind(listeners[i], reinterpret_cast<sockaddr*>(&at[i]), size), 0);
    ASSERT_EQ(listen(listeners[i], 4), 0);
    getsockname(listeners[i], reinterpret_cast<sockaddr*>(&at[i]), &size);
  }
  const Pair old(listeners[0], at[0]), elsewhere(listeners[1], at[1]);
  Connections connections(listeners[0]);
  connections.end_older_than(milliseconds(100));
  usleep(150'000);
  const Pair young(listeners[0], at[0]);
  connections.end_older_than(milliseconds(100));
  EXPECT_TRUE(old.ended());
  EXPECT_TRUE(young.quiet());
  EXPECT_TRUE(elsewhere.quiet()) << "another port's";
  connections.end_older_than(milliseconds(0));
  EXPECT_TRUE(young.ended());
  const Pair later(listeners[0], at[0]);
  EXPECT_TRUE(later.quiet()) << "the port itself goes on";
  for (const int listener : listeners) close(listener);
}

// As those of a broker, which may have that port at another address.
TEST(Connections, OfTheSamePortElsewhereStay) {
  sockaddr_in at[2];
  int listeners[2];
  for (int i = 0; i < 2; ++i) {
    listeners[i] = of_loopback(at[i]);
    at[i].sin_addr.s_addr = htonl(INADDR_LOOPBACK + 1 + static_cast<unsigned>(i));
    at[i].sin_port = at[0].sin_port;
    socklen_t size = sizeof at[i];
    ASSERT_EQ(bind(listeners[i], reinterpret_cast<sockaddr*>(&at[i]), size), 0);
    ASSERT_EQ(listen(listeners[i], 4), 0);
    getsockname(listeners[i], reinterpret_cast<sockaddr*>(&at[i]), &size);
  }
  const Pair here(listeners[0], at[0]), elsewhere(listeners[1], at[1]);
  Connections connections(listeners[0]);
  connections.end_older_than(milliseconds(0));
  EXPECT_TRUE(here.ended());
  EXPECT_TRUE(elsewhere.quiet());
  for (const int listener : listeners) close(listener);
}

TEST(Connections, OfAnyAddressAreThoseOfThePort) {
  sockaddr_in at;
  const int listener = of_loopback(at);
  at.sin_addr.s_addr = htonl(INADDR_ANY);
  socklen_t size = sizeof at;
  ASSERT_EQ(bind(listener, reinterpret_cast<sockaddr*>(&at), size), 0);
  ASSERT_EQ(listen(listener, 4), 0);
  getsockname(listener, reinterpret_cast<sockaddr*>(&at), &size);
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const Pair one(listener, at);
  Connections connections(listener);
  sockaddr_in peer{};
  size = sizeof peer;
  getsockname(one.client, reinterpret_cast<sockaddr*>(&peer), &size);
  const std::string name = "127.0.0.1 " + std::to_string(ntohs(peer.sin_port));
  connections.end_older_than(milliseconds(0), {name});
  EXPECT_TRUE(one.quiet()) << "it is spared";
  connections.end_older_than(milliseconds(0));
  EXPECT_TRUE(one.ended());
  close(listener);
}

}  // namespace
}  // namespace fettle::web
