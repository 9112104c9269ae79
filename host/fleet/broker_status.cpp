// One table of numbers for both forms (broker_status.h).
#include "host/fleet/broker_status.h"

#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>

namespace fettle::fleet {
namespace {

struct Number {
  const char* name;
  const char* help;
  bool counts;  // up, for ever; else it is a state
  std::uint64_t value;
};

std::vector<Number> numbers_of(const BrokerStatus& s) {
  const BrokerStatus::Counters& c = s.counters;
  return {
      {"up_seconds", "Seconds since the start", false, s.up_seconds},
      {"connections", "Connections that have proven a key", false, s.connections},
      {"unproven_connections", "Connections that have not yet", false, s.unproven},
      {"cut_off", "Connections cut off, too many at once", true, s.cut_off},
      {"unknown_keys", "Calls with a key that is not allowed", true, s.unknown_keys},
      {"agents", "Boards", false, s.agents},
      {"builders", "Compilers of build workers", false, s.builders},
      {"leases", "Trials on boards, and candidates with builders", false, s.leases},
      {"waiting", "Trials that wait for a board, and candidates for a builder", false, s.waiting},
      {"reserved", "Boards that are one client's alone", false, s.reserved},
      {"drifting", "Devices whose times are not their siblings'", false, s.drifting},
      {"blob_bytes", "Bytes of uploaded data", false, s.blob_bytes},
      {"submitted", "Trials from clients", true, c.submitted},
      {"completed", "Trials answered", true, c.completed},
      {"requeued", "Trials given to another board", true, c.requeued},
      {"device_lost", "Trials lost with their boards", true, c.device_lost},
      {"overdue", "Trials taken from a board past their deadline", true, c.overdue},
      {"stale_results", "Answers for no trial of theirs", true, c.stale_results},
      {"known_builds", "Candidates that a builder had built before", true, c.known_builds},
      {"malformed", "Messages that cannot be read", true, c.malformed},
      {"unauthorized", "Messages that the key may not send", true, c.unauthorized},
      {"rejected", "Messages answered by a refusal", true, c.rejected},
      {"quota_hits", "Requests over a bound of their key", true, c.quota_hits}};
}

struct QueueNumber {
  const char* name;
  const char* help;
  std::uint32_t (*of)(const BuildQueue&);
};

constexpr QueueNumber kQueueNumbers[] = {
    {"wanted", "Compilers that would keep no candidate waiting",
     [](const BuildQueue& q) { return q.wanted(); }},
    {"waiting", "Candidates that no builder works on yet",
     [](const BuildQueue& q) { return q.waiting(); }},
    {"builders", "Compilers of build workers", [](const BuildQueue& q) { return q.builders; }},
    {"busy", "Compilers that have a candidate", [](const BuildQueue& q) { return q.busy; }},
    {"sessions", "Sessions that build workers may build for",
     [](const BuildQueue& q) { return q.sessions; }}};

constexpr std::size_t kMostVersions = 64;  // told of; clients may name any

// A client may call a version what it likes. Those of a fettle can stand between quotes.
bool is_plain(const std::string& version) {
  return !version.empty() && version.size() <= 64 &&
         std::all_of(version.begin(), version.end(), [](unsigned char c) {
           return std::isalnum(c) || c == '.' || c == '-' || c == '_' || c == '+' || c == '~';
         });
}

// Those with builders first: nobody can crowd them out who has none.
std::vector<const BuildQueue*> told_of(const BrokerStatus& status) {
  std::vector<const BuildQueue*> told;
  for (const bool has_builders : {true, false}) {
    for (const BuildQueue& queue : status.builds) {
      if ((queue.builders > 0) == has_builders && is_plain(queue.version) &&
          told.size() < kMostVersions)
        told.push_back(&queue);
    }
  }
  return told;
}

// HELP and TYPE of a gauge, and its name.
std::string gauge(std::string& text, const std::string& of, const char* help) {
  std::string name = "fettle_broker_" + of;
  text += "# HELP " + name + " " + help + "\n# TYPE " + name + " gauge\n";
  return name;
}

}  // namespace

BrokerStatus status_of(const BrokerCore& core, TimePoint now) {
  BrokerStatus out;
  const BrokerCounters& c = core.counters();
  out.counters = {c.submitted,     c.completed, c.requeued,     c.device_lost,
                  c.stale_results, c.malformed, c.unauthorized, c.rejected,
                  c.quota_hits,    c.overdue,   c.known_builds};
  out.leases = core.leases();
  out.blob_bytes = core.blob_bytes();
  out.clients = core.usage();
  out.agents = core.agents();
  out.builders = core.builders();
  out.waiting = core.waiting();
  out.reserved = core.reserved_boards();
  out.drifting = core.drifting_devices();
  out.sessions = core.session_statuses();
  out.builds = core.build_queues();
  out.boards = core.board_states(now);
  return out;
}

std::string to_json(const BrokerStatus& status) {
  nlohmann::json out = {{"endpoint", status.endpoint}};
  for (const Number& number : numbers_of(status)) out[number.name] = number.value;
  out["clients"] = nlohmann::json::array();
  for (std::size_t i = 0; i < status.boards.size(); ++i)
    out["devices"][kDeviceStates[i]] = status.boards[i];
  out["builds"] = nlohmann::json::array();
  for (const BuildQueue& queue : status.builds) {
    nlohmann::json& told = out["builds"].emplace_back(nlohmann::json{{"version", queue.version}});
    for (const QueueNumber& number : kQueueNumbers) told[number.name] = number.of(queue);
  }
  for (const ClientUsage& client : status.clients) {
    out["clients"].push_back({{"name", client.name},
                              {"public_key", client.public_key},
                              {"connections", client.connections},
                              {"sessions", client.sessions},
                              {"trials", client.trials},
                              {"request_bytes", client.request_bytes},
                              {"completed_bytes", client.completed_bytes},
                              {"blob_bytes", client.blob_bytes}});
  }
  out["sessions"] = nlohmann::json::array();
  for (const wire::SessionStatusT& session : status.sessions) {
    out["sessions"].push_back({{"name", session.name},
                               {"client", session.client},
                               {"key", session.device_key},
                               {"priority", session.priority},
                               {"weight", std::int64_t{session.priority} + session.passed_over},
                               {"running", session.running},
                               {"waiting", session.waiting}});
  }
  return out.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
}

std::string to_prometheus(const BrokerStatus& status) {
  std::string text;
  for (const Number& number : numbers_of(status)) {
    const std::string name =
        std::string("fettle_broker_") + number.name + (number.counts ? "_total" : "");
    text += "# HELP " + name + " " + number.help + "\n# TYPE " + name +
            (number.counts ? " counter\n" : " gauge\n") + name + " " +
            std::to_string(number.value) + "\n";
  }
  const std::string devices = gauge(text, "devices", "Devices of boards, by what they do");
  for (std::size_t i = 0; i < status.boards.size(); ++i) {
    text +=
        devices + "{state=\"" + kDeviceStates[i] + "\"} " + std::to_string(status.boards[i]) + "\n";
  }
  const auto queues = told_of(status);
  for (const QueueNumber& number : kQueueNumbers) {
    const std::string name = gauge(text, std::string("builds_") + number.name, number.help);
    for (const BuildQueue* queue : queues) {
      text +=
          name + "{version=\"" + queue->version + "\"} " + std::to_string(number.of(*queue)) + "\n";
    }
  }
  return text;
}

}  // namespace fettle::fleet
