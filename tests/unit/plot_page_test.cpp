// Plots of databases: the figures in them, and that no text of a database becomes
// markup or script.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "host/plot/embedded.h"
#include "host/plot/page.h"
#include "host/plot/plot_data.h"
#include "tests/support/plot_sample.h"

namespace fettle::plot {
namespace {

using Json = nlohmann::json;
using records::test::failed;
using records::test::measured;

// The JSON that page.js would read.
Json data_of(const std::string& html) {
  const std::string begin = "<script type=\"application/json\" id=\"data\">";
  const std::size_t from = html.find(begin);
  if (from == html.npos) return Json::value_t::discarded;
  const std::size_t to = html.find("</script>", from);
  return Json::parse(html.substr(from + begin.size(), to - from - begin.size()), nullptr, false);
}

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t n = 0;
  for (std::size_t at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++n;
  return n;
}

class Plot : public ::testing::Test {
 protected:
  void insert(records::TuningRecord record) {
    record.unix_ms += ++inserted_;
    ASSERT_DONE(database_.insert(record));
  }
  Json data(const records::Filter& filter = {}) {
    auto data = plot_data(database_, filter);
    EXPECT_TRUE(data.ok()) << data.error().text();
    return data ? std::move(*data) : Json::object();
  }
  records::test::TempFolder folder_;
  records::Database database_ = records::test::open_or_die(folder_.file("plot.db"));
  int inserted_ = 0;
};

// JSON has none, and a page of nothing would be drawn.
TEST_F(Plot, AnInfiniteSpeedIsNoPoint) {
  insert(measured(1, 4e6));
  auto endless = measured(2, 4e6);
  endless.operations = std::numeric_limits<double>::max();
  endless.outcome.body.AsMeasurement()->median = 1e-300;
  insert(endless);
  const Json all = data();
  EXPECT_EQ(all["trials"], 2);
  for (const Json& task : all["tasks"]) {
    for (const Json& point : task["best"]) EXPECT_TRUE(point[1].is_number()) << task["best"];
    for (const Json& point : task["trial"]) EXPECT_TRUE(std::isfinite(point[1].get<double>()));
  }
}

TEST_F(Plot, CurvesRiseAtBetterTrialsAndReachTheLast) {
  insert(measured(1, 4e6));  // 2.5e9 operations: 625 GFLOPS
  insert(failed(2, ErrorCode::Crash, wire::Stage::Run, "died"));
  insert(measured(3, 5e6));
  insert(measured(4, 2e6));
  insert(measured(5, 8e6));
  auto other = measured(6, 1e6);
  other.device_key = "another";
  insert(other);
  const Json all = data();
  EXPECT_EQ(all["trials"], 6);
  EXPECT_EQ(all["measured"], 5);
  EXPECT_EQ(all["shown"], 5);
  ASSERT_EQ(all["tasks"].size(), 2u);
  const Json& task = all["tasks"][0];
  EXPECT_EQ(task["trials"], 5);
  EXPECT_EQ(task["failed"], 1);
  EXPECT_EQ(task["best"], Json::parse("[[1, 625.0], [4, 1250.0], [5, 1250.0]]"));
  EXPECT_EQ(task["trial"].size(), 4u);
  EXPECT_EQ(all["causes"][0]["code"], "Crash");
  EXPECT_EQ(all["causes"][0]["count"], 1);
  records::Filter filter;
  filter.device_key = "another";
  EXPECT_EQ(data(filter)["tasks"].size(), 1u);
}

TEST_F(Plot, StagesAreSummedAndReusedOutcomesTookNoBoard) {
  auto record = measured(1, 1e6);
  record.build_ns = 500'000'000;
  wire::StageTimesT& times = *record.outcome.times;
  times.queue_ns = 1'000'000'000;
  times.upload_ns = 2'000'000'000;
  times.load_ns = 3'000'000'000;
  times.warmup_ns = 4'000'000'000;
  times.check_ns = 5'000'000'000;
  times.run_ns = 6'000'000'000;
  times.total_ns = 20'000'000'000;
  insert(record);
  record.configuration = "{}";
  record.reused = true;
  insert(record);
  const Json all = data();
  EXPECT_EQ(all["stages"].size(), all["tasks"][0]["seconds"].size());
  EXPECT_EQ(all["tasks"][0]["seconds"], Json::parse("[1.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 2.0]"));
}

TEST_F(Plot, LongTasksAreThinnedButKeepTheirBest) {
  for (int i = 1; i <= 4500; ++i) insert(measured(i, 1e6 + (4500 - i)));
  const Json task = data()["tasks"][0];
  EXPECT_LE(task["trial"].size(), 2000u);
  EXPECT_GE(task["trial"].size(), 1000u);
  EXPECT_EQ(task["best"].back()[0], 4500);
  EXPECT_DOUBLE_EQ(task["best"].back()[1], 2500);
}

TEST_F(Plot, AnEmulatedBoardOfTheSameKeyIsATaskOfItsOwn) {
  insert(measured(1, 4e6));
  records::DeviceRow emulated;
  emulated.device_key = "local";
  emulated.board_id = "qemu";
  emulated.device_index = 1;
  emulated.emulated = true;
  ASSERT_DONE(database_.put_device(emulated));
  auto record = measured(2, 1e6);
  record.board_id = record.outcome.board_id = "qemu";
  insert(record);
  const Json tasks = data()["tasks"];
  ASSERT_EQ(tasks.size(), 2u);
  EXPECT_EQ(tasks[0]["device"], "local");
  EXPECT_EQ(tasks[1]["device"], "local (emulated)");
}

TEST_F(Plot, TasksWithTrialsEnoughHaveAPrediction) {
  test::fill_search(database_, 1, 100);
  const Json task = data()["tasks"][0];
  EXPECT_GT(task["prediction"]["rank_correlation"], 0.5);
  EXPECT_GT(task["prediction"]["points"].size(), 40u);
  insert(measured(2000, 1e6));
  EXPECT_TRUE(data()["tasks"][1]["prediction"].is_null());
}

TEST_F(Plot, AnEmptyDatabaseIsAPage) {
  const std::string html = page(data(), "empty");
  EXPECT_TRUE(data_of(html)["tasks"].empty());
}

// What someone may have written into a database that is handed around.
const char* const kHostile[] = {
    "</script><script>document.title='taken'</script>",
    "<!--<script>",
    "<img src=x onerror=document.title='taken'>",
    "\"'`${document.title='taken'}&lt;script&gt;",
    "\xE2\x80\xA8\xE2\x80\xA9\xFF\xC0\x80 end",
};

TEST_F(Plot, HostileTextStaysText) {
  const std::string plain = page(data(), "plain");
  int n = 0;
  for (const char* text : kHostile) {
    auto record = failed(++n, ErrorCode::Crash, wire::Stage::Run, text);
    record.workload = text;
    record.workload_hash = text;
    record.device_key = text;
    insert(record);
    record = measured(++n, 1e6);
    record.workload = record.workload_hash = record.configuration = record.target = text;
    insert(record);
  }
  for (const char* text : kHostile) {
    const std::string html = page(data(), text);
    for (const char* part : {"<script", "</script", "<!--", "<img", "</title>", "</h1>", "<meta"}) {
      EXPECT_EQ(count(html, part), count(plain, part)) << part;
    }
    for (const char* part : {"\xE2\x80\xA8", "<!--", "onerror=document.title='taken'>"}) {
      const std::size_t script = html.find("id=\"data\">");
      const std::size_t end = html.find("</script>", script);
      EXPECT_EQ(html.substr(script, end - script).find(part), html.npos) << part;
    }
    const Json seen = data_of(html);
    ASSERT_TRUE(seen.is_object()) << "the data must stay JSON";
    EXPECT_EQ(seen["tasks"].size(), data()["tasks"].size());
  }
  const Json seen = data_of(page(data(), ""));
  bool found = false;
  for (const Json& task : seen["tasks"]) found |= task["title"] == kHostile[0];
  EXPECT_TRUE(found) << "and it is shown as it is";
}

TEST(PlotPage, NeedsNothingFromOutside) {
  const std::string html = page({{"tasks", Json::array()}}, "t");
  EXPECT_EQ(html.find("<link"), html.npos);
  EXPECT_EQ(html.find(" src="), html.npos);
  EXPECT_NE(html.find("default-src 'none'"), html.npos);
  EXPECT_EQ(count(html, "'sha256-"), 2u);
  // An embedded script that held this would end its element early.
  for (const std::string_view script : {chart_library(), page_script()}) {
    EXPECT_GT(script.size(), 1000u);
    EXPECT_EQ(script.find("</script"), script.npos);
    EXPECT_EQ(script.find("<!--"), script.npos);
  }
  EXPECT_NE(chart_library().find("Chart"), chart_library().npos);
}

}  // namespace
}  // namespace fettle::plot
