// A database as fettle wrote it before workloads were DAGs (tests/data/records).
#pragma once

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>

#include "host/records/sqlite.h"

namespace fettle::records::test {

inline void make_version_1(const std::string& path) {
  std::ifstream file(FETTLE_RECORDS_DATA "/version_1.sql");
  std::ostringstream sql;
  ASSERT_TRUE(sql << file.rdbuf()) << FETTLE_RECORDS_DATA;
  auto raw = SqliteConnection::open(path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE,
                                    std::chrono::milliseconds(1000));
  ASSERT_TRUE(raw.ok()) << raw.error().text();
  const auto made = (*raw)->execute(sql.str().c_str());
  ASSERT_TRUE(made.ok()) << made.error().text();
}

}  // namespace fettle::records::test
