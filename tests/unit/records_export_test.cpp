// JSON lines: nothing is lost on the way out and in; bad lines change nothing.
#include <functional>
#include <sstream>
#include <streambuf>
#include <utility>

#include "host/records/export.h"
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

// A database with something of everything.
Database sample_database(const std::string& path) {
  Database database = open_or_die(path);
  Session session;
  session.session = "5e55";
  session.name = "resnet-18";
  session.started_ms = 1;
  session.seed = 42;
  EXPECT_TRUE(database.begin_session(session).ok());
  EXPECT_TRUE(database.end_session("5e55", SessionState::Interrupted, "Ctrl-C", 9).ok());
  wire::BoardT board;
  board.id = "board-1";
  board.serial = "S/N \"1\"";
  wire::DeviceInfoT device;
  device.key = "local";
  device.index = 1;
  EXPECT_TRUE(database.register_device(board, device).ok());
  EXPECT_TRUE(
      database.put_calibration({"local", "board-1", 1, 2, 5, {{"fma_gflops_all", 99.125}}}).ok());
  TuningRecord other_task = measured(6, 70);
  other_task.workload = R"({"op":"dense"})";
  for (const TuningRecord& record :
       {measured(1, 100), censored(2, 90), failed(3, ErrorCode::Crash, wire::Stage::Run, "boom"),
        measured(4, 80), measured(5, 120), other_task}) {
    EXPECT_TRUE(database.insert(record).ok());
  }
  return database;
}

std::string exported(const Database& database, const Filter& filter = {}) {
  std::ostringstream out;
  Result<LineCounts> done = export_lines(database, filter, out);
  EXPECT_TRUE(done.ok()) << done.error().text();
  return out.str();
}

class RecordsExport : public test::OnEachStore {};
ON_EACH_STORE(RecordsExport);

TEST_P(RecordsExport, ExportedAndImportedIsTheSame) {
  Stores folder(GetParam());
  Database from = sample_database(folder.file("a.db"));
  const std::string lines = exported(from);
  Database to = open_or_die(folder.file("b.db"));
  std::istringstream in(lines);
  Result<LineCounts> done = import_lines(to, in, "a.jsonl");
  ASSERT_TRUE(done.ok()) << done.error().text();
  EXPECT_EQ(done->trials, 6u);
  EXPECT_EQ(done->added, 6u);
  EXPECT_EQ(exported(to), lines);

  std::istringstream again(lines);  // a second time adds nothing
  done = import_lines(to, again, "a.jsonl");
  ASSERT_TRUE(done.ok());
  EXPECT_EQ(done->trials, 6u);
  EXPECT_EQ(done->added, 0u);
  EXPECT_EQ(exported(to), lines);
}

TEST(RecordsLines, TextsComeBackByteByByteWhateverTheyAre) {
  for (const std::string text : {R"({"b":1,"a":2})", R"({"a": 1})", R"({"a":1})", "", "[1]",
                                 "\"x\"", "{", "null", R"({"a":1.50})", "{\"a\":\"\\u00e9\"}"}) {
    TuningRecord record = measured(1, 10);
    record.workload = record.target = record.configuration = text;
    Result<Json> json = parse_json(dump_json(to_json(record)));
    ASSERT_TRUE(json.ok());
    Result<TuningRecord> back = record_from_json(*json);
    ASSERT_TRUE(back.ok()) << back.error().text();
    EXPECT_EQ(back->workload, text);
    EXPECT_EQ(back->target, text);
    EXPECT_EQ(back->configuration, text);
  }
}

