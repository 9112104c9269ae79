// By cpp-httplib (broker_monitor.h).
#include "host/app/broker_monitor.h"

#include <fmt/format.h>
#include <httplib.h>

#include <cctype>
#include <optional>
#include <thread>

#include "host/fleet/broker_status.h"
#include "host/web/connection_watch.h"
#include "host/web/http_gate.h"
#include "host/web/request_threads.h"
#include "schemas/wire/bounded_read.h"

namespace fettle::app {
namespace {

constexpr int kThreads = 16;

constexpr std::chrono::seconds kLongestRequest{5};

// False: some other site's page was led here, whose name now is this machine's address (DNS
// rebinding). Whatever the port: it may be another one's end of a tunnel.
bool names_this_machine(std::string host) {
  if (const std::size_t end = host.rfind(':'); end != host.npos && host.back() != ']') {
    host.resize(end);
  }
  for (char& c : host) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  return host.empty() || web::WebAddress{host, 0}.loopback();
}

}  // namespace

Result<void> may_listen(const web::WebAddress& address, const std::string& token) {
  if (!token.empty() || address.loopback()) return {};
  return Error{ErrorCode::InvalidArgument,
               fmt::format("--metrics: other machines reach {}, so --metrics-token-file is needed",
                           web::text_of(address)),
               {}};
}

struct BrokerMonitor::Server {
  httplib::Server http;
  std::thread thread;
  int port = 0, listener = -1;
  std::optional<web::ConnectionWatch> watch;
};

Result<std::unique_ptr<BrokerMonitor>> BrokerMonitor::start(const web::WebAddress& address,
                                                            const std::string& token,
                                                            const fleet::Broker& broker) {
  if (auto may = may_listen(address, token); !may) return std::move(may).error();
  std::unique_ptr<BrokerMonitor> out(new BrokerMonitor);
  out->server_ = std::make_unique<Server>();
  Server& server = *out->server_;
  server.http.new_task_queue = [] { return new web::RequestThreads(kThreads); };
  server.http.set_read_timeout(2);
  server.http.set_write_timeout(2);
  server.http.set_keep_alive_max_count(1);
  server.http.set_payload_max_length(1024);
  // Not httplib's default, which lets another program listen at the same port.
  server.http.set_socket_options([&server](auto socket) {
    server.listener = socket;
    const int yes = 1;
    setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  });
  server.http.set_pre_routing_handler(
      [here = address.loopback(), access = web::Access(address, token)](
          const httplib::Request& asked, httplib::Response& answer) {
        if (web::asks_for_ranges(asked)) return web::refused(answer, 416);
        const web::Asked by = web::asked_by(asked);
        const bool known = !here || names_this_machine(by.host);
        return web::refused(answer, known ? access.may_see(by) : 421);
      });
  server.http.Get("/metrics", [&broker](const httplib::Request&, httplib::Response& answer) {
    answer.set_content(fleet::to_prometheus(broker.status()), "text/plain; version=0.0.4");
  });
  server.http.Get("/status", [&broker](const httplib::Request&, httplib::Response& answer) {
    answer.set_content(fleet::to_json(broker.status()) + "\n", "application/json");
  });
  const bool bound = address.port != 0
                         ? server.http.bind_to_port(address.host.c_str(), address.port)
                         : (server.port = server.http.bind_to_any_port(address.host.c_str())) > 0;
  if (!bound) {
    return Error{ErrorCode::Io, "--metrics: cannot listen at " + web::text_of(address), {}};
  }
  if (address.port != 0) server.port = address.port;
  server.watch.emplace(server.listener, kLongestRequest);
  server.thread = std::thread([&server] { server.http.listen_after_bind(); });
  return out;
}

BrokerMonitor::~BrokerMonitor() {
  if (!server_ || !server_->thread.joinable()) return;
  // stop() before the loop has begun is forgotten.
  for (int i = 0; i < 200 && !server_->http.is_running(); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  server_->http.stop();
  // It waits for requests that were begun.
  server_->watch->end_all();
  server_->thread.join();
}

int BrokerMonitor::port() const { return server_->port; }

Result<std::string> ask_monitor(const web::WebAddress& address, const std::string& token,
                                const std::string& path) {
  httplib::Client client(address.host, address.port);
  client.set_connection_timeout(2);
  client.set_read_timeout(5);
  if (!token.empty()) client.set_bearer_token_auth(token);
  std::string body;
  const auto answer = client.Get(path, [&body](const char* data, std::size_t bytes) {
    body.append(data, bytes);
    return body.size() <= kMostTextBytes;
  });
  if (body.size() > kMostTextBytes) {
    return Error{ErrorCode::Malformed,
                 web::text_of(address) + " answers with more than a broker has to say",
                 {}};
  }
  if (answer && answer->status == 401) {
    return Error{
        ErrorCode::Unauthorized,
        "the broker at " + web::text_of(address) + " wants another token (--metrics-token-file)",
        {}};
  }
  if (!answer || answer->status != 200) {
    return Error{ErrorCode::Unreachable,
                 fmt::format("no broker answers at {}: start it with --metrics {}",
                             web::text_of(address), address.port),
                 {}};
  }
  return body;
}

}  // namespace fettle::app
