// A page over HTTP that shows the newest of what it is given, as it happens (server-sent events).
// Its files are part of the program: it needs nothing else, and asks nobody else.
//
//   /            the page          /live.js /live.css /chart.js   what it loads
//   /events      an event stream: what was published last, then each newer one
//   /metrics     numbers for Prometheus, where somebody publishes them
//
// Nothing can be changed there. What is bounded: requests at a time, open streams, and what waits
// for each of them: one event, as whoever reads slowly misses those between. One that does not
// read at all is cut off, as is a request that does not end. Ranges of files are not served.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "host/web/web_address.h"

namespace fettle::web {

struct LiveServerOptions {
  WebAddress address;
  std::string token;                         // "": none, on the loopback interface only
  std::size_t streams = 64;                  // open at a time; more are refused with status 503
  std::size_t requests = 16;                 // of other kinds at a time; more wait
  std::chrono::milliseconds patience{2000};  // for a reader to take one event
  // From the first byte to the last of what is no stream, also over a slow tunnel.
  std::chrono::milliseconds longest_request{60'000};
};

class LiveServer {
 public:
  // InvalidArgument: beyond loopback without a token. Io: it cannot listen there.
  static Result<std::unique_ptr<LiveServer>> start(LiveServerOptions options);
  ~LiveServer();
  LiveServer(const LiveServer&) = delete;
  LiveServer& operator=(const LiveServer&) = delete;

  // From any thread; waits for no reader. One line, as JSON is.
  void publish(std::string event);
  // In Prometheus' text format 0.0.4. From any thread.
  void publish_metrics(std::string text);
  std::size_t streams() const;  // open now
  std::string url() const;      // http://127.0.0.1:40213/

 private:
  struct Server;
  LiveServer() = default;
  std::unique_ptr<Server> server_;
};

}  // namespace fettle::web
