// Database: the record database of a user or a team, a file or on a server (schema.h). Many
// sessions, safe to read and write from several processes at once; one Database object per thread.
//
// What insert() has returned for survives a kill -9 of the process, and of a server
// (sqlite_file.cpp says why). Every Error names the database and what to do. While a server is
// away, calls wait for it (OpenOptions); what they store is stored once.
#pragma once

#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "host/records/record.h"
#include "host/records/schema.h"
#include "host/records/session.h"
#include "schemas/device_generated.h"

namespace fettle::records {

// Which trials; an empty field lets all through.
struct Filter {
  std::string workload;  // its DAG's text
  std::string target;    // canonical JSON
  std::string device_key;
  std::string board_id;
  std::string session;
  std::int64_t after_id = 0;  // only records with a larger id
  bool measured_only = false;
  std::optional<bool> emulated;            // of the device
  std::optional<wire::ClockDomain> clock;  // trials on this clock, and those without a time
  // Trials that found their weights out of the caches (MeasureOptions.weights_bytes), or not; and
  // those without a time.
  std::optional<bool> cold_weights;
};

// A device as it was seen, with its facts as JSON ("" when not known).
struct DeviceRow {
  std::string device_key, board_id;
  std::uint32_t device_index = 0;
  bool emulated = false;
  std::string board_facts, device_facts;
  std::int64_t id = 0;  // of the database; 0: not stored yet
};

// Ceilings of one device, measured by kernels of ours. Figures by name, with the
// unit in the name: "fma_gflops_core", "fma_gflops_all", "dram_gbytes_per_s", ….
struct Calibration {
  std::string device_key, board_id;
  std::uint32_t device_index = 0;
  int threads = 1;
  std::int64_t unix_ms = 0;
  std::map<std::string, double> figures;
  bool operator==(const Calibration&) const = default;
};

class Database {
 public:
  static Result<Database> open(const std::string& path, const OpenOptions& options = {});
  const std::string& path() const { return connection_->path(); }

  // --- sessions ---
  // Stored as Running, with this process as its owner. Sessions that died without
  // an end are marked Killed by the way.
  Result<void> begin_session(Session session);
  Result<void> end_session(const std::string& session, SessionState how, const std::string& reason,
                           std::int64_t ended_ms);
  Result<std::vector<Session>> sessions() const;  // oldest first
  // For import: the row as given. A session that is there already stays as it is.
  Result<bool> put_session(const Session& session);

  // --- devices ---
  // Trials inserted from now on for this key, board and index refer to these facts.
  Result<void> register_device(const wire::BoardT& board, const wire::DeviceInfoT& device);
  Result<std::int64_t> put_device(const DeviceRow& device);  // the row's id
  Result<std::vector<DeviceRow>> devices() const;

  // --- trials ---
  // Returns the record's id. The same trial again (session, task, device in whichever
  // state, configuration and time) is not stored twice: its id is returned.
  Result<std::int64_t> insert(const TuningRecord& record);
  // All or none; how many of them were new.
  Result<std::size_t> insert(std::span<const TuningRecord> records);
  // For import: measured on that row of put_device; 0: the device's newest. What the record was
  // confirmed to take goes before what is stored.
  struct Imported {
    bool added = false;      // it was new
    bool confirmed = false;  // it was known, and takes another confirmed time now
  };
  Result<Imported> import(const TuningRecord& record, std::int64_t device_row);
  // All or none. Of trials that are not there: nothing happens.
  Result<void> confirm(std::span<const Confirmation> confirmations);
  Result<TuningRecord> get(std::int64_t id) const;  // NotFound
  // In order of id. `visit` returns false to stop early.
  Result<void> for_each(const Filter& filter,
                        const std::function<bool(const TuningRecord&)>& visit) const;

  // --- calibrations ---
  Result<void> put_calibration(const Calibration& calibration);
  // The newest of that device and thread count; NotFound.
  Result<Calibration> calibration(const std::string& device_key, const std::string& board_id,
                                  std::uint32_t device_index, int threads) const;
  Result<std::vector<Calibration>> calibrations() const;

  const Connection& connection() const { return *connection_; }  // for queries.h
  // One transaction around several calls: all or none. An error of `work` undoes it. `work` is done
  // again where a server was lost meanwhile, perhaps behind its commit: it begins from what it
  // began from, and finds what it has stored before.
  Result<void> atomically(const std::function<Result<void>()>& work,
                          Writers writers = Writers::One);

 private:
  explicit Database(std::unique_ptr<Connection> connection) : connection_(std::move(connection)) {}
  // The id of the row with these texts, added if it is not there.
  Result<std::int64_t> row_of(const char* select, const char* add,
                              std::initializer_list<std::string> values);
  // The row of the record's workload, with its title where it had none.
  Result<std::int64_t> workload_row(const TuningRecord& record);
  Result<std::int64_t> device_id(const std::string& key, const std::string& board,
                                 std::uint32_t index);
  struct Inserted {
    std::int64_t id;
    bool added, confirmed;  // as of Imported
  };
  // Which confirmed time stays where a trial is stored again.
  enum class Confirmed { First, Latest };
  // Inside a transaction. device_row 0: the device's current one.
  Result<Inserted> insert_one(const TuningRecord& record, std::int64_t device_row = 0,
                              Confirmed stays = Confirmed::First);
  Result<Inserted> known_again(std::int64_t id, const TuningRecord& record, Confirmed stays);
  Result<void> mark_killed();

  std::unique_ptr<Connection> connection_;
  std::optional<Statement> find_, insert_;             // kept prepared; die before connection_
  std::unordered_map<std::string, std::int64_t> ids_;  // rows seen; emptied by a rollback
  std::map<std::string, DeviceRow> current_devices_;   // by key, board and index
};

// What a Filter lets through, as SQL over the joined tables of a trial: t, s, w, g, d. Parameters 1
// to 10, which bind_filter() binds.
extern const char* const kFilter;  // "t.id > ?1 AND …"
void bind_filter(Statement& statement, const Filter& filter);

// How records are read from a row: the columns of `kTrialColumns`, in that order.
extern const char* const kTrialColumns;  // "SELECT … FROM trials JOIN …"
Result<TuningRecord> read_trial(const Statement& row);
// Ids of all rows of the device whose row is ?1, this one included.
extern const char* const kStatesOfDevice;

}  // namespace fettle::records
