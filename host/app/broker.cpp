// fettle broker: pairs clients with boards until it is stopped.
#include <poll.h>
#include <sys/resource.h>
#include <algorithm>
#include <csignal>
#include <iterator>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <optional>

#include "host/app/broker_monitor.h"
#include "host/app/commands.h"
#include "host/app/interrupt.h"
#include "host/app/json_view.h"
#include "host/app/live_page.h"
#include "host/app/message.h"
#include "host/fleet/audit_log.h"
#include "host/fleet/broker.h"
#include "host/fleet/line_writer.h"
#include "host/records/json_fields.h"
#include "host/web/access.h"
#include "host/web/fleet_page.h"
#include "schemas/wire/printable.h"

namespace fettle::app {
namespace {

constexpr const char* kMetricsPort = "9191";  // of --status, where none is named

struct BrokerCommand {
  std::string listen;
  std::vector<std::string> power_cycle;
  std::optional<std::string> state;
  int power_cycle_after_s = 120;
  std::string metrics, metrics_token_file, audit;
  bool leave_out_drifting = false;
  WebCommand web;
  bool json = false, status = false;
};

// "": none is asked for.
Result<std::string> metrics_token(const BrokerCommand& command) {
  if (command.metrics_token_file.empty()) return std::string();
  auto token = web::read_token(command.metrics_token_file);
  return token ? token : std::move(token).error().in("reading --metrics-token-file");
}

// Whoever answers there may be no broker: what has another type counts as absent.
std::vector<nlohmann::json> objects(const nlohmann::json& from, const char* name) {
  std::vector<nlohmann::json> out;
  const auto list = from.find(name);
  if (list == from.end() || !list->is_array()) return out;
  std::copy_if(list->begin(), list->end(), std::back_inserter(out),
               [](const nlohmann::json& entry) { return entry.is_object(); });
  return out;
}
std::string text_in(const nlohmann::json& from, const char* name) {
  const auto found = from.find(name);
  return found != from.end() && found->is_string() ? found->get<std::string>() : "";
}
std::string number_in(const nlohmann::json& from, const char* name) {
  const auto found = from.find(name);
  return found != from.end() && found->is_number_integer() ? found->dump() : "0";
}

// What a broker that runs says of itself.
int print_status(const BrokerCommand& command) {
  const auto address = web::web_address(command.metrics.empty() ? kMetricsPort : command.metrics);
  if (!address) return fail(address.error());
  const auto token = metrics_token(command);
  if (!token) return fail(token.error());
  const auto text = ask_monitor(*address, *token, "/status");
  if (!text) return fail(text.error());
  if (command.json) {
    print("{}", *text);
    return kFine;
  }
  const auto said = records::parse_json(*text);
  if (!said || !said->is_object()) {
    return fail({ErrorCode::Malformed, "that is no fettle broker", {}});
  }
  for (const auto& [name, value] : said->items()) {
    if (name != "clients" && name != "sessions")
      print("{:22} {}\n", name,
            value.is_string() ? value.get<std::string>() : records::dump_json(value));
  }
  for (const auto& client : objects(*said, "clients")) {
    print(
        "client {}: {} connections, {} sessions, {} trials, {} bytes of requests, {} of outcomes, "
        "{} of blobs\n",
        text_in(client, "name"), number_in(client, "connections"), number_in(client, "sessions"),
        number_in(client, "trials"), number_in(client, "request_bytes"),
        number_in(client, "completed_bytes"), number_in(client, "blob_bytes"));
  }
  for (const auto& session : objects(*said, "sessions")) {
    print("session '{}' of {} on {}: priority {}, weight {}, {} trials on boards, {} wait\n",
          text_in(session, "name"), text_in(session, "client"), text_in(session, "key"),
          number_in(session, "priority"), number_in(session, "weight"),
          number_in(session, "running"), number_in(session, "waiting"));
  }
  return kFine;
}

volatile std::sig_atomic_t reopen_wanted = 0;

int run(const BrokerCommand& command) {
  if (command.status) return print_status(command);
  if (command.listen.empty()) throw CLI::RequiredError("--listen");
  auto home = fleet::fettle_home();
  if (!home) return fail(home.error());
  const fleet::KeyFolder folder(*home);
  auto keys = folder.load_or_create("broker");
  if (!keys) return fail(keys.error());
  // Each peer is a descriptor.
  rlimit files{};
  if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
  }
  const auto monitored = web::web_address(command.metrics);
  if (!monitored) return fail(monitored.error());
  const auto token = metrics_token(command);
  if (!token) return fail(token.error());
  if (auto may = may_listen(*monitored, *token); !may) return fail(may.error());
  Interrupt interrupt;
  fleet::BrokerOptions options;
  options.listen = command.listen;
  options.keys = *keys;
  options.allow_file = folder.allow_file();
  options.state_folder = command.state ? *command.state : (*home / "broker").string();
  for (const std::string& text : command.power_cycle) {
    if (auto added = fleet::add_power_cycle(options.power_cycle, text); !added) {
      throw CLI::ValidationError(added.error().text());
    }
  }
  options.power_cycle.patience = std::chrono::seconds(command.power_cycle_after_s);
  options.leave_out_drifting = command.leave_out_drifting;
  // Whoever reads standard error may be slow, or gone: the fleet does not wait for it.
  fleet::LineWriter said(STDERR_FILENO, [](std::uint64_t lost) {
    return fmt::format("fettle: {} lines before this one could not be written\n", lost);
  });
  const auto say = [&said](const std::string& line) {
    said.write("fettle: " + printable(line) + "\n");
  };
  options.log = say;
  std::unique_ptr<fleet::AuditLog> audit;
  if (!command.audit.empty()) {
    auto opened = fleet::AuditLog::open(command.audit);
    if (!opened) return fail(std::move(opened).error().in("opening the audit log"));
    audit = std::move(*opened);
    options.audit = [&log = *audit](const fleet::BrokerEvent& event) { log.write(event); };
    std::signal(SIGHUP, [](int) { reopen_wanted = 1; });
  }
  auto page = start_page(command.web);
  if (!page) return fail(page.error());
  std::optional<web::FleetPage> watcher;
  if (*page) options.watcher = &watcher.emplace(**page);
  auto broker = fleet::Broker::start(std::move(options));
  if (!broker) return fail(broker.error());
  std::unique_ptr<BrokerMonitor> monitor;
  if (!command.metrics.empty()) {
    auto started = BrokerMonitor::start(*monitored, *token, **broker);
    if (!started) return fail(started.error());
    monitor = std::move(*started);
  }
  if (command.json) {
    print_json_line({{"event", "listening"},
                     {"endpoint", (*broker)->endpoint()},
                     {"public_key", (*broker)->public_key()},
                     {"metrics_port", monitor ? monitor->port() : 0},
                     {"web", *page ? (*page)->url() : ""}});
  } else {
    print("listening on {}\nbroker's public key {}\n", (*broker)->endpoint(),
          (*broker)->public_key());
    if (*page) print("live page at {}\n", page_text(command.web, **page));
  }
  std::fflush(stdout);
  std::uint64_t lines_lost = 0;
  while (!interrupt.requested()) {
    pollfd stop{interrupt.fd(), POLLIN, 0};
    ::poll(&stop, 1, 1000);
    if (audit && std::exchange(reopen_wanted, 0) != 0) {
      if (auto done = audit->reopen(); !done) say("the audit log: " + done.error().text());
    }
    if (const std::uint64_t lost = audit ? audit->lost() : 0; lost > lines_lost) {
      say(fmt::format("the audit log lost {} lines, which could not be written",
                      lost - std::exchange(lines_lost, lost)));
    }
  }
  monitor.reset();
  (*broker)->stop();
  return kFine;
}

}  // namespace

