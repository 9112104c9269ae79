// Tables and indexes of the record database (tables.h).
//
// Texts that repeat (workload, target, device facts) are stored once. trials.outcome is
// the whole outcome as JSON (outcome_json.h), the truth; the columns before it are
// copies of what queries filter by.
#include "host/records/tables.h"

#include <array>

namespace fettle::records {
namespace {

constexpr Column kWorkloads[] = {
    {"id", "{id}"},
    {"canonical", "{text} NOT NULL"},         // the compute DAG, JSON
    {"hash", "{text} NOT NULL"},              //
    {"title", "{text} NOT NULL DEFAULT ''"},  // for people
    {"source", "{text} NOT NULL DEFAULT ''"}  // the operator that wrote the DAG, JSON
};
constexpr Key kWorkload[] = {{"canonical", true}, {"hash"}};

constexpr Column kTargets[] = {{"id", "{id}"}, {"canonical", "{text} NOT NULL"}};
constexpr Key kTarget[] = {{"canonical", true}};

// One row per state a device was seen in: a new kernel or driver is a new row.
constexpr Column kDevices[] = {
    {"id", "{id}"},
    {"device_key", "{text} NOT NULL"},
    {"board_id", "{text} NOT NULL"},
    {"device_index", "{integer} NOT NULL"},
    {"emulated", "{integer} NOT NULL DEFAULT 0"},
    {"board_facts", "{text} NOT NULL DEFAULT ''"},  // JSON; '' when not known
    {"device_facts", "{text} NOT NULL DEFAULT ''"}};
constexpr Key kDevice[] = {
    {"device_key"}, {"board_id"}, {"device_index"}, {"board_facts", true}, {"device_facts", true}};

constexpr Column kSessions[] = {
    {"id", "{id}"},
    {"session", "{text} NOT NULL UNIQUE"},           // hex
    {"name", "{text} NOT NULL DEFAULT ''"},          // for people: the network or file
    {"device_key", "{text} NOT NULL DEFAULT ''"},    //
    {"options", "{text} NOT NULL DEFAULT '{}'"},     // JSON
    {"seed", "{text} NOT NULL DEFAULT '0'"},         // 64 bits, decimal
    {"software", "{text} NOT NULL DEFAULT ''"},      //
    {"host", "{text} NOT NULL DEFAULT ''"},          // where it ran, for `state` while it runs
    {"process", "{text} NOT NULL DEFAULT ''"},       //
    {"started_ms", "{integer} NOT NULL DEFAULT 0"},  //
    {"ended_ms", "{integer}"},
    {"state",
     "{text} NOT NULL CHECK (state IN ('running', 'finished', 'interrupted', 'failed', 'killed', "
     "'unknown'))"},
    {"reason", "{text} NOT NULL DEFAULT ''"}  // why it was interrupted or failed
};

constexpr Column kTrials[] = {
    {"id", "{id}"},
    {"session_id", "{integer} NOT NULL REFERENCES sessions"},
    {"workload_id", "{integer} NOT NULL REFERENCES workloads"},
    {"target_id", "{integer} NOT NULL REFERENCES targets"},
    {"device_id", "{integer} NOT NULL REFERENCES devices"},
    {"configuration", "{text} NOT NULL"},
    {"program_hash", "{text} NOT NULL"},  // '' when it was not built
    {"unix_ms", "{integer} NOT NULL"},
    {"operations", "{real} NOT NULL"},
    {"peak_gflops", "{real} NOT NULL"},
    {"build_ns", "{integer} NOT NULL"},
    {"reused",
     "{integer} NOT NULL"},     // 1: the outcome of an identical artifact, not measured again
    {"nanoseconds", "{real}"},  // median per run; NULL: failed, censored, or clock is not time
    {"censored", "{integer} NOT NULL DEFAULT 0"},
    {"clock", "{text}"},  // NULL: failed
    {"stage", "{text}"},  // NULL: measured
    {"code", "{text}"},
    {"message", "{text}"},
    {"outcome", "{text} NOT NULL"},
    {"confirmed_ns", "{real}"}};  // of finals (host/tune/finals.h); NULL: in none
constexpr Key kTrial[] = {{"session_id"}, {"workload_id"},         {"target_id"},
                          {"device_id"},  {"configuration", true}, {"unix_ms"}};

constexpr Column kCalibrations[] = {
    {"id", "{id}"},
    {"device_id", "{integer} NOT NULL REFERENCES devices"},
    {"threads", "{integer} NOT NULL"},
    {"unix_ms", "{integer} NOT NULL"},
    {"figures", "{text} NOT NULL"}  // JSON object of numbers
};
constexpr Key kCalibration[] = {{"device_id"}, {"threads"}, {"unix_ms"}};

constexpr TableForm kTables[] = {
    {"workloads", kWorkloads, kWorkload}, {"targets", kTargets, kTarget},
    {"devices", kDevices, kDevice},       {"sessions", kSessions, {}},
    {"trials", kTrials, kTrial},          {"calibrations", kCalibrations, kCalibration}};

constexpr std::string_view kIndexes =
    "CREATE INDEX trials_by_task ON trials (workload_id, target_id, nanoseconds);\n"
    "CREATE INDEX trials_by_program ON trials (program_hash) WHERE program_hash <> '';\n";

}  // namespace

std::string create_tables(Dialect dialect) {
  std::string sql;
  for (const TableForm& table : kTables) sql += create_table(table, dialect);
  return sql.append(kIndexes);
}

std::span<const std::string_view> table_names() {
  static const auto names = [] {
    std::array<std::string_view, std::size(kTables)> all;
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = kTables[i].name;
    return all;
  }();
  return names;
}

}  // namespace fettle::records
