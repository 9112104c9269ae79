// The questions as SQL.
#include "host/records/queries.h"

#include <map>
#include <tuple>

namespace fettle::records {
namespace {

const std::string kFrom =
    std::string(
        " FROM trials t JOIN sessions s ON s.id = t.session_id JOIN workloads w ON w.id = "
        "t.workload_id JOIN targets g ON g.id = t.target_id JOIN devices d ON d.id = t.device_id "
        "WHERE ") +
    kFilter + " ";

Result<Statement> filtered(const Database& database, const std::string& sql, const Filter& filter) {
  Result<Statement> statement = database.connection().prepare(sql);
  if (statement) bind_filter(*statement, filter);
  return statement;
}

// Calls `visit` for each row.
template <typename Visit>
Result<void> each_row(Result<Statement>& statement, const Visit& visit) {
  if (!statement) return std::move(statement).error();
  for (;;) {
    Result<bool> row = statement->step();
    if (!row) return std::move(row).error();
    if (!*row) return {};
    if (Result<void> visited = visit(*statement); !visited) return visited;
  }
}

}  // namespace

namespace {

// `score` is NULL for what may not be called a result; the smallest wins.
Result<std::vector<TuningRecord>> least(const Database& database, const Filter& filter, int k,
                                        const std::string& score) {
  // Inner: a configuration's first trial stands for it, the newest one that was confirmed or else
  // the best. Outer: the k first of each task.
  const std::string sql =
      "WITH tried AS (SELECT t.id AS id, t.workload_id AS w, t.target_id AS g, d.device_key AS k, "
      "d.emulated AS emulated, " +
      score +
      " AS score, row_number() OVER (PARTITION BY t.workload_id, t.target_id, d.device_key, "
      "d.emulated, t.configuration ORDER BY CASE WHEN t.confirmed_ns IS NULL THEN 0 ELSE -t.id "
      "END, " +
      score + ", t.id) AS turn" + kFrom + "AND " + score +
      " IS NOT NULL), ranked AS (SELECT id, w, g, k, row_number() OVER (PARTITION BY w, g, k ORDER "
      "BY emulated, score, id) AS place FROM tried WHERE turn = 1), seen AS (SELECT f.workload_id "
      "AS w, f.target_id AS g, e.device_key AS k, min(f.id) AS first FROM trials f JOIN devices e "
      "ON e.id = f.device_id GROUP BY f.workload_id, f.target_id, e.device_key) " +
      kTrialColumns +
      "JOIN ranked r ON r.id = t.id JOIN seen ON seen.w = r.w AND seen.g = r.g AND seen.k = r.k "
      "WHERE r.place <= ?11 ORDER BY seen.first, r.place";
  Result<Statement> rows = filtered(database, sql, filter);
  if (rows) rows->bind(11, std::int64_t{k});
  std::vector<TuningRecord> records;
  Result<void> read = each_row(rows, [&](const Statement& row) -> Result<void> {
    Result<TuningRecord> record = read_trial(row);
    if (!record) return std::move(record).error();
    records.push_back(std::move(*record));
    return {};
  });
  if (!read) return std::move(read).error();
  return records;
}

}  // namespace

Result<std::vector<TuningRecord>> best(const Database& database, const Filter& filter, int k) {
  // A confirmed time of what failed or was stopped early is nobody's time.
  return least(database, filter, k,
               "CASE WHEN t.nanoseconds IS NOT NULL THEN coalesce(t.confirmed_ns, t.nanoseconds) "
               "END");
}

Result<std::vector<TuningRecord>> fewest_instructions(const Database& database,
                                                      const Filter& filter, int k) {
  // JSON writes "nan" and "inf" as texts. SQLite reads them as 0; for PostgreSQL they are numbers,
  // NaN the largest.
  const std::string median =
      "CAST(json_extract(t.outcome, '$.measurement.median') AS DOUBLE PRECISION)";
  return least(database, filter, k,
               "CASE WHEN t.clock = 'Instructions' AND t.censored = 0 THEN CASE WHEN " + median +
                   " > 0 AND " + median + " < 1e300 THEN " + median + " END END");
}

Result<Counts> count(const Database& database, const Filter& filter) {
  Counts counts;
  Result<Statement> rows = filtered(
      database,
      "SELECT c.stage, c.code, c.n, c.censored, l.message FROM (SELECT t.stage AS stage, t.code AS "
      "code, count(*) AS n, sum(t.censored) AS censored, max(t.id) AS latest" +
          kFrom +
          "GROUP BY t.stage, t.code) c JOIN trials l ON l.id = c.latest "
          "ORDER BY c.n DESC, c.stage NULLS FIRST, c.code",
      filter);
  Result<void> read = each_row(rows, [&](const Statement& row) -> Result<void> {
    const std::int64_t n = row.integer(2);
    counts.trials += n;
    if (row.is_null(0)) {
      counts.measured += n;
      counts.censored += row.integer(3);
    } else {
      counts.failed += n;
      counts.causes.push_back({row.text(0), row.text(1), n, row.text(4)});
    }
    return {};
  });
  if (!read) return std::move(read).error();
  return counts;
}

Result<std::vector<TaskSummary>> summaries(const Database& database, const Filter& filter) {
  std::vector<TaskSummary> tasks;
  Result<Statement> rows = filtered(
      database,
      "SELECT w.canonical, w.hash, g.canonical, d.device_key, max(t.operations), count(*), "
      "count(*) - count(t.stage), w.title, w.source" +
          kFrom + "GROUP BY w.id, g.id, d.device_key ORDER BY min(t.id)",
      filter);
  Result<void> read = each_row(rows, [&](const Statement& row) -> Result<void> {
    TaskSummary task;
    task.workload = row.text(0);
    task.workload_hash = row.text(1);
    task.target = row.text(2);
    task.device_key = row.text(3);
    task.operations = row.real(4);
    task.trials = row.integer(5);
    task.measured = row.integer(6);
    task.title = row.text(7);
    task.source = row.text(8);
    task.failed = task.trials - task.measured;
    tasks.push_back(std::move(task));
    return {};
  });
  if (!read) return std::move(read).error();
  Result<std::vector<TuningRecord>> fastest = best(database, filter);
  if (!fastest) return std::move(fastest).error();
  std::map<std::tuple<std::string, std::string, std::string>, const TuningRecord*> by_task;
  for (const TuningRecord& record : *fastest) {
    by_task[{record.workload, record.target, record.device_key}] = &record;
  }
  for (TaskSummary& task : tasks) {
    const auto at = by_task.find({task.workload, task.target, task.device_key});
    if (at == by_task.end()) continue;
    task.best_nanoseconds = at->second->rated_nanoseconds();
    task.peak_gflops = at->second->peak_gflops;
    task.best_id = at->second->id;
    task.best_emulated = at->second->emulated;
  }
  return tasks;
}

Result<std::vector<std::string>> measured_configurations(const Database& database,
                                                         const std::string& workload,
                                                         const std::string& target,
                                                         const std::string& device_key) {
  std::vector<std::string> configurations;
  Filter filter;
  filter.workload = workload;
  filter.target = target;
  filter.device_key = device_key;
  Result<Statement> rows = filtered(
      database,
      "SELECT t.configuration" + kFrom +
          "AND (t.code IS NULL OR (t.stage NOT IN ('Dispatch', 'Upload') AND t.code NOT IN "
          "('Canceled', 'Unreachable', 'WorkerLost', 'DeviceLost', 'MissingBlob', 'Disturbed'))) "
          "GROUP BY t.configuration ORDER BY min(t.id)",
      filter);
  Result<void> read = each_row(rows, [&](const Statement& row) -> Result<void> {
    configurations.push_back(row.text(0));
    return {};
  });
  if (!read) return std::move(read).error();
  return configurations;
}

Result<std::optional<TuningRecord>> find_program(const Database& database,
                                                 const std::string& program_hash,
                                                 const std::string& workload,
                                                 const std::string& device_key) {
  std::optional<TuningRecord> found;
  Result<Statement> rows =
      database.connection().prepare(std::string(kTrialColumns) +
                                    "WHERE t.program_hash = ?1 AND t.program_hash <> '' AND "
                                    "t.stage IS NULL AND w.canonical = ?2 AND "
                                    "d.device_key = ?3 ORDER BY t.reused, t.id DESC LIMIT 1");
  if (rows) rows->bind(1, program_hash).bind(2, workload).bind(3, device_key);
  Result<void> read = each_row(rows, [&](const Statement& row) -> Result<void> {
    Result<TuningRecord> record = read_trial(row);
    if (!record) return std::move(record).error();
    found = std::move(*record);
    return {};
  });
  if (!read) return std::move(read).error();
  return found;
}

Result<std::vector<TuningRecord>> history(const Database& database, const Filter& filter) {
  std::vector<TuningRecord> records;
  Result<void> read = database.for_each(filter, [&](const TuningRecord& record) {
    records.push_back(record);
    return true;
  });
  if (!read) return std::move(read).error();
  return records;
}

}  // namespace fettle::records
