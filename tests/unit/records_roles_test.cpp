// Who may do what with the records on a server, and what is said to who may not.
#include <cstdlib>
#include <fstream>

#include "host/records/postgres_schema.h"
#include "host/records/queries.h"
#include "tests/unit/records_stores.h"

namespace fettle::records {
namespace {

using fettle::testing::PostgresServer;
using test::measured;
using test::open_or_die;
using test::TempFolder;

class RecordsRoles : public ::testing::Test {
 protected:
  void SetUp() override {
    if (const std::string why = PostgresServer::why_none(); !why.empty()) GTEST_SKIP() << why;
    server = &PostgresServer::shared();
    name = server->make_database();
    for (const char* role : {"reader", "writer", "nobody_yet"}) {
      server->execute("DO $$BEGIN CREATE ROLE " + std::string(role) +
                      " LOGIN; EXCEPTION WHEN duplicate_object THEN NULL; END$$");
    }
  }
  std::string url(const std::string& role = "owner") const { return server->url(name, role); }
  static std::string refusal(const std::string& url, const OpenOptions& how = {}) {
    const auto opened = Database::open(url, how);
    EXPECT_FALSE(opened.ok()) << url;
    return opened.ok() ? "" : opened.error().text();
  }
  static void expect_in(const std::string& part, const std::string& text) {
    EXPECT_NE(text.find(part), std::string::npos) << "no \"" << part << "\" in\n" << text;
  }

  PostgresServer* server = nullptr;
  std::string name;
  OpenOptions reading{.read_only = true, .create = false};
};

TEST_F(RecordsRoles, AReaderReadsAndIsToldByNameThatItMayNotWrite) {
  ASSERT_DONE(grant_records(url(), "reader", Access::Reader, {}));
  ASSERT_DONE(open_or_die(url()).insert(measured(1, 10)));
  Database database = open_or_die(url("reader"), reading);
  EXPECT_EQ(count(database, {})->trials, 1);
  const auto stored = database.insert(measured(2, 10));
  ASSERT_FALSE(stored.ok()) << "opened to read only";
  const std::string text = refusal(url("reader"));
  expect_in("role 'reader' may only read it", text);
  expect_in("fettle records grant reader --as writer", text);
  expect_in(url("reader"), text);
}

TEST_F(RecordsRoles, AWriterAddsAndNobodyDeletes) {
  ASSERT_DONE(grant_records(url(), "writer", Access::Writer, {}));
  Database database = open_or_die(url("writer"));
  Session session;
  session.session = "5e55";
  ASSERT_DONE(database.begin_session(session));
  ASSERT_DONE(database.insert(measured(1, 10)));
  ASSERT_DONE(database.end_session("5e55", SessionState::Finished, "", 5));
  const auto deleted = database.connection().execute("DELETE FROM trials");
  ASSERT_FALSE(deleted.ok());
  EXPECT_EQ(deleted.error().code, ErrorCode::Unauthorized);
  expect_in("role 'writer' may not do this", deleted.error().text());
  // What was allowed is taken back.
  ASSERT_DONE(grant_records(url(), "writer", Access::Reader, {}));
  expect_in("role 'writer' may only read it", refusal(url("writer")));
  const auto stored = database.insert(measured(2, 10));
  ASSERT_FALSE(stored.ok());
  EXPECT_EQ(stored.error().code, ErrorCode::Unauthorized);
}

TEST_F(RecordsRoles, ARoleWithoutRightsIsToldWhatToAskFor) {
  expect_in("role 'nobody_yet' may not make or change tables there", refusal(url("nobody_yet")));
  open_or_die(url());
  expect_in("role 'nobody_yet' may not do this", refusal(url("nobody_yet"), reading));
  const auto granted = grant_records(url("nobody_yet"), "reader", Access::Reader, {});
  ASSERT_FALSE(granted.ok());
  EXPECT_EQ(granted.error().code, ErrorCode::Unauthorized);
  const auto unknown = grant_records(url(), "x\"; DROP TABLE trials; --", Access::Reader, {});
  ASSERT_FALSE(unknown.ok());
  EXPECT_EQ(unknown.error().code, ErrorCode::NotFound);
  server->execute("DROP ROLE IF EXISTS \"odd \"\"one\"; CREATE ROLE \"odd \"\"one\" LOGIN");
  ASSERT_DONE(grant_records(url(), "odd \"one", Access::Writer, {}));
}

TEST_F(RecordsRoles, PasswordsComeFromWhereLibpqLooks) {
  open_or_die(url());
  ASSERT_DONE(grant_records(url(), "locked", Access::Reader, {}));
  TempFolder folder;
  ::unsetenv("PGPASSWORD");
  ::setenv("PGPASSFILE", folder.file("none").c_str(), 1);
  expect_in("the server wants a password of role 'locked'", refusal(url("locked"), reading));
  EXPECT_TRUE(Database::open(url("locked:s3cret%2F%40"), reading).ok());
  const std::string wrong = refusal(url("locked:tellnobody"), reading);
  expect_in("does not let role 'locked' in", wrong);
  expect_in("locked:***@", wrong);
  EXPECT_EQ(wrong.find("tellnobody"), std::string::npos) << wrong;
  EXPECT_EQ(Database::open(url("locked:tellnobody"), reading).error().code,
            ErrorCode::Unauthorized);
  ::setenv("PGPASSWORD", "s3cret/@", 1);
  EXPECT_TRUE(Database::open(url("locked"), reading).ok());
  ::setenv("PGPASSWORD", "tellnobody", 1);
  EXPECT_EQ(refusal(url("locked"), reading).find("tellnobody"), std::string::npos);
  ::unsetenv("PGPASSWORD");
  std::ofstream(folder.file("pass")) << "*:*:*:locked:s3cret/@\n";
  std::filesystem::permissions(folder.file("pass"), std::filesystem::perms::owner_read);
  ::setenv("PGPASSFILE", folder.file("pass").c_str(), 1);
  Result<Database> opened = Database::open(url("locked"), reading);
  EXPECT_TRUE(opened.ok()) << opened.error().text();
  ::unsetenv("PGPASSFILE");
}

}  // namespace
}  // namespace fettle::records
