// Databases as JSON lines and back, and the distilling of the best records.
//
// An export holds everything: devices, sessions, calibrations, trials, one object
// per line, each with the format's version ("fettle": 1) and its "kind". Lines of
// several exports may be put together in one file.
#pragma once

#include <iosfwd>
#include <string>

#include "host/records/database.h"

namespace fettle::records {

struct LineCounts {
  std::size_t lines = 0, trials = 0;
  std::size_t added = 0;      // trials that were new
  std::size_t confirmed = 0;  // that were known, and take another confirmed time now
};

// Trials that the filter lets through, and what they refer to. Io or DiskFull
// when the stream fails.
Result<LineCounts> export_lines(const Database& database, const Filter& filter, std::ostream& out);

// All lines or none; `in` is read to its end before the database is locked, and held in memory.
// Malformed and VersionMismatch name `source` and the line.
// Trials and sessions that are there already are not stored twice; but what such a trial was
// confirmed to take since goes before what is stored. Of two lines of one trial the last counts.
Result<LineCounts> import_lines(Database& database, std::istream& in, const std::string& source);
// Into the database of that name. It is opened, or made, only once the input has been read.
Result<LineCounts> import_lines(const std::string& name, std::istream& in,
                                const std::string& source, const OpenOptions& options = {});

// The k best records of each task, with their devices, sessions and calibrations.
Result<LineCounts> distill(const Database& from, const Filter& filter, int k, Database& to);
Result<LineCounts> distill(const Database& from, const Filter& filter, int k, std::ostream& out);

}  // namespace fettle::records
