// What is shown of records to people.
#include <sstream>

#include "host/records/queries.h"
#include "host/records/report.h"
#include "host/records/table.h"
#include "tests/unit/records_stores.h"

namespace fettle::records {
namespace {

TEST(RecordsReport, ARecordIsShownWithAllThatIsKnown) {
  std::ostringstream out;
  show(measured(1, 1234567), out);
  for (const char* part :
       {"1.23 ms", "1640.3 % of the device's peak", "2025.0 GFLOPS", "2 disturbed",
        "1 of these samples borrowed", "0: 1.00 µs", "1: 234 ns", "performance", "core 3",
        "board-1", "00112233aabbccdd", "8641972 ticks / 7 runs",
        "around each sample  cpu 1950 to 2100 MHz, hottest zone 0 to 61.5 C"}) {
    EXPECT_NE(out.str().find(part), std::string::npos) << part << "\n" << out.str();
  }
  std::ostringstream failure;
  show(failed(1, ErrorCode::StrayWrite, wire::Stage::Check, "wrote 4 bytes after output 0"),
       failure);
  EXPECT_NE(failure.str().find("stage Check, StrayWrite"), std::string::npos) << failure.str();
  EXPECT_NE(failure.str().find("wrote 4 bytes after output 0"), std::string::npos);
  TuningRecord cycles = measured(1, 5000);
  wire::MeasurementT& measurement = *cycles.outcome.body.AsMeasurement();
  measurement.clock = wire::ClockDomain::AcceleratorCycles;
  measurement.ticks_per_second = 0;
  std::ostringstream ticks;
  show(cycles, ticks);
  EXPECT_NE(ticks.str().find("5000 cycles"), std::string::npos) << ticks.str();
  EXPECT_EQ(ticks.str().find("GFLOPS"), std::string::npos) << "of an unknown rate: no time";
  measurement.ticks_per_second = 1e8;
  std::ostringstream at_a_rate;
  show(cycles, at_a_rate);
  EXPECT_NE(at_a_rate.str().find("5000 cycles (50.0 µs)"), std::string::npos) << at_a_rate.str();
  EXPECT_NE(at_a_rate.str().find("GFLOPS"), std::string::npos) << "a rate makes cycles a time";
  measurement.clock = wire::ClockDomain::Instructions;
  std::ostringstream instructions;
  show(cycles, instructions);
  EXPECT_NE(instructions.str().find("5000 instructions"), std::string::npos);
  EXPECT_EQ(instructions.str().find("GFLOPS"), std::string::npos) << "never a time";
}

TEST(RecordsReport, DurationsHaveThreeDigitsThatCount) {
  EXPECT_EQ(duration_text(0), "0.00 ns");
  EXPECT_EQ(duration_text(999.4), "999 ns");
  EXPECT_EQ(duration_text(999.6), "1.00 µs");
  EXPECT_EQ(duration_text(12'345), "12.3 µs");
  EXPECT_EQ(duration_text(999'600'000), "1.00 s");
  EXPECT_EQ(duration_text(3.6e12), "3600 s");
}

TEST(RecordsTable, ColumnsLineUpInCharacters) {
  Table table({{"task"}, {"GFLOPS", Align::Right}});
  table.row({"56x56x64→64", "9.5"});
  table.row({"漢字", "123.4"});
  table.rule();
  table.row({"é", ""});
  std::ostringstream out;
  table.print(out);
  EXPECT_EQ(out.str(),
            "task         GFLOPS\n"
            "-------------------\n"
            "56x56x64→64     9.5\n"
            "漢字          123.4\n"
            "-------------------\n"
            "é\n");
  EXPECT_EQ(cells_of("e\xcc\x81"), 1u);  // a combining accent
  EXPECT_EQ(cells_of("\xff\xe6\xbc"), 3u);
  EXPECT_EQ(clip("56x56→64", 7), "56x56→…");
  EXPECT_EQ(clip("short", 5), "short");
}

}  // namespace
}  // namespace fettle::records
