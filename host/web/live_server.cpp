// By cpp-httplib (live_server.h): a thread for each open stream.
#include "host/web/live_server.h"

#include <httplib.h>

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <set>
#include <thread>

#include "host/plot/embedded.h"
#include "host/web/access.h"
#include "host/web/connection_watch.h"
#include "host/web/embedded.h"
#include "host/web/http_gate.h"
#include "host/web/request_threads.h"

namespace fettle::web {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kPiece = 4096;                // written at a time
constexpr int kSendBytes = 64 << 10;                // the system holds back for a slow reader
constexpr std::chrono::milliseconds kSign{10'000};  // of life on a stream without news

constexpr const char* kPolicy =
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

}  // namespace

struct LiveServer::Server {
  explicit Server(LiveServerOptions given)
      : options(std::move(given)), access(options.address, options.token) {}

  LiveServerOptions options;
  Access access;
  httplib::Server http;
  int listener = -1;
  std::thread thread;

  std::mutex mutex;
  std::condition_variable news;
  std::shared_ptr<const std::string> event;  // the newest, as it travels
  std::uint64_t number = 0;                  // of it
  std::string metrics;                       // "": nobody publishes any
  bool stopping = false;
  std::atomic<std::size_t> streams{0};
  std::multiset<PeerName> readers;       // of streams, which stay
  std::optional<ConnectionWatch> watch;  // ends before what it looks at

  std::set<PeerName> those_who_stay() {
    const std::lock_guard hold(mutex);
    return {readers.begin(), readers.end()};
  }

  // False: this reader is done with, or it is too slow.
  bool send(httplib::DataSink& sink, const std::string& text) const {
    const auto late = Clock::now() + options.patience;
    for (std::size_t at = 0; at < text.size(); at += kPiece) {
      if (Clock::now() > late) return false;
      if (!sink.write(text.data() + at, std::min(kPiece, text.size() - at))) return false;
    }
    return Clock::now() <= late;
  }

  // The next event of a stream that has seen those up to `seen`.
  bool next(httplib::DataSink& sink, std::uint64_t& seen) {
    std::shared_ptr<const std::string> text;
    {
      std::unique_lock hold(mutex);
      news.wait_for(hold, kSign, [&] { return stopping || number != seen; });
      if (number != seen) {
        text = event;  // the last one, too
      } else if (stopping) {
        sink.done();
        return true;
      }
      seen = number;
    }
    return send(sink, text ? *text : ":\n\n");
  }

  void open_stream(const httplib::Request& request, httplib::Response& answer) {
    if (streams.fetch_add(1) >= options.streams) {
      --streams;
      answer.status = 503;
      answer.set_header("Retry-After", "10");
      answer.set_content("As many pages are open as may be.\n", "text/plain; charset=utf-8");
      return;
    }
    PeerName reader = request.remote_addr + " " + std::to_string(request.remote_port);
    {
      const std::lock_guard hold(mutex);
      readers.insert(reader);
    }
    // Goes with the answer, however that ends.
    const std::shared_ptr<void> place(nullptr, [this, reader = std::move(reader)](void*) {
      {
        const std::lock_guard hold(mutex);
        readers.extract(reader);
      }
      --streams;
    });
    answer.set_chunked_content_provider(
        "text/event-stream",
        [this, place, seen = std::uint64_t{0}](std::size_t, httplib::DataSink& sink) mutable {
          return next(sink, seen);
        });
  }

  void tell_metrics(httplib::Response& answer) {
    const std::lock_guard hold(mutex);
    if (metrics.empty()) {
      refused(answer, 404);
      return;
    }
    answer.set_content(metrics, "text/plain; version=0.0.4; charset=utf-8");
  }

  void serve(const char* path, const char* type, std::string_view content) {
    http.Get(path, [type, content](const httplib::Request&, httplib::Response& answer) {
      answer.set_content(content.data(), content.size(), type);
    });
  }

