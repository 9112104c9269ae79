// Which records are the best, and by what they count.
#include <cmath>
#include <limits>

#include "host/records/outcome_json.h"
#include "host/records/queries.h"
#include "tests/unit/records_stores.h"

namespace fettle::records {
namespace {

using test::censored;
using test::failed;
using test::measured;
using test::open_or_die;
using test::text_of;

class RecordsBest : public test::OnEachStore {};
ON_EACH_STORE(RecordsBest);

TEST_P(RecordsBest, BestLeavesOutWhatIsNoResult) {
  Stores folder(GetParam());
  Database database = open_or_die(folder.file("r.db"));
  TuningRecord cycles = measured(1, 105);  // of a device's own clock, whose rate is stated
  cycles.outcome.body.AsMeasurement()->clock = wire::ClockDomain::AcceleratorCycles;
  TuningRecord instructions = measured(2, 1);
  instructions.outcome.body.AsMeasurement()->clock = wire::ClockDomain::Instructions;
  TuningRecord timeless = measured(3, 1);
  timeless.outcome.body.AsMeasurement()->ticks_per_second = 0;
  TuningRecord half_speed_clock = measured(4, 60);  // 60 ticks of 2 ns
  half_speed_clock.outcome.body.AsMeasurement()->ticks_per_second = 5e8;
  for (const TuningRecord& record :
       {cycles, instructions, timeless, half_speed_clock, censored(5, 1), measured(6, 110),
        measured(7, 100), failed(8, ErrorCode::WrongAnswer, wire::Stage::Check, "x"),
        failed(9, ErrorCode::Implausible, wire::Stage::Accept, "x"), measured(10, 130)}) {
    ASSERT_DONE(database.insert(record));
  }
  Result<std::vector<TuningRecord>> found = best(database, {}, 4);
  ASSERT_TRUE(found.ok()) << found.error().text();
  ASSERT_EQ(found->size(), 4u);
  EXPECT_EQ(found->at(0).nanoseconds(), 100);
  EXPECT_EQ(found->at(1).nanoseconds(), 105);
  EXPECT_EQ(found->at(2).nanoseconds(), 110);
  EXPECT_EQ(found->at(3).nanoseconds(), 120);
  TuningRecord fewer = measured(11, 0.5);
  fewer.outcome.body.AsMeasurement()->clock = wire::ClockDomain::Instructions;
  TuningRecord lost = censored(12, 0.1);
  lost.outcome.body.AsMeasurement()->clock = wire::ClockDomain::Instructions;
  ASSERT_DONE(database.insert(fewer));
  ASSERT_DONE(database.insert(lost));
  found = fewest_instructions(database, {}, 3);
  ASSERT_TRUE(found.ok()) << found.error().text();
  ASSERT_EQ(found->size(), 2u) << "neither times nor cycles nor censored ones";
  EXPECT_EQ(found->at(0).measurement()->median, 0.5);
  EXPECT_EQ(found->at(1).measurement()->median, 1);
}

TEST_P(RecordsBest, BestIsPerTaskAndPrefersRealBoards) {
  Stores folder(GetParam());
  Database database = open_or_die(folder.file("r.db"));
  wire::BoardT emulated_board;
  emulated_board.id = "qemu";
  wire::DeviceInfoT emulated;
  emulated.key = "local";
  emulated.index = 1;
  emulated.emulated = true;
  ASSERT_DONE(database.register_device(emulated_board, emulated));
  TuningRecord on_qemu = measured(1, 5);
  on_qemu.board_id = "qemu";
  TuningRecord other_task = measured(2, 7);
  other_task.workload = R"({"op":"dense"})";
  other_task.workload_hash = "ff";
  ASSERT_DONE(database.insert(other_task));
  ASSERT_DONE(database.insert(on_qemu));
  Result<std::vector<TuningRecord>> found = best(database, {});
  ASSERT_TRUE(found.ok());
  ASSERT_EQ(found->size(), 2u);
  EXPECT_EQ(found->at(0).workload_hash, "ff");
  EXPECT_EQ(found->at(1).board_id, "qemu");  // better than nothing
  ASSERT_DONE(database.insert(measured(3, 50)));
  ASSERT_DONE(database.insert(measured(4, 60)));
  found = best(database, {});
  ASSERT_TRUE(found.ok());
  ASSERT_EQ(found->size(), 2u);
  EXPECT_EQ(found->at(1).nanoseconds(), 50);
  Filter filter;
  filter.board_id = "qemu";
  found = best(database, filter);
  ASSERT_TRUE(found.ok());
  ASSERT_EQ(found->size(), 1u);
  EXPECT_EQ(found->at(0).nanoseconds(), 5);
}

TEST_P(RecordsBest, OneConfigurationCountsOnceAmongTheBest) {
  Stores folder(GetParam());
  Database database = open_or_die(folder.file("r.db"));
  TuningRecord again = measured(1, 90);
  again.unix_ms += 1;
  for (const TuningRecord& record : {measured(1, 100), again, measured(2, 95)}) {
    ASSERT_DONE(database.insert(record));
  }
  Result<std::vector<TuningRecord>> found = best(database, {}, 5);
  ASSERT_TRUE(found.ok());
  ASSERT_EQ(found->size(), 2u);
  EXPECT_EQ(found->at(0).nanoseconds(), 90);
  EXPECT_EQ(found->at(1).nanoseconds(), 95);
}

TEST_P(RecordsBest, WhatWasConfirmedCountsByThat) {
  Stores folder(GetParam());
  Database database = open_or_die(folder.file("r.db"));
  const TuningRecord lucky = measured(1, 90), steady = measured(2, 95), other = measured(3, 97);
  TuningRecord failed = measured(1, 80);
  failed.unix_ms += 5;
  failed.outcome.body.Set(make_failure(wire::Stage::Run, Error{ErrorCode::Crash, "gone", {}}));
  for (const auto& record : {lucky, steady, other, failed}) ASSERT_DONE(database.insert(record));
  const auto confirmation = [](const TuningRecord& record, double nanoseconds) {
    return Confirmation{record.session,      record.workload,      record.target,
                        record.program_hash, record.configuration, nanoseconds};
  };
  Confirmation nobodys = confirmation(lucky, 1);
  nobodys.session = "another";
  ASSERT_DONE(
      database.confirm(std::vector{confirmation(lucky, 99), confirmation(steady, 96), nobodys}));
  const auto found = best(database, {}, 5);
  ASSERT_TRUE(found.ok());
  ASSERT_EQ(found->size(), 3u);
  EXPECT_EQ(found->at(0).configuration, steady.configuration);
  EXPECT_EQ(found->at(0).rated_nanoseconds(), 96);
  EXPECT_EQ(found->at(0).nanoseconds(), 95) << "as it was measured";
  EXPECT_EQ(found->at(1).configuration, other.configuration);
  EXPECT_FALSE(found->at(1).confirmed_nanoseconds);
  EXPECT_EQ(found->at(2).rated_nanoseconds(), 99);
  EXPECT_EQ(summaries(database, {}).value().at(0).best_nanoseconds, 96);
  // Another configuration that made the lucky program is no luckier.
  TuningRecord twin = measured(4, 90);
  twin.program_hash = lucky.program_hash;
  twin.reused = true;
  ASSERT_DONE(database.insert(twin));
  EXPECT_EQ(best(database, {}).value().at(0).configuration, twin.configuration);
  ASSERT_DONE(database.confirm(std::vector{confirmation(lucky, 99)}));
  EXPECT_EQ(best(database, {}).value().at(0).configuration, steady.configuration);
  // A later session's word goes before an earlier one's.
  TuningRecord later = measured(1, 91);
  later.session = "later";
  later.unix_ms += 1;
  later.confirmed_nanoseconds = 94;
  ASSERT_DONE(database.insert(later));
  EXPECT_EQ(best(database, {}).value().at(0).rated_nanoseconds(), 94);
  // A copy that was stored before the finals learns of them; one that knows more keeps it.
  TuningRecord copy = other;
  for (const double time : {93.0, 92.0}) {
    copy.confirmed_nanoseconds = time;
    ASSERT_DONE(database.insert(copy));
    EXPECT_EQ(best(database, {}).value().at(0).rated_nanoseconds(), 93);
  }
  ASSERT_DONE(database.confirm(std::vector{confirmation(other, 97)}));
  // And it is exported with the rest.
  const auto line = record_from_json(to_json(best(database, {}).value().at(0)));
  ASSERT_TRUE(line.ok()) << line.error().text();
  EXPECT_EQ(line->confirmed_nanoseconds, 94);
}

// Rows of an import from before such lines were refused.
TEST_P(RecordsBest, WhatHasNoTimeOfItsOwnIsNeverTheBest) {
  Stores folder(GetParam());
  Database database = open_or_die(folder.file("r.db"));
  TuningRecord crashed = failed(1, ErrorCode::WrongAnswer, wire::Stage::Check, "wrong");
  TuningRecord stopped = censored(2, 90);
  for (TuningRecord* record : {&crashed, &stopped}) {
    record->confirmed_nanoseconds = 1;
    ASSERT_DONE(database.insert(*record));
    EXPECT_FALSE(record->rated_nanoseconds());
  }
  EXPECT_TRUE(best(database, {}).value().empty());
  EXPECT_FALSE(summaries(database, {}).value().at(0).best_nanoseconds);

  int n = 10;
  for (const double median : {std::numeric_limits<double>::quiet_NaN(), 0.0, -5.0, 2000.0,
                              std::numeric_limits<double>::infinity(), 1000.0}) {
    TuningRecord counted = measured(++n, 1);
    counted.outcome.body.AsMeasurement()->clock = wire::ClockDomain::Instructions;
    counted.outcome.body.AsMeasurement()->median = median;
    ASSERT_DONE(database.insert(counted));
  }
  const auto fewest = fewest_instructions(database, {}, 9);
  ASSERT_TRUE(fewest.ok()) << fewest.error().text();
  ASSERT_EQ(fewest->size(), 2u);
  EXPECT_EQ(fewest->at(0).measurement()->median, 1000);
  EXPECT_EQ(fewest->at(1).measurement()->median, 2000);
}

}  // namespace
}  // namespace fettle::records
