// What a tuning session takes from the database: lessons for its cost model, and the
// ceilings of its boards.
#include <gtest/gtest.h>

#include "host/app/board_ceilings.h"
#include "host/app/transfer.h"
#include "host/space/workload.h"
#include "tests/support/native_run.h"
#include "tests/unit/records_sample.h"
#include "tests/unit/tune_doubles.h"

namespace fettle::app {
namespace {

using records::test::open_or_die;
using records::test::TempFolder;
namespace doubles = tune::doubles;

space::Target with_threads(int threads) {
  space::CpuTarget cpu = testing::native_target();
  cpu.threads = threads;
  return cpu.target();
}

class Lessons : public ::testing::Test {
 protected:
  Lessons() {
    device.key = "box";
    device.clock = wire::ClockDomain::Nanoseconds;
  }
  // One trial of each workload, on a board or emulated.
  void record(const std::vector<space::Workload>& workloads, bool emulated) {
    wire::DeviceInfoT facts = device;
    facts.emulated = emulated;
    wire::BoardT board;
    board.id = emulated ? "qemu" : "board-1";
    ASSERT_DONE(database.register_device(board, facts));
    for (const space::Workload& workload : workloads) {
      const auto task = backend.open(workload.dag(), target).value();
      const space::SearchSpace& space = task->space();
      std::mt19937_64 rng(7);
      records::TuningRecord record = records::test::measured(++number, emulated ? 500 : 1000);
      record.workload = workload.canonical();
      record.target = target.canonical();
      record.configuration = space.to_json(space.random(rng));
      record.device_key = device.key;
      record.board_id = record.outcome.board_id = board.id;
      record.outcome.device_index = 0;
      record.outcome.body.AsMeasurement()->weights_bytes = cold ? 1'000'000 : 0;
      ASSERT_DONE(database.insert(record));
    }
  }
  std::vector<Lesson> lessons(const std::vector<space::Workload>& own, bool resumed) {
    std::vector<space::Task> tasks;
    for (const auto& workload : own) tasks.push_back({workload, 1});
    return earlier_lessons(database, device, target, tasks, resumed, cold).value();
  }

  TempFolder folder;
  records::Database database = open_or_die(folder.file("r.db"));
  space::Target target = with_threads(1);
  const backend::Backend& backend = *backend::find_backend(target.backend());
  wire::DeviceInfoT device;
  space::Workload a = doubles::workload(32), b = doubles::workload(64), c = doubles::workload(96);
  int number = 0;
  bool cold = false;  // what is recorded, and what the session measures
};

TEST_F(Lessons, AreOfOtherTasksUnlessTheSessionIsResumed) {
  record({a, b}, false);
  const auto fresh = lessons({a}, false);
  ASSERT_EQ(fresh.size(), 1u);
  EXPECT_EQ(fresh[0].workload, b.canonical());
  EXPECT_TRUE(lessons({a, b}, false).empty()) << "two sessions of the same tasks are independent";
}

// One task's resumed trials reach the models of the others, not its own twice.
TEST_F(Lessons, OfResumedTasksReachTheOtherTasks) {
  record({a, b}, false);
  cost::Experience experience;
  learn_lessons(lessons({a, b, c}, true), backend, target, true, experience);
  EXPECT_EQ(experience.size(), 2u);
  EXPECT_EQ(experience.beside(a.canonical()).size(), 1u);
  EXPECT_EQ(experience.beside(c.canonical()).size(), 2u);
}

TEST_F(Lessons, OfAnEmulatorAreNothingToABoard) {
  record({b}, true);
  EXPECT_TRUE(lessons({a}, false).empty());
  record({b}, false);
  const auto real = lessons({a}, false);
  ASSERT_EQ(real.size(), 1u);
  EXPECT_EQ(real[0].nanoseconds, 1000);
  device.emulated = true;
  const auto emulated = lessons({a}, false);
  ASSERT_EQ(emulated.size(), 1u);
  EXPECT_EQ(emulated[0].nanoseconds, 500);
}

// As one task's they would share a fastest, which none of the cold ones could reach.
TEST_F(Lessons, WithWeightsInTheCachesAreNothingToTimesWithout) {
  record({b}, false);
  cold = true;
  EXPECT_TRUE(lessons({a}, false).empty());
  EXPECT_TRUE(lessons({b}, true).empty());
  record({c}, false);
  ASSERT_EQ(lessons({a}, false).size(), 1u);
  EXPECT_EQ(lessons({a}, false)[0].workload, c.canonical());
  cold = false;
  ASSERT_EQ(lessons({a}, false).size(), 1u);
  EXPECT_EQ(lessons({a}, false)[0].workload, b.canonical());
}

TEST_F(Lessons, OfTooManyWorkloadsAreThoseOfTheNearest) {
  wire::BoardT board;
  board.id = "board-1";
  ASSERT_DONE(database.register_device(board, device));
  std::vector<records::TuningRecord> all;
  const auto put = [&](const std::string& workload, const std::string& source, double operations) {
    records::TuningRecord record = records::test::measured(++number, 1000);
    record.workload = record.title = workload;
    record.source = source;
    record.operations = operations;
    record.target = target.canonical();
    record.device_key = device.key;
    record.outcome.device_index = 0;
    all.push_back(std::move(record));
  };
  for (int i = 0; i < 1300; ++i)
    put("far " + std::to_string(i), R"({"op":"none"})", a.operations());
  for (int i = 0; i < 10; ++i) put("larger", b.source(), 50 * a.operations());
  for (int i = 0; i < 10; ++i) put("near", b.source(), 2 * a.operations());
  ASSERT_DONE(database.insert(all));
  const auto found = lessons({a}, false);
  EXPECT_EQ(found.size(), 1200u);
  const auto of = [&](const std::string& workload) {
    return std::count_if(found.begin(), found.end(),
                         [&](const Lesson& lesson) { return lesson.workload == workload; });
  };
  EXPECT_EQ(of("near"), 8);
  EXPECT_EQ(of("larger"), 8);
  EXPECT_EQ(found[0].workload, "near");
  EXPECT_EQ(found[8].workload, "larger");
}

// A session of a double's boards, where every calibration program takes a microsecond.
class Ceilings : public ::testing::Test {
 protected:
  Ceilings() {
    other.id = "board-2";
    device.key = "double";
  }
  Result<wire::DeviceListT> listed() {
    wire::DeviceListT list;
    auto status = std::make_unique<wire::DeviceStatusT>();
    status->key = "double";
    status->boards.push_back(std::make_unique<wire::BoardT>(other));
    status->devices.push_back(std::make_unique<wire::DeviceInfoT>(device));
    list.keys.push_back(std::move(status));
    return list;
  }
  std::size_t calibrations() { return database.calibrations().value().size(); }

