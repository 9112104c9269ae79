// `fettle tune` and `fettle records` with a PostgreSQL server, which is killed meanwhile.
#include "tests/e2e/tune_support.h"
#include "tests/support/postgres_server.h"

namespace fettle::testing {
namespace {

using std::chrono::seconds;

class TunePostgres : public TuneTest {
 protected:
  void SetUp() override {
    if (const std::string why = PostgresServer::why_none(); !why.empty()) GTEST_SKIP() << why;
    server = &PostgresServer::shared();
    const std::string database = server->make_database();
    db = server->url(database);  // the fixture's, of whoever may do all
    secret = server->url(database, "locked:s3cret%2F%40");
    const auto granted =
        run_program({FETTLE_PROGRAM, "records", "grant", "locked", "--as", "writer", "--db", db});
    ASSERT_EQ(granted.status, 0) << granted.err;
    EXPECT_NE(granted.err.find("role locked may now read and add to"), std::string::npos)
        << granted.err;
  }
  // The session of a role that has a password in its URL.
  std::vector<std::string> tune_as_locked(std::vector<std::string> more) const {
    std::vector<std::string> words = tune(std::move(more));
    *std::find(words.begin(), words.end(), db) = secret;
    return words;
  }
  static void expect_no_password(const std::string& text) {
    EXPECT_EQ(text.find("s3cret"), std::string::npos) << text;
  }

  PostgresServer* server = nullptr;
  std::string secret;
};

TEST_F(TunePostgres, ASessionGoesOnWhenItsServerIsBack) {
  RunningProgram session(tune_as_locked({"--trials", "16", "--seed", "1"}), environment());
  ASSERT_TRUE(session.wait_for_out("\"trial\"", seconds(120), 4)) << session.err();
  server->kill();
  std::this_thread::sleep_for(seconds(2));
  server->start();
  ASSERT_EQ(session.wait(seconds(240)), 0) << session.err();
  EXPECT_NE(session.err().find("waiting for the record database 'postgresql://locked:***@"),
            std::string::npos)
      << session.err();
  EXPECT_NE(session.err().find("is back"), std::string::npos) << session.err();
  const Session told = parse(session.out());
  EXPECT_EQ(told.trials.size(), 16u);
  EXPECT_NE(told.summary["db"].get<std::string>().find("locked:***@"), std::string::npos);
  expect_sound_database(16);
  EXPECT_EQ(records().size(), 16u);
  expect_no_password(session.out() + session.err());

  const auto again =
      run_program(tune_as_locked({"--trials", "24", "--resume"}), seconds(240), environment());
  ASSERT_EQ(again.status, 0) << again.err;
  const Session resumed = parse(again.out);
  EXPECT_EQ(resumed.summary["resumed"], 16);
  EXPECT_EQ(resumed.trials.size(), 8u);
  expect_sound_database(24);
  expect_no_password(again.out + again.err);

  for (const char* command : {"show", "best", "export", "plot"}) {
    const auto shown = run_program({FETTLE_PROGRAM, "records", command, "--db", secret});
    EXPECT_EQ(shown.status, 0) << command << shown.err;
    EXPECT_GT(shown.out.size(), 100u) << command;
    expect_no_password(shown.out + shown.err);
  }
  EXPECT_EQ(server->execute("SELECT count(*) FROM sessions WHERE options LIKE '%s3cret%' OR name "
                            "LIKE '%s3cret%' OR reason LIKE '%s3cret%'",
                            db.substr(db.rfind('/') + 1)),
            "0");
  // One way and back: into a file, which says the same.
  const std::string lines = folder.file("all.jsonl"), file = folder.file("copy.db");
  ASSERT_EQ(run_program({FETTLE_PROGRAM, "records", "export", "--db", secret, "-o", lines}).status,
            0);
  ASSERT_EQ(run_program({FETTLE_PROGRAM, "records", "import", lines, "--db", file}).status, 0);
  const auto of_file = run_program({FETTLE_PROGRAM, "records", "export", "--db", file});
  const auto of_server = run_program({FETTLE_PROGRAM, "records", "export", "--db", secret});
  EXPECT_EQ(of_file.out, of_server.out);
  const auto distilled =
      run_program({FETTLE_PROGRAM, "records", "distill", "--db", file, "-o", secret});
  EXPECT_EQ(distilled.status, 0) << distilled.err;
  expect_no_password(distilled.err);
}

TEST_F(TunePostgres, WhatCannotBeIsSaidBeforeABoardIsAsked) {
  ASSERT_EQ(
      run_program({FETTLE_PROGRAM, "records", "grant", "locked", "--as", "reader", "--db", db})
          .status,
      0);
  const auto refused = run_program(tune_as_locked({"--trials", "4"}), seconds(60), environment());
  EXPECT_EQ(refused.status, 1);
  EXPECT_NE(refused.err.find("role 'locked' may only read it"), std::string::npos) << refused.err;
  expect_no_password(refused.err);
  auto words = tune({"--trials", "4"});
  for (std::string& word : words) {
    if (word == db) word = "postgresql://anna:s3cret@127.0.0.1:1/none";
  }
  const auto nobody = run_program(words, seconds(60), environment());
  EXPECT_EQ(nobody.status, 1);
  EXPECT_NE(nobody.err.find("cannot be reached"), std::string::npos) << nobody.err;
  expect_no_password(nobody.err);
  const auto file =
      run_program({FETTLE_PROGRAM, "records", "grant", "x", "--as", "reader", "--db", "a.db"});
  EXPECT_EQ(file.status, 1);
  EXPECT_NE(file.err.find("is a file"), std::string::npos) << file.err;
}

}  // namespace
}  // namespace fettle::testing