// A kernel was updated between two sessions: trials keep the state they were measured in.
TEST_P(RecordsExport, StatesOfADeviceAreKeptApart) {
  Stores folder(GetParam());
  Database from = sample_database(folder.file("a.db"));
  wire::BoardT board;
  board.id = "board-1";
  board.kernel = "6.6";
  wire::DeviceInfoT device;
  device.key = "local";
  device.index = 1;
  ASSERT_TRUE(from.register_device(board, device).ok());
  ASSERT_TRUE(from.insert(measured(7, 60)).ok());
  const std::string lines = exported(from);
  const auto import = [&](Database& to) {
    std::istringstream in(lines);
    Result<LineCounts> done = import_lines(to, in, "a.jsonl");
    EXPECT_TRUE(done.ok()) << done.error().text();
    return done.ok() ? done->added : 0;
  };
  const char* old_ones =
      "SELECT count(*) FROM trials t JOIN devices d ON d.id = t.device_id "
      "WHERE d.board_facts NOT LIKE '%\"kernel\":\"6.6\"%'";
  Database to = open_or_die(folder.file("b.db"));
  EXPECT_EQ(import(to), 7u);
  EXPECT_EQ(*to.connection().number(old_ones), 6);
  EXPECT_TRUE(exported(to) == lines);
  EXPECT_EQ(import(to), 0u);
  EXPECT_EQ(import(from), 0u);  // into itself
  EXPECT_TRUE(exported(from) == lines);
  Result<Database> best = Database::open(folder.file("c.db"));
  ASSERT_TRUE(best.ok());
  ASSERT_TRUE(distill(from, {}, 2, *best).ok());
  EXPECT_EQ(*best->connection().number("SELECT count(*) FROM trials"), 3);
  EXPECT_EQ(*best->connection().number(old_ones), 2);

  // Exports of earlier versions do not say which state: still no trial twice.
  std::string earlier;
  std::istringstream in(lines);
  for (std::string line; std::getline(in, line);) {
    Json json = Json::parse(line);
    json.erase("device_line");
    earlier += dump_json(json) + "\n";
  }
  std::istringstream again(earlier);
  Result<LineCounts> done = import_lines(to, again, "earlier.jsonl");
  ASSERT_TRUE(done.ok()) << done.error().text();
  EXPECT_EQ(done->added, 0u);
  EXPECT_TRUE(exported(to) == lines);
}

// Writes into another stream, and once, before the first byte, does something else.
class Interrupted : public std::stringbuf {
 public:
  explicit Interrupted(std::function<void()> once) : once_(std::move(once)) {}

 protected:
  std::streamsize xsputn(const char* bytes, std::streamsize count) override {
    if (auto once = std::exchange(once_, {})) once();
    return std::stringbuf::xsputn(bytes, count);
  }

 private:
  std::function<void()> once_;
};

// A session of another process that registers an emulated board and measures on it meanwhile.
TEST_P(RecordsExport, NoTrialIsToldOfWithoutItsDevice) {
  Stores folder(GetParam());
  Database from = sample_database(folder.file("a.db"));
  Database elsewhere = open_or_die(folder.file("a.db"));
  Interrupted buffer([&] {
    wire::BoardT board;
    board.id = "emulated-1";
    wire::DeviceInfoT device;
    device.key = "emulated-pi";
    device.emulated = true;
    ASSERT_TRUE(elsewhere.register_device(board, device).ok());
    TuningRecord trial = measured(99, 1000);
    trial.device_key = device.key;
    trial.board_id = trial.outcome.board_id = board.id;
    trial.outcome.device_index = 0;
    ASSERT_TRUE(elsewhere.insert(trial).ok());
  });
  std::ostream out(&buffer);
  const auto first = export_lines(from, {}, out);
  ASSERT_TRUE(first.ok()) << first.error().text();
  const std::string all = exported(from);
  const auto emulated = [&](const std::string& lines, const char* name) {
    Database to = open_or_die(folder.file(name));
    std::istringstream in(lines);
    EXPECT_TRUE(import_lines(to, in, "a.jsonl").ok());
    int real = 0, emulated = 0;
    EXPECT_TRUE(to.for_each({}, [&](const TuningRecord& trial) {
                    if (trial.device_key == "emulated-pi") ++(trial.emulated ? emulated : real);
                    return true;
                  }).ok());
    EXPECT_EQ(real, 0);
    return emulated;
  };
  EXPECT_EQ(emulated(buffer.str(), "b.db"), 0);
  EXPECT_EQ(emulated(all, "c.db"), 1);

  // Nor is such a line believed, whoever wrote it.
  std::string without;
  std::istringstream in(all);
  for (std::string line; std::getline(in, line);) {
    const Json json = Json::parse(line);
    if (json["kind"] != "device" || json["device_key"] != "emulated-pi") without += line + "\n";
  }
  ASSERT_LT(without.size(), all.size());
  Database to = open_or_die(folder.file("d.db"));
  std::istringstream cut(without);
  const auto refused = import_lines(to, cut, "cut.jsonl");
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().text().find("which no line before it tells"), std::string::npos)
      << refused.error().text();
}

