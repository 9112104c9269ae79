// Tests of records on each kind of database: a file, or a server's.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "tests/support/postgres_server.h"
#include "tests/unit/records_sample.h"

namespace fettle::records::test {

enum class Kind { Sqlite, Postgres };

inline std::string name_of_kind(const ::testing::TestParamInfo<Kind>& info) {
  return info.param == Kind::Sqlite ? "Sqlite" : "Postgres";
}

// Names of databases of one test.
class Stores {
 public:
  explicit Stores(Kind kind) : kind_(kind) {}
  // The same database for the same name; empty at first.
  std::string file(const std::string& name) {
    if (kind_ == Kind::Sqlite) return folder_.file(name);
    auto& server = fettle::testing::PostgresServer::shared();
    std::string& url = urls_[name];
    if (url.empty()) url = server.url(server.make_database());
    return url;
  }

 private:
  Kind kind_;
  TempFolder folder_;
  std::map<std::string, std::string> urls_;
};

class OnEachStore : public ::testing::TestWithParam<Kind> {
 protected:
  void SetUp() override {
    const std::string why = fettle::testing::PostgresServer::why_none();
    if (GetParam() == Kind::Postgres && !why.empty()) GTEST_SKIP() << why;
  }
};

}  // namespace fettle::records::test

#define ON_EACH_STORE(suite)                                                           \
  INSTANTIATE_TEST_SUITE_P(Records, suite,                                             \
                           ::testing::Values(::fettle::records::test::Kind::Sqlite,    \
                                             ::fettle::records::test::Kind::Postgres), \
                           ::fettle::records::test::name_of_kind)