  TempFolder folder;
  records::Database database = open_or_die(folder.file("r.db"));
  bool broken = false;  // no figure of the caches
  doubles::ScriptedRunner runner{[this](std::uint64_t, const wire::MeasureRequestT& request) {
    for (const auto& buffer : request.program->buffers) {
      if (broken && buffer->role == wire::BufferRole::Scratch) {
        return doubles::failure(wire::Stage::Run, ErrorCode::Timeout);
      }
    }
    return doubles::measurement(1000);
  }};
  doubles::Flag stop;
  space::Target target = with_threads(2);
  wire::BoardT other;
  wire::DeviceInfoT device;
  std::vector<tune::Measured> others;
  BoardCeilings ceilings{database, runner, stop, target, [this] { return listed(); }};
};

TEST_F(Ceilings, AreMeasuredOnTheBoardThatTheyAreOfAndKept) {
  const auto own = ceilings.own();
  ASSERT_TRUE(own.ok()) << own.error().text();
  EXPECT_GT(own->operations_per_second, 0);
  ASSERT_FALSE(runner.boards.empty());
  for (const std::string& board : runner.boards) EXPECT_EQ(board, "board-1");
  runner.boards.clear();
  const auto second = ceilings.of("board-2", false, others);
  ASSERT_TRUE(second.ok()) << second.error().text();
  ASSERT_FALSE(runner.boards.empty());
  for (const std::string& board : runner.boards) EXPECT_EQ(board, "board-2");
  EXPECT_EQ(calibrations(), 2u);
  EXPECT_TRUE(database.calibration("double", "board-2", 0, 2).ok());
  runner.boards.clear();
  BoardCeilings later(database, runner, stop, target, [this] { return listed(); });
  EXPECT_TRUE(later.own().ok());
  EXPECT_TRUE(later.of("board-2", false, others).ok());
  EXPECT_TRUE(runner.boards.empty()) << "once for a board";
}

// One machine can be a board and an emulated one: the same id, other facts.
TEST_F(Ceilings, ABoardIsRegisteredWithItsOwnFactsBeforeItsFirstTrial) {
  device.name = "the board's own device";
  ASSERT_TRUE(ceilings.of("board-2", false, others).ok());
  const auto rows = database.devices().value();
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].board_id, "board-2");
  EXPECT_NE(rows[0].device_facts.find(device.name), std::string::npos);
  device.emulated = true;
  device.name = "an emulated one";
  ASSERT_TRUE(ceilings.of("board-2", false, others).ok());
  const auto later = database.devices().value();
  for (const auto& row : later) EXPECT_FALSE(row.emulated);
}

TEST_F(Ceilings, FiguresThatAreNotWholeAreNotKept) {
  broken = true;
  const auto own = ceilings.own();
  ASSERT_TRUE(own.ok()) << own.error().text();
  EXPECT_EQ(calibrations(), 0u);
  const auto again = ceilings.of("board-1", true, others);
  ASSERT_TRUE(again.ok()) << again.error().text();
  EXPECT_GT(again->operations_per_second, 0);
  EXPECT_EQ(calibrations(), 0u) << "they would never be measured again";
  broken = false;
  EXPECT_TRUE(ceilings.of("board-1", true, others).ok());
  EXPECT_EQ(calibrations(), 1u);
}

}  // namespace
}  // namespace fettle::app