void add_broker_command(CLI::App& app, int& status) {
  auto* broker = app.add_subcommand("broker", "Pairs clients with boards; both dial in here");
  auto command = std::make_shared<BrokerCommand>();
  broker->add_option("--listen", command->listen, "Where to listen: tcp://ADDRESS:PORT")
      ->check([](const std::string& text) {
        const bool url = text.find("://") != std::string::npos;
        return url ? "" : "takes tcp://ADDRESS:PORT, not \"" + text + "\"";
      });
  broker
      ->add_option("--power-cycle", command->power_cycle,
                   "NAME=COMMAND: what switches that board off and on; called when it stays "
                   "silent, again every two minutes, three times at most (repeatable)")
      ->allow_extra_args(false);
  broker
      ->add_option("--power-cycle-after", command->power_cycle_after_s,
                   "Seconds that a silent board gets to come back by itself, as after a reboot")
      ->check(CLI::Range(0, 86'400))
      ->capture_default_str();
  broker->add_flag("--leave-out-drifting", command->leave_out_drifting,
                   "A board whose calibrations and checks are 25 % off the median of three or more "
                   "siblings, three times in a row, gets only trials that name it, until one is "
                   "not. Without it such a board is named only. Never for emulated time");
  broker->add_option("--state", command->state,
                     "Where it keeps what must survive its end: results that no client has "
                     "fetched, trials on boards, blobs (default $FETTLE_HOME/broker; '': nowhere)");
  broker->add_option("--audit", command->audit,
                     "Who did what, as JSON lines, appended to this file, or - for standard error; "
                     "SIGHUP opens the file again");
  broker->add_option("--metrics", command->metrics,
                     "PORT on this machine, or ADDRESS:PORT: the broker in numbers over HTTP, "
                     "/metrics for Prometheus, /status as JSON; an address that other machines "
                     "reach needs --metrics-token-file");
  broker
      ->add_option("--metrics-token-file", command->metrics_token_file,
                   "Whoever asks for the numbers must know the token in this file, as ?token=… or "
                   "as a bearer token; --status uses it to ask")
      ->type_name("FILE");
  add_web_options(*broker, command->web, "the fleet");
  broker->add_flag("--status", command->status,
                   fmt::format("Prints the numbers of a broker that runs with --metrics (default "
                               "{}), and ends",
                               kMetricsPort));
  broker->add_flag("--json", command->json,
                   "Prints a JSON line once it listens; the numbers as JSON");
  broker->footer(
      "Keys: $FETTLE_HOME/broker.key is made at the first start. Let clients and agents "
      "in with `fettle keys allow`.");
  broker->callback([command, &status] { status = run(*command); });
}

}  // namespace fettle::app