// Lines that come slowly, as through a pipe: another process stores a trial meanwhile.
TEST_P(RecordsExport, AnImportThatWaitsForItsInputLocksNobodyOut) {
  Stores folder(GetParam());
  const std::string lines = exported(sample_database(folder.file("a.db")));
  const std::string path = folder.file("b.db");
  OpenOptions options;
  options.lock_wait = std::chrono::milliseconds(100);
  Database to = open_or_die(path, options), other = open_or_die(path, options);
  class Stalling : public std::streambuf {
   public:
    Stalling(std::string text, std::function<void()> meanwhile)
        : text_(std::move(text)), meanwhile_(std::move(meanwhile)) {}

   private:
    int_type underflow() override {
      if (part_ == 2) return traits_type::eof();
      if (part_ == 1) meanwhile_();
      const auto half = text_.begin() + static_cast<std::ptrdiff_t>(text_.size() / 2);
      now_.assign(part_ == 0 ? text_.begin() : half, part_ == 0 ? half : text_.end());
      ++part_;
      setg(now_.data(), now_.data(), now_.data() + now_.size());
      return traits_type::to_int_type(now_[0]);
    }
    std::string text_, now_;
    std::function<void()> meanwhile_;
    int part_ = 0;
  };
  Stalling slow(lines, [&] {
    Result<std::int64_t> stored = other.insert(measured(9, 50));
    EXPECT_TRUE(stored.ok()) << stored.error().text();
  });
  std::istream in(&slow);
  Result<LineCounts> done = import_lines(to, in, "standard input");
  ASSERT_TRUE(done.ok()) << done.error().text();
  EXPECT_EQ(done->added, 6u);
  Result<Counts> counts = count(to, {});
  ASSERT_TRUE(counts.ok());
  EXPECT_EQ(counts->trials, 7);
}

// A row of a fettle whose list of error codes is longer.
TEST_P(RecordsExport, AnUnknownErrorCodeDoesNotCostTheDatabase) {
  Stores folder(GetParam());
  Database database = sample_database(folder.file("a.db"));
  ASSERT_TRUE(database.connection()
                  .execute("UPDATE trials SET outcome = "
                           "replace(outcome, '\"code\":\"Crash\"', '\"code\":\"Sunstroke\"')")
                  .ok());
  const std::string lines = exported(database);
  EXPECT_NE(lines.find("code 'Sunstroke', unknown to this version: boom"), std::string::npos);
  EXPECT_NE(lines.find("\"code\":\"Internal\""), std::string::npos);
}

