// The live page's server over real sockets: what it refuses, what it bounds, and that it waits for
// no reader.
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <httplib.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <thread>

#include "host/web/fleet_page.h"
#include "host/web/live_server.h"
#include "tests/support/raw_http.h"

namespace fettle::web {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

const std::string kToken = "0123456789abcdefXYZ";

template <typename Condition>
bool soon(Condition condition, milliseconds limit = milliseconds(10'000)) {
  const auto end = Clock::now() + limit;
  while (!condition()) {
    if (Clock::now() > end) return false;
    std::this_thread::sleep_for(milliseconds(5));
  }
  return true;
}

class WebServer : public ::testing::Test {
 protected:
  void start(LiveServerOptions options = {}) {
    auto started = LiveServer::start(std::move(options));
    ASSERT_TRUE(started.ok()) << started.error().text();
    server = std::move(*started);
    const std::string url = server->url();
    port = std::stoi(url.substr(url.rfind(':') + 1));
  }
  httplib::Result get(const std::string& path, const httplib::Headers& headers = {}) const {
    return httplib::Client("127.0.0.1", port).Get(path.c_str(), headers);
  }
  int status(const std::string& path, const httplib::Headers& headers = {}) const {
    const auto answer = get(path, headers);
    return answer ? answer->status : -1;
  }
  // A connection that asked for the stream and has not read a byte of it.
  int silent_reader() const {
    const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const int bytes = 4096;
    setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof bytes);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    const std::string asked =
        "GET /events HTTP/1.1\r\nHost: 127.0.0.1:" + std::to_string(port) + "\r\n\r\n";
    EXPECT_EQ(::send(fd, asked.data(), asked.size(), 0), static_cast<ssize_t>(asked.size()));
    return fd;
  }

  std::unique_ptr<LiveServer> server;
  int port = 0;
};

// Reads a stream until it is told to stop.
class Reader {
 public:
  explicit Reader(int port) : client_("127.0.0.1", port) {
    client_.set_read_timeout(20);
    thread_ = std::thread([this] {
      client_.Get("/events", [this](const char* data, std::size_t bytes) {
        const std::lock_guard hold(mutex_);
        text_.append(data, bytes);
        return !stopping_;
      });
      ended_ = true;
    });
  }
  ~Reader() {
    stopping_ = true;
    client_.stop();
    thread_.join();
  }
  bool has(const std::string& what) const {
    const std::lock_guard hold(mutex_);
    return text_.find(what) != text_.npos;
  }
  bool ended() const { return ended_; }