  void set_up() {
    const std::size_t threads = options.streams + options.requests;
    http.new_task_queue = [threads] { return new RequestThreads(threads); };
    const auto patience = options.patience;
    http.set_read_timeout(std::chrono::seconds(2));
    http.set_write_timeout(patience);
    http.set_keep_alive_max_count(1);
    http.set_keep_alive_timeout(2);
    http.set_payload_max_length(1024);
    http.set_tcp_nodelay(true);
    http.set_socket_options([this, patience](auto socket) {
      listener = socket;
      // Not its default, which lets another program listen at the same port. What a listener is
      // told holds for the connections that it accepts.
      const int yes = 1, bytes = kSendBytes;
      setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
      setsockopt(socket, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes);
      const timeval late{patience.count() / 1000, patience.count() % 1000 * 1000};
      setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &late, sizeof late);
    });
    http.set_default_headers({{"Content-Security-Policy", kPolicy},
                              {"X-Content-Type-Options", "nosniff"},
                              {"Referrer-Policy", "no-referrer"},
                              {"Cross-Origin-Resource-Policy", "same-origin"},
                              {"Cross-Origin-Opener-Policy", "same-origin"},
                              {"Cache-Control", "no-store"}});
    http.set_pre_routing_handler(
        [this](const httplib::Request& request, httplib::Response& answer) {
          if (asks_for_ranges(request)) return refused(answer, 416);
          const Asked asked = asked_by(request);
          int status = access.may_ask(asked);
          // What the page loads is the same in every copy of this program.
          const bool shows =
              request.path == "/" || request.path == "/events" || request.path == "/metrics";
          if (status == 200 && shows) status = access.may_see(asked);
          return refused(answer, status);
        });
    serve("/", "text/html; charset=utf-8", live_page());
    serve("/live.js", "text/javascript; charset=utf-8", live_script());
    serve("/live.css", "text/css; charset=utf-8", live_style());
    serve("/chart.js", "text/javascript; charset=utf-8", plot::chart_library());
    http.Get("/events", [this](const httplib::Request& request, httplib::Response& answer) {
      open_stream(request, answer);
    });
    http.Get("/metrics",
             [this](const httplib::Request&, httplib::Response& answer) { tell_metrics(answer); });
  }
};

Result<std::unique_ptr<LiveServer>> LiveServer::start(LiveServerOptions options) {
  if (!options.address.loopback() && options.token.empty()) {
    return Error{ErrorCode::InvalidArgument,
                 "other machines reach " + options.address.host +
                     ": whoever looks must know a token (--web-token-file), or listen at "
                     "127.0.0.1, behind a reverse proxy that asks who it is",
                 {}};
  }
  std::unique_ptr<LiveServer> out(new LiveServer);
  WebAddress address = options.address;
  httplib::Server* http = nullptr;
  // The port is known before anybody is let in by it.
  auto server = std::make_unique<Server>(options);
  http = &server->http;
  server->set_up();
  if (address.port == 0) {
    address.port = http->bind_to_any_port(address.host.c_str());
  } else if (!http->bind_to_port(address.host.c_str(), address.port)) {
    address.port = -1;
  }
  if (address.port <= 0) {
    return Error{ErrorCode::Io, "--web: cannot listen at " + text_of(options.address), {}};
  }
  server->options.address = address;
  server->access = Access(address, server->options.token);
  server->watch.emplace(server->listener, options.longest_request,
                        [&stays = *server] { return stays.those_who_stay(); });
  server->thread = std::thread([http] { http->listen_after_bind(); });
  out->server_ = std::move(server);
  return out;
}

LiveServer::~LiveServer() {
  if (!server_ || !server_->thread.joinable()) return;
  {
    const std::lock_guard hold(server_->mutex);
    server_->stopping = true;
  }
  server_->news.notify_all();
  // Readers get the last event and an end; one that does not read is not waited for.
  const auto late = Clock::now() + server_->options.patience;
  while (server_->streams > 0 && Clock::now() < late) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  // stop() before the loop has begun is forgotten.
  for (int i = 0; i < 200 && !server_->http.is_running(); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  server_->http.stop();
  // It waits for requests that were begun, however slowly they come.
  server_->watch->end_all();
  server_->thread.join();
}

void LiveServer::publish(std::string event) {
  auto text = std::make_shared<const std::string>("data: " + std::move(event) + "\n\n");
  {
    const std::lock_guard hold(server_->mutex);
    server_->event = std::move(text);
    ++server_->number;
  }
  server_->news.notify_all();
}

void LiveServer::publish_metrics(std::string text) {
  const std::lock_guard hold(server_->mutex);
  server_->metrics = std::move(text);
}

std::size_t LiveServer::streams() const { return server_->streams; }

std::string LiveServer::url() const { return "http://" + text_of(server_->options.address) + "/"; }

}  // namespace fettle::web
