// Devices in the database, with the facts they had, and their calibrations.
#include "host/records/database.h"
#include "host/records/facts_json.h"

namespace fettle::records {
namespace {

std::string device_name(const std::string& key, const std::string& board, std::uint32_t index) {
  return key + '\n' + board + '\n' + std::to_string(index);
}

constexpr const char* kCalibrationColumns =
    "SELECT d.device_key, d.board_id, d.device_index, c.threads, c.unix_ms, c.figures "
    "FROM calibrations c JOIN devices d ON d.id = c.device_id ";

Result<Calibration> read_calibration(const Statement& row) {
  Calibration c;
  c.device_key = row.text(0);
  c.board_id = row.text(1);
  c.device_index = static_cast<std::uint32_t>(row.integer(2));
  c.threads = static_cast<int>(row.integer(3));
  c.unix_ms = row.integer(4);
  Result<Json> json = parse_json(row.text(5));
  if (!json) return std::move(json).error().in("reading a calibration");
  Fields fields(*json, "figures");
  if (json->is_object()) {
    for (const auto& [name, value] : json->items()) fields.get(name.c_str(), c.figures[name]);
  }
  if (Result<void> done = fields.done(); !done) return std::move(done).error();
  return c;
}

}  // namespace

const char* const kStatesOfDevice =
    "SELECT other.id FROM devices this JOIN devices other ON other.device_key = this.device_key "
    "AND other.board_id = this.board_id AND other.device_index = this.device_index "
    "WHERE this.id = ?1";

Result<std::int64_t> Database::put_device(const DeviceRow& d) {
  std::int64_t id = 0;
  Result<void> done = atomically(
      [&]() -> Result<void> {
        Result<std::int64_t> row = row_of(
            "SELECT id FROM devices WHERE device_key = ?1 AND board_id = ?2 AND device_index = "
            "CAST(?3 AS BIGINT) AND board_facts = ?4 AND device_facts = ?5 AND (?6 = ?6)",
            "INSERT INTO devices (device_key, board_id, device_index, board_facts, device_facts, "
            "emulated) VALUES (?1, ?2, CAST(?3 AS BIGINT), ?4, ?5, CAST(?6 AS BIGINT)) "
            "ON CONFLICT DO NOTHING RETURNING id",
            {d.device_key, d.board_id, std::to_string(d.device_index), d.board_facts,
             d.device_facts, d.emulated ? "1" : "0"});
        if (!row) return std::move(row).error();
        id = *row;
        return {};
      },
      Writers::Many);
  if (!done) return std::move(done).error();
  return id;
}

Result<void> Database::register_device(const wire::BoardT& board, const wire::DeviceInfoT& device) {
  DeviceRow row{device.key,
                board.id,
                device.index,
                device.emulated,
                dump_json(to_json(board)),
                dump_json(to_json(device))};
  if (Result<std::int64_t> put = put_device(row); !put) return std::move(put).error();
  current_devices_[device_name(row.device_key, row.board_id, row.device_index)] = std::move(row);
  return {};
}

Result<std::int64_t> Database::device_id(const std::string& key, const std::string& board,
                                         std::uint32_t index) {
  if (const auto at = current_devices_.find(device_name(key, board, index));
      at != current_devices_.end()) {
    return put_device(at->second);
  }
  return row_of(
      "SELECT id FROM devices WHERE device_key = ?1 AND board_id = ?2 AND device_index = "
      "CAST(?3 AS BIGINT) ORDER BY id DESC LIMIT 1",
      "INSERT INTO devices (device_key, board_id, device_index) "
      "VALUES (?1, ?2, CAST(?3 AS BIGINT)) ON CONFLICT DO NOTHING RETURNING id",
      {key, board, std::to_string(index)});
}

Result<std::vector<DeviceRow>> Database::devices() const {
  Result<Statement> all = connection_->prepare(
      "SELECT device_key, board_id, device_index, emulated, board_facts, device_facts, id "
      "FROM devices ORDER BY id");
  if (!all) return std::move(all).error();
  std::vector<DeviceRow> devices;
  for (;;) {
    Result<bool> row = all->step();
    if (!row) return std::move(row).error();
    if (!*row) return devices;
    devices.push_back({all->text(0), all->text(1), static_cast<std::uint32_t>(all->integer(2)),
                       all->integer(3) != 0, all->text(4), all->text(5), all->integer(6)});
  }
}

Result<void> Database::put_calibration(const Calibration& c) {
  return atomically(
      [&]() -> Result<void> {
        Result<std::int64_t> device = device_id(c.device_key, c.board_id, c.device_index);
        if (!device) return std::move(device).error();
        Json figures = Json::object();
        for (const auto& [name, value] : c.figures) figures[name] = number_json(value);
        Result<Statement> put = connection_->prepare(
            "INSERT INTO calibrations (device_id, threads, unix_ms, figures) SELECT ?1, ?2, ?3, ?4 "
            "WHERE NOT EXISTS (SELECT 1 FROM calibrations WHERE device_id IN (" +
            std::string(kStatesOfDevice) +
            ") AND threads = ?2 AND unix_ms = ?3) ON CONFLICT DO NOTHING");
        if (!put) return std::move(put).error();
        put->bind(1, *device).bind(2, std::int64_t{c.threads}).bind(3, c.unix_ms);
        return put->bind(4, dump_json(figures)).run();
      },
      Writers::Many);
}

Result<Calibration> Database::calibration(const std::string& key, const std::string& board,
                                          std::uint32_t index, int threads) const {
  Result<Statement> find = connection_->prepare(
      std::string(kCalibrationColumns) +
      "WHERE d.device_key = ?1 AND d.board_id = ?2 AND d.device_index = ?3 AND c.threads = ?4 "
      "ORDER BY c.unix_ms DESC, c.id DESC LIMIT 1");
  if (!find) return std::move(find).error();
  find->bind(1, key).bind(2, board).bind(3, std::int64_t{index}).bind(4, std::int64_t{threads});
  Result<bool> row = find->step();
  if (!row) return std::move(row).error();
  if (!*row) {
    return Error{ErrorCode::NotFound,
                 "no calibration of '" + key + "' with " + std::to_string(threads) + " threads",
                 {}};
  }
  return read_calibration(*find);
}

Result<std::vector<Calibration>> Database::calibrations() const {
  Result<Statement> all = connection_->prepare(std::string(kCalibrationColumns) + "ORDER BY c.id");
  if (!all) return std::move(all).error();
  std::vector<Calibration> calibrations;
  for (;;) {
    Result<bool> row = all->step();
    if (!row) return std::move(row).error();
    if (!*row) return calibrations;
    Result<Calibration> one = read_calibration(*all);
    if (!one) return std::move(one).error();
    calibrations.push_back(std::move(*one));
  }
}

}  // namespace fettle::records