 private:
  httplib::Client client_;
  mutable std::mutex mutex_;
  std::string text_;
  std::atomic<bool> stopping_{false}, ended_{false};
  std::thread thread_;
};

TEST_F(WebServer, ServesItsFilesUnderAPolicyThatLetsNothingElseIn) {
  start();
  for (const char* path : {"/", "/live.js", "/live.css", "/chart.js"}) {
    const auto answer = get(path);
    ASSERT_TRUE(answer) << path;
    EXPECT_EQ(answer->status, 200) << path;
    const std::string policy = answer->get_header_value("Content-Security-Policy");
    EXPECT_NE(policy.find("default-src 'none'"), policy.npos) << path;
    EXPECT_EQ(policy.find("unsafe"), policy.npos) << path;
    EXPECT_EQ(answer->get_header_value("X-Content-Type-Options"), "nosniff");
  }
  const std::string page = get("/")->body;
  EXPECT_EQ(page.find("http"), page.npos) << "no address of another machine is in it";
  EXPECT_EQ(page.find("onclick"), page.npos);
  EXPECT_EQ(status("/etc/passwd"), 404);
  EXPECT_EQ(status("/../live.js"), 404);
}

// As many as fit into a header would be as many copies of a file.
TEST_F(WebServer, RangesOfAFileAreNotServed) {
  LiveServerOptions options;
  options.token = kToken;
  start(std::move(options));
  for (const std::string& ranges : {std::string("bytes=0-9"), test::many_ranges(2600)}) {
    for (const char* path : {"/chart.js", "/", "/none"}) {
      const auto answer = get(path, {{"Range", ranges}});
      ASSERT_TRUE(answer) << path;
      EXPECT_EQ(answer->status, 416) << path;
      EXPECT_EQ(answer->body, "") << path;
    }
  }
}

// They would take the descriptors of a session, or of a broker.
TEST_F(WebServer, ConnectionsThatSayNothingTakeFewDescriptors) {
  LiveServerOptions options;
  options.streams = 2;
  options.requests = 2;
  start(std::move(options));
  const auto open_files = [] {
    const std::filesystem::directory_iterator all("/proc/self/fd");
    return std::distance(begin(all), end(all));
  };
  const auto before = open_files();
  std::vector<int> idle;
  for (int i = 0; i < 100; ++i) {
    idle.push_back(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    (void)::connect(idle.back(), reinterpret_cast<sockaddr*>(&address), sizeof address);
  }
  std::this_thread::sleep_for(milliseconds(500));
  EXPECT_LE(open_files(), before + 100 + 4 + 1 + 10) << "a thread each, and one that waits";
  for (const int each : idle) ::close(each);
  EXPECT_TRUE(soon([&] { return status("/") == 200; })) << "it goes on";
}

TEST_F(WebServer, SlowRequestsAreCutAndStreamsAreNot) {
  LiveServerOptions options;
  options.streams = 1;
  options.requests = 1;
  options.longest_request = milliseconds(600);
  start(std::move(options));
  server->publish("{}");
  Reader reader(port);
  ASSERT_TRUE(soon([&] { return reader.has("data: {}"); }));
  const test::Drip one(port), other(port);
  std::this_thread::sleep_for(milliseconds(300));
  EXPECT_TRUE(soon([&] { return status("/") == 200; })) << "they do not keep all threads";
  std::this_thread::sleep_for(milliseconds(1500));
  server->publish("{\"n\":1}");
  EXPECT_TRUE(soon([&] { return reader.has("data: {\"n\":1}"); }));
  EXPECT_FALSE(reader.ended());
}

TEST_F(WebServer, ARequestThatNeverEndsDoesNotKeepIt) {
  start();
  const test::Drip drip(port);
  std::this_thread::sleep_for(std::chrono::milliseconds(500));  // it is being read
  const auto before = std::chrono::steady_clock::now();
  server.reset();
  // For ever, once; a stream's patience is within.
  EXPECT_LT(std::chrono::steady_clock::now() - before, std::chrono::seconds(10));
}

TEST_F(WebServer, MetricsAreTheNewestThatWerePublished) {
  start();
  EXPECT_EQ(status("/metrics"), 404) << "nobody publishes any";
  server->publish_metrics("a 1\n");
  server->publish_metrics("a 2\n");
  const auto answer = get("/metrics");
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->body, "a 2\n");
  EXPECT_EQ(answer->get_header_value("Content-Type"), "text/plain; version=0.0.4; charset=utf-8");
  EXPECT_EQ(status("/metrics", {{"Host", "evil.example"}}), 421);
}

TEST_F(WebServer, ABrokersPagePublishesWhatItSees) {
  start();
  FleetPage page(*server);
  fleet::FleetView view;
  view.status.builds = {{"0.1.0-ab", 2, 2, 5, 1}};
  page.see(std::move(view));
  EXPECT_TRUE(soon([&] { return status("/metrics") == 200; })) << "though nobody looks at the page";
  EXPECT_NE(get("/metrics")->body.find("fettle_broker_builds_wanted{version=\"0.1.0-ab\"} 5\n"),
            std::string::npos);
}

TEST_F(WebServer, MetricsAreForThoseWhoKnowTheToken) {
  LiveServerOptions options;
  options.token = kToken;
  start(std::move(options));
  server->publish_metrics("a 1\n");
  EXPECT_EQ(status("/metrics"), 401);
  EXPECT_EQ(status("/metrics", {{"Authorization", "Bearer " + kToken}}), 200);
}

TEST_F(WebServer, AForeignHostHeaderIsMisdirected) {
  start();
  EXPECT_EQ(status("/", {{"Host", "evil.example"}}), 421);
  EXPECT_EQ(status("/events", {{"Host", "evil.example:" + std::to_string(port)}}), 421);
  EXPECT_EQ(status("/", {{"Sec-Fetch-Site", "cross-site"}}), 403);
  EXPECT_EQ(status("/", {{"Host", "localhost:" + std::to_string(port)}}), 200);
  EXPECT_EQ(server->streams(), 0u);
}

TEST_F(WebServer, NothingCanBeSentThere) {
  start();
  httplib::Client client("127.0.0.1", port);
  EXPECT_EQ(client.Post("/", "x", "text/plain")->status, 405);
  EXPECT_EQ(client.Put("/events", "x", "text/plain")->status, 405);
  EXPECT_EQ(client.Delete("/")->status, 405);
  EXPECT_EQ(client.Head("/")->status, 405);
}

TEST_F(WebServer, AWrongTokenIsUnauthorized) {
  LiveServerOptions options;
  options.token = kToken;
  start(std::move(options));
  EXPECT_EQ(status("/"), 401);
  EXPECT_EQ(status("/events"), 401);
  EXPECT_EQ(status("/?token=" + kToken.substr(1)), 401);
  EXPECT_EQ(status("/events?token=wrong"), 401);
  EXPECT_EQ(status("/events", {{"Authorization", "Bearer wrong"}}), 401);
  EXPECT_EQ(status("/?token=" + kToken), 200);
  EXPECT_EQ(status("/", {{"Authorization", "Bearer " + kToken}}), 200);
  EXPECT_EQ(server->streams(), 0u);
}

TEST_F(WebServer, AStreamBeginsWithTheNewestAndFollows) {
  start();
  server->publish("old");
  server->publish("{\"n\":1}");
  Reader reader(port);
  ASSERT_TRUE(soon([&] { return reader.has("data: {\"n\":1}\n\n"); }));
  EXPECT_FALSE(reader.has("old"));
  server->publish("{\"n\":2}");
  EXPECT_TRUE(soon([&] { return reader.has("data: {\"n\":2}\n\n"); }));
  EXPECT_EQ(server->streams(), 1u);
}

TEST_F(WebServer, TheSixtyFifthStreamIsRefused) {
  start();
  server->publish("{}");
  std::vector<std::unique_ptr<Reader>> readers;
  for (int i = 0; i < 64; ++i) {
    readers.push_back(std::make_unique<Reader>(port));
    ASSERT_TRUE(soon([&] { return readers.back()->has("data: {}"); })) << i;
  }
  EXPECT_EQ(server->streams(), 64u);
  EXPECT_EQ(status("/events"), 503);
  EXPECT_EQ(status("/"), 200) << "the page itself is still to be had";
  readers.pop_back();
  server->publish("{\"n\":1}");  // the one that left is found out
  ASSERT_TRUE(soon([&] { return server->streams() < 64; }));
  Reader next(port);
  EXPECT_TRUE(soon([&] { return next.has("data: {\"n\":1}"); })) << "a place is free again";
}

TEST_F(WebServer, ASlowReaderIsDroppedWhileOthersGoOn) {
  LiveServerOptions options;
  options.patience = milliseconds(500);
  start(std::move(options));
  const int slow = silent_reader();
  Reader good(port);
  ASSERT_TRUE(soon([&] { return server->streams() == 2; }));
  const std::string much(512 << 10, 'x');
  milliseconds longest{0};
  const auto began = Clock::now();
  int events = 0;
  while (server->streams() == 2 && Clock::now() - began < std::chrono::seconds(20)) {
    const auto from = Clock::now();
    server->publish(much + std::to_string(++events));
    longest = std::max(longest, std::chrono::ceil<milliseconds>(Clock::now() - from));
    ASSERT_TRUE(soon([&] { return good.has("x" + std::to_string(events)); }));
  }
  const auto took = std::chrono::floor<milliseconds>(Clock::now() - began);
  EXPECT_EQ(server->streams(), 1u);
  EXPECT_FALSE(good.ended());
  EXPECT_LT(longest, milliseconds(200)) << "publish() waits for no reader";
  std::printf(
      "a reader that does not read was dropped after %lld ms, %d events of 512 KiB; the "
      "longest publish() took %lld ms\n",
      static_cast<long long>(took.count()), events, static_cast<long long>(longest.count()));
  ::close(slow);
}

TEST_F(WebServer, EndsAtOnceWithReadersThatAreThere) {
  start();
  server->publish("{}");
  Reader one(port), two(port);
  const int silent = silent_reader();
  ASSERT_TRUE(soon([&] { return server->streams() == 3; }));
  const auto from = Clock::now();
  server.reset();
  EXPECT_LT(Clock::now() - from, std::chrono::seconds(5));
  EXPECT_TRUE(soon([&] { return one.ended() && two.ended(); }));
  ::close(silent);
}

}  // namespace
}  // namespace fettle::web
