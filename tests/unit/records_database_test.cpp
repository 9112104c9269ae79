// The database: round trips, resume, queries, sessions.
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <limits>
#include <thread>

#include "host/records/outcome_json.h"
#include "host/records/queries.h"
#include "tests/unit/records_stores.h"

namespace fettle::records {
namespace {

using test::censored;
using test::failed;
using test::measured;
using test::open_or_die;
using test::Stores;
using test::text_of;

class RecordsDatabase : public test::OnEachStore {};
ON_EACH_STORE(RecordsDatabase);

TEST_P(RecordsDatabase, ARecordComesBackAsItWas) {
  Stores folder(GetParam());
  std::vector<TuningRecord> records;
  records.push_back(measured(1, 1234.5678901234567));
  records.push_back(censored(2, 1e-300));
  records.push_back(failed(3, ErrorCode::WrongAnswer, wire::Stage::Check, "a \"b\"\n\t\x01 é 漢"));
  records.push_back(failed(4, ErrorCode::BuildError, wire::Stage::Build, ""));
  records.back().program_hash.clear();
  records.back().outcome.times.reset();
  records.push_back(measured(5, 2));
  records.back().reused = true;
  records.back().workload = "not { json";
  records.back().outcome.body.AsMeasurement()->clock = wire::ClockDomain::AcceleratorCycles;
  records.back().outcome.body.AsMeasurement()->interval_high =
      std::numeric_limits<double>::infinity();
  {
    Database database = open_or_die(folder.file("r.db"));
    for (std::size_t i = 0; i < records.size(); ++i) {
      Result<std::int64_t> id = database.insert(records[i]);
      ASSERT_TRUE(id.ok()) << id.error().text();
      EXPECT_EQ(*id, static_cast<std::int64_t>(i) + 1);
    }
  }
  Database database = open_or_die(folder.file("r.db"));
  for (std::size_t i = 0; i < records.size(); ++i) {
    Result<TuningRecord> read = database.get(static_cast<std::int64_t>(i) + 1);
    ASSERT_TRUE(read.ok()) << read.error().text();
    EXPECT_EQ(text_of(*read), text_of(records[i]));
    EXPECT_EQ(read->id, static_cast<std::int64_t>(i) + 1);
    // The wire form knows every field of the schema: nothing was dropped on the way.
    EXPECT_EQ(encode(read->outcome), encode(records[i].outcome));
  }
  Result<TuningRecord> none = database.get(99);
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.error().code, ErrorCode::NotFound);
}

TEST_P(RecordsDatabase, TheSameTrialIsNotStoredTwice) {
  Stores folder(GetParam());
  Database database = open_or_die(folder.file("r.db"));
  Result<std::int64_t> first = database.insert(measured(1, 10));
  Result<std::int64_t> again = database.insert(measured(1, 10));
  ASSERT_TRUE(first.ok() && again.ok());
  EXPECT_EQ(*first, *again);
  TuningRecord later = measured(1, 11);
  later.unix_ms += 1;  // measured anew: a trial of its own
  Result<std::int64_t> other = database.insert(later);
  ASSERT_TRUE(other.ok());
  EXPECT_NE(*first, *other);
}

TEST_P(RecordsDatabase, ABatchIsStoredWholeOrNotAtAll) {
  Stores folder(GetParam());
  Database database = open_or_die(folder.file("r.db"));
  std::vector<TuningRecord> records;
  for (int i = 0; i < 3; ++i) records.push_back(measured(i, 10 + i));
  records.emplace_back();  // neither measurement nor failure
  EXPECT_FALSE(database.insert(records).ok());
  Result<Counts> counts = count(database, {});
  ASSERT_TRUE(counts.ok());
  EXPECT_EQ(counts->trials, 0);
  records.pop_back();
  Result<std::size_t> added = database.insert(records);
  ASSERT_TRUE(added.ok()) << added.error().text();  // ids seen by the undone batch are forgotten
  EXPECT_EQ(*added, 3u);
}

TEST_P(RecordsDatabase, ResumeSkipsWhatIsSettledAndRepeatsWhatWasLost) {
  Stores folder(GetParam());
  Database database = open_or_die(folder.file("r.db"));
  TuningRecord elsewhere = measured(9, 100);
  elsewhere.device_key = "pynq";
  TuningRecord again = measured(1, 90);
  again.unix_ms += 50;
  for (const TuningRecord& record :
       {measured(1, 100), censored(2, 100), failed(3, ErrorCode::Crash, wire::Stage::Run, "x"),
        failed(4, ErrorCode::WorkerLost, wire::Stage::Run, "x"),
        failed(5, ErrorCode::Canceled, wire::Stage::Dispatch, "x"), elsewhere, again}) {
    ASSERT_DONE(database.insert(record));
  }
  Result<std::vector<std::string>> settled =
      measured_configurations(database, measured(1, 1).workload, measured(1, 1).target, "local");
  ASSERT_TRUE(settled.ok()) << settled.error().text();
  EXPECT_EQ(*settled,
            (std::vector<std::string>{measured(1, 1).configuration, measured(2, 1).configuration,
                                      measured(3, 1).configuration}));
  settled = measured_configurations(database, measured(1, 1).workload, "{}", "local");
  ASSERT_TRUE(settled.ok());
  EXPECT_TRUE(settled->empty());
}

TEST_P(RecordsDatabase, AnIdenticalArtifactIsFound) {
  Stores folder(GetParam());
  Database database = open_or_die(folder.file("r.db"));
  const std::string workload = measured(1, 1).workload;
  ASSERT_DONE(database.insert(measured(1, 100)));
  TuningRecord reused = measured(2, 100);
  reused.program_hash = measured(1, 1).program_hash;
  reused.reused = true;
  ASSERT_DONE(database.insert(reused));
  TuningRecord unbuilt = failed(3, ErrorCode::BuildError, wire::Stage::Build, "x");
  unbuilt.program_hash.clear();
  ASSERT_DONE(database.insert(unbuilt));
  Result<std::optional<TuningRecord>> found =
      find_program(database, measured(1, 1).program_hash, workload, "local");
  ASSERT_TRUE(found.ok()) << found.error().text();
  ASSERT_TRUE(found->has_value());
  EXPECT_EQ((*found)->id, 1);  // the one that was measured
  for (const auto& [hash, key] : {std::pair{"", "local"}, std::pair{"ffff", "local"}}) {
    found = find_program(database, hash, workload, key);
    ASSERT_TRUE(found.ok());
    EXPECT_FALSE(found->has_value());
  }
  found = find_program(database, measured(1, 1).program_hash, workload, "pynq");
  ASSERT_TRUE(found.ok());
  EXPECT_FALSE(found->has_value());
}

TEST_P(RecordsDatabase, FailuresAreCountedByCause) {
  Stores folder(GetParam());
  Database database = open_or_die(folder.file("r.db"));
  for (const TuningRecord& record :
       {measured(1, 10), censored(2, 10), failed(3, ErrorCode::Crash, wire::Stage::Run, "first"),
        failed(4, ErrorCode::WrongAnswer, wire::Stage::Check, "y"),
        failed(5, ErrorCode::Crash, wire::Stage::Run, "latest")}) {
    ASSERT_DONE(database.insert(record));
  }
  Result<Counts> counts = count(database, {});
  ASSERT_TRUE(counts.ok()) << counts.error().text();
  EXPECT_EQ(counts->trials, 5);
  EXPECT_EQ(counts->measured, 2);
  EXPECT_EQ(counts->censored, 1);
  EXPECT_EQ(counts->failed, 3);
  ASSERT_EQ(counts->causes.size(), 2u);
  EXPECT_EQ(counts->causes[0].code, "Crash");
  EXPECT_EQ(counts->causes[0].stage, "Run");
  EXPECT_EQ(counts->causes[0].count, 2);
  EXPECT_EQ(counts->causes[0].example, "latest");

  Result<std::vector<TaskSummary>> tasks = summaries(database, {});
  ASSERT_TRUE(tasks.ok()) << tasks.error().text();
  ASSERT_EQ(tasks->size(), 1u);
  EXPECT_EQ(tasks->at(0).trials, 5);
  EXPECT_EQ(tasks->at(0).failed, 3);
  EXPECT_EQ(tasks->at(0).best_nanoseconds, 10);
  EXPECT_EQ(tasks->at(0).best_id, 1);
}

TEST_P(RecordsDatabase, FinishedInterruptedAndKilledSessionsAreToldApart) {
  Stores folder(GetParam());
  const std::string path = folder.file("r.db");
  Session session;
  session.name = "resnet-18";
  session.device_key = "local";
  session.options = R"({"trials":600})";
  session.seed = 0xffff'ffff'ffff'ffff;
  session.started_ms = 1000;
  Database database = open_or_die(path);
  for (const char* id : {"a", "b", "c"}) {
    session.session = id;
    ASSERT_DONE(database.begin_session(session));
  }
  EXPECT_FALSE(database.begin_session(session).ok()) << "the same session twice";
  ASSERT_DONE(database.end_session("a", SessionState::Finished, "", 2000));
  ASSERT_DONE(database.end_session("b", SessionState::Interrupted, "Ctrl-C", 3000));
  EXPECT_FALSE(database.end_session("z", SessionState::Finished, "", 1).ok());

  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {  // a session whose process goes without a word
    Result<Database> mine = Database::open(path);
    session.session = "d";
    TuningRecord record = measured(1, 10);
    record.session = "d";
    const bool stored = mine.ok() && mine->begin_session(session).ok() && mine->insert(record).ok();
    _exit(stored ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_EQ(status, 0);

  Result<std::vector<Session>> sessions = database.sessions();
  ASSERT_TRUE(sessions.ok()) << sessions.error().text();
  ASSERT_EQ(sessions->size(), 4u);
  EXPECT_EQ(sessions->at(0).state, SessionState::Finished);
  EXPECT_EQ(sessions->at(0).ended_ms, 2000);
  EXPECT_EQ(sessions->at(0).seed, 0xffff'ffff'ffff'ffffu);
  EXPECT_EQ(sessions->at(0).options, R"({"trials":600})");
  EXPECT_EQ(sessions->at(1).state, SessionState::Interrupted);
  EXPECT_EQ(sessions->at(1).reason, "Ctrl-C");
  EXPECT_EQ(sessions->at(2).state, SessionState::Running);
  EXPECT_EQ(sessions->at(3).state, SessionState::Killed);
  session.session = "e";  // the next session writes it down
  ASSERT_DONE(database.begin_session(session));
  sessions = database.sessions();
  ASSERT_TRUE(sessions.ok());
  EXPECT_EQ(sessions->at(3).state, SessionState::Killed);
  EXPECT_EQ(sessions->at(3).ended_ms, measured(1, 10).unix_ms);
}

TEST_P(RecordsDatabase, TrialsReferToTheFactsOfTheirTime) {
  Stores folder(GetParam());
  Database database = open_or_die(folder.file("r.db"));
  wire::BoardT board;
  board.id = "board-1";
  board.kernel = "6.1";
  board.agent_instance = 7;
  wire::DeviceInfoT device;
  device.key = "local";
  device.index = 1;
  device.cpu = std::make_unique<wire::CpuFactsT>();
  device.cpu->arch = "x86_64";
  ASSERT_DONE(database.register_device(board, device));
  ASSERT_DONE(database.insert(measured(1, 10)));
  board.agent_instance = 8;  // the agent was started anew: the same device
  ASSERT_DONE(database.register_device(board, device));
  ASSERT_DONE(database.insert(measured(2, 10)));
  board.kernel = "6.6";
  ASSERT_DONE(database.register_device(board, device));
  ASSERT_DONE(database.insert(measured(3, 10)));
  board.kernel = "6.1";  // back again
  ASSERT_DONE(database.register_device(board, device));
  ASSERT_DONE(database.insert(measured(4, 10)));
  Result<std::vector<DeviceRow>> devices = database.devices();
  ASSERT_TRUE(devices.ok()) << devices.error().text();
  ASSERT_EQ(devices->size(), 2u);
  EXPECT_NE(devices->at(0).board_facts.find("\"kernel\":\"6.1\""), std::string::npos);
  EXPECT_NE(devices->at(0).device_facts.find("\"arch\":\"x86_64\""), std::string::npos);
  Result<std::int64_t> on_first =
      database.connection().number("SELECT count(*) FROM trials WHERE device_id = 1");
  ASSERT_TRUE(on_first.ok());
  EXPECT_EQ(*on_first, 3);
}

TEST_P(RecordsDatabase, TheNewestCalibrationOfADeviceIsFound) {
  Stores folder(GetParam());
  Database database = open_or_die(folder.file("r.db"));
  Calibration old{"local", "board-1", 0, 2, 1000, {{"fma_gflops_core", 50.5}}};
  Calibration fresh{"local", "board-1", 0, 2, 2000, {{"fma_gflops_core", 51.25}, {"x", 1e-9}}};
  Calibration one_thread{"local", "board-1", 0, 1, 3000, {{"fma_gflops_core", 1}}};
  for (const Calibration& c : {fresh, old, one_thread}) ASSERT_DONE(database.put_calibration(c));
  Result<Calibration> found = database.calibration("local", "board-1", 0, 2);
  ASSERT_TRUE(found.ok()) << found.error().text();
  EXPECT_EQ(*found, fresh);
  EXPECT_EQ(database.calibration("local", "board-2", 0, 2).error().code, ErrorCode::NotFound);
}

TEST_P(RecordsDatabase, AReaderSeesTrialsWhileTheyAreWritten) {
  Stores folder(GetParam());
  const std::string path = folder.file("r.db");
  Database writer = open_or_die(path);
  OpenOptions options;
  options.read_only = true;
  Database reader = open_or_die(path, options);
  ASSERT_DONE(writer.insert(measured(1, 10)));
  Result<Counts> seen = count(reader, {});
  ASSERT_TRUE(seen.ok()) << seen.error().text();
  EXPECT_EQ(seen->trials, 1);
  std::thread other([&] {
    Database second = open_or_die(path);
    for (int i = 100; i < 200; ++i) EXPECT_TRUE(second.insert(measured(i, 10)).ok());
  });
  for (int i = 200; i < 300; ++i) ASSERT_TRUE(writer.insert(measured(i, 10)).ok());
  other.join();
  seen = count(reader, {});
  ASSERT_TRUE(seen.ok());
  EXPECT_EQ(seen->trials, 201);
  EXPECT_FALSE(reader.insert(measured(2, 10)).ok()) << "a reader must not write";
}

}  // namespace
}  // namespace fettle::records
