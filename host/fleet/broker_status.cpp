// One table of numbers for both forms (broker_status.h).
#include "host/fleet/broker_status.h"

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
  return {{"up_seconds", "Seconds since the start", false, s.up_seconds},
          {"connections", "Connections that have proven a key", false, s.connections},
          {"unproven_connections", "Connections that have not yet", false, s.unproven},
          {"cut_off", "Connections cut off, too many at once", true, s.cut_off},
          {"agents", "Boards", false, s.agents},
          {"builders", "Compilers of build workers", false, s.builders},
          {"leases", "Trials on boards, and candidates with builders", false, s.leases},
          {"waiting", "Trials that wait for a board", false, s.waiting},
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

}  // namespace

BrokerStatus status_of(const BrokerCore& core) {
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
  return out;
}

std::string to_json(const BrokerStatus& status) {
  nlohmann::json out = {{"endpoint", status.endpoint}};
  for (const Number& number : numbers_of(status)) out[number.name] = number.value;
  out["clients"] = nlohmann::json::array();
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
  return text;
}

}  // namespace fettle::fleet
