// TuningRecord, Session, DeviceRow and Calibration as one JSON object each and
// back, without loss: the lines of an export and `fettle records show --json`.
#pragma once

#include "host/records/database.h"
#include "host/records/json_fields.h"

namespace fettle::records {

// Raised when an older fettle would misread a line. Every line carries it.
inline constexpr std::int64_t kLineVersion = 2;  // 1: workloads were operators

Json to_json(const TuningRecord& record);
Json to_json(const Session& session);
Json to_json(const DeviceRow& device);
Json to_json(const Calibration& calibration);

// id is 0. Malformed, too: a measurement that no board may report (check_measurement), or a
// confirmed time that is no positive number or of a trial without a time.
Result<TuningRecord> record_from_json(const Json& json);
Result<Session> session_from_json(const Json& json);
Result<DeviceRow> device_from_json(const Json& json);
Result<Calibration> calibration_from_json(const Json& json);

}  // namespace fettle::records