TEST(RecordsLines, JsonThatCannotBeHeldIsMalformed) {
  const std::string deep(500'000, '[');
  for (const std::string& text : {std::string(R"({"fettle":1e999})"),
                                  R"({"workload":)" + deep + std::string(500'000, ']') + "}"}) {
    Result<Json> json = parse_json(text);
    ASSERT_FALSE(json.ok());
    EXPECT_EQ(json.error().code, ErrorCode::Malformed);
  }
  EXPECT_TRUE(parse_json(R"({"text":"[[[[ \" [[[[", "list":[[1],[2]]})").ok());
  EXPECT_TRUE(parse_json(dump_json({{"text", deep}})).ok()) << "no nesting: a text";
  TuningRecord record = measured(1, 10);  // nor as a text that others parse again
  record.workload = deep;
  EXPECT_FALSE(record_from_json(to_json(record)).ok());
}

TEST_P(RecordsExport, AFilteredExportTakesWhatItsTrialsReferTo) {
  Stores folder(GetParam());
  Database from = sample_database(folder.file("a.db"));
  Session other;
  other.session = "07e6";
  ASSERT_TRUE(from.begin_session(other).ok());
  Filter filter;
  filter.workload = R"({"op":"dense"})";
  const std::string lines = exported(from, filter);
  EXPECT_NE(lines.find("5e55"), std::string::npos);
  EXPECT_EQ(lines.find("07e6"), std::string::npos);
  EXPECT_NE(lines.find("fma_gflops_all"), std::string::npos);
  EXPECT_EQ(lines.find("boom"), std::string::npos);
}

TEST_P(RecordsExport, ABadLineIsNamedAndNothingIsImported) {
  Stores folder(GetParam());
  Database from = sample_database(folder.file("a.db"));
  const std::string good = exported(from);
  const std::string trial = good.substr(good.find("{\"board_id\":\"board-1\",\"build_ns\""));
  const std::string one = trial.substr(0, trial.find('\n') + 1);
  const std::size_t next_line =
      static_cast<std::size_t>(std::count(good.begin(), good.end(), '\n')) + 1;
  const auto with = [&](const std::string& find, const std::string& put) {
    std::string line = one;
    EXPECT_NE(line.find(find), std::string::npos) << find;
    return line.replace(line.find(find), find.size(), put);
  };
  struct Case {
    std::string line, says;
  };
  for (const Case& bad : std::vector<Case>{
           {"garbage\n", "not valid JSON"},
           {"\x80\xff\x01\n", "not valid JSON"},
           {one.substr(0, one.size() / 2) + "\n", "not valid JSON"},
           {"[1,2]\n", "not a JSON object"},
           {"{}\n", "'fettle'"},
           {"{\"fettle\":2,\"kind\":\"poem\"}\n", "unknown kind 'poem'"},
           {std::string(100'000, '['), "not valid JSON"},
           {with("\"fettle\":2", "\"fettle\":3"), "format version 3"},
           {with("\"unix_ms\":", "\"unix\":"), "'unix_ms' of trial is missing"},
           {with("\"number\":7", "\"number\":-7"), "'number' of measurement is negative"},
           {with("\"number\":7", "\"number\":7000000000"),
            "'number' of measurement is out of range"},
           {with("\"number\":7", "\"number\":7.5"), "not a whole number"},
           {with("\"clock\":\"Nanoseconds\"", "\"clock\":\"Sundial\""), "'clock'"},
           {with("\"samples\":[[", "\"samples\":[[-1,1],["), "'samples'"},
           {with("\"measurement\":", "\"measured\":"), "exactly one"},
           {with("\"median\":100.0", "\"median\":\"nan\""), "median is no positive number"},
           {with("\"median\":100.0", "\"median\":\"inf\""), "median is no positive number"},
           {with("\"median\":100.0", "\"median\":0"), "median is no positive number"},
           {with("\"ticks_per_second\":", "\"ticks_per_second\":-1,\"x\":"), "clock rate"},
           {with("\"reused\":", "\"confirmed_ns\":0,\"reused\":"),
            "'confirmed_ns' of trial is no positive number"},
           {with("\"reused\":", "\"confirmed_ns\":\"inf\",\"reused\":"),
            "'confirmed_ns' of trial is no positive number"},
           {with("\"censored\":false", "\"censored\":true").insert(1, "\"confirmed_ns\":1,"),
            "stopped early"},
           {with("\"outcome\":",
                 "\"confirmed_ns\":1,\"outcome\":{\"failure\":{\"code\":\"Crash\","
                 "\"message\":\"\",\"stage\":\"Run\"}},\"was\":"),
            "a trial that failed"},
           {with("\"outcome\":{", "\"outcome\":17,\"x\":{"), "outcome is not a JSON object"}}) {
    Database to = open_or_die(folder.file("b.db"));
    std::istringstream in(good + bad.line);
    Result<LineCounts> done = import_lines(to, in, "in.jsonl");
    ASSERT_FALSE(done.ok()) << bad.line.substr(0, 80);
    EXPECT_NE(done.error().text().find("in.jsonl:" + std::to_string(next_line) + ": "),
              std::string::npos)
        << done.error().text();
    EXPECT_NE(done.error().text().find(bad.says), std::string::npos) << done.error().text();
    Result<Counts> counts = count(to, {});
    ASSERT_TRUE(counts.ok());
    EXPECT_EQ(counts->trials, 0);
    Result<std::vector<Session>> sessions = to.sessions();
    ASSERT_TRUE(sessions.ok());
    EXPECT_TRUE(sessions->empty());
  }
}

// A session's finals, and later those of one that resumed it, confirm what was exported already.
TEST_P(RecordsExport, ALaterConfirmationReachesACopy) {
  Stores folder(GetParam());
  Database from = sample_database(folder.file("a.db"));
  Database to = open_or_die(folder.file("b.db"));
  const auto import = [&](const std::string& lines) {
    std::istringstream in(lines);
    const auto done = import_lines(to, in, "a.jsonl");
    EXPECT_TRUE(done.ok()) << done.error().text();
    return done ? *done : LineCounts{};
  };
  const auto confirm = [&](double nanoseconds) {
    const TuningRecord fastest = measured(4, 80);
    const Confirmation one{fastest.session,      fastest.workload,      fastest.target,
                           fastest.program_hash, fastest.configuration, nanoseconds};
    ASSERT_DONE(from.confirm(std::span(&one, 1)));
  };
  const std::string before = exported(from);
  EXPECT_EQ(import(before).confirmed, 0u);
  for (const double nanoseconds : {85.0, 110.0, 84.5}) {
    confirm(nanoseconds);
    const LineCounts counts = import(exported(from));
    EXPECT_EQ(counts.added, 0u);
    EXPECT_EQ(counts.confirmed, 1u);
    EXPECT_EQ(exported(to), exported(from));
    EXPECT_EQ(import(exported(from)).confirmed, 0u) << "the same again";
  }
  EXPECT_EQ(import(before).confirmed, 0u) << "an export from before them takes none away";
  EXPECT_EQ(exported(to), exported(from));

  Database best = open_or_die(folder.file("c.db"));
  ASSERT_TRUE(distill(from, {}, 1, best).ok());
  confirm(83);
  const auto again = distill(from, {}, 1, best);
  ASSERT_TRUE(again.ok()) << again.error().text();
  EXPECT_EQ(again->confirmed, 1u);
}

TEST_P(RecordsExport, DistillKeepsTheBestOfEachTask) {
  Stores folder(GetParam());
  Database from = sample_database(folder.file("a.db"));
  Database to = open_or_die(folder.file("b.db"));
  Result<LineCounts> done = distill(from, {}, 2, to);
  ASSERT_TRUE(done.ok()) << done.error().text();
  EXPECT_EQ(done->trials, 3u);  // two of conv2d, the one of dense
  Result<std::vector<TuningRecord>> kept = history(to, {});
  ASSERT_TRUE(kept.ok());
  ASSERT_EQ(kept->size(), 3u);
  EXPECT_EQ(text_of(kept->at(0)), text_of(measured(4, 80)));
  EXPECT_EQ(text_of(kept->at(1)), text_of(measured(1, 100)));
  EXPECT_TRUE(to.calibration("local", "board-1", 1, 2).ok());

  std::ostringstream out;
  ASSERT_TRUE(distill(from, {}, 2, out).ok());
  EXPECT_EQ(out.str(), exported(to));
  EXPECT_FALSE(distill(from, {}, 0, to).ok());
}

TEST_P(RecordsExport, AFullDiskIsNoticed) {
  Stores folder(GetParam());
  Database from = sample_database(folder.file("a.db"));
  std::ofstream full("/dev/full");
  Result<LineCounts> done = export_lines(from, {}, full);
  ASSERT_FALSE(done.ok());
  EXPECT_EQ(done.error().code, ErrorCode::DiskFull) << done.error().text();
}

}  // namespace
}  // namespace fettle::records
