// `fettle records plot` in a real browser: the page draws its charts, and hostile
// text in the database neither breaks it nor runs. Needs Chromium.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <regex>
#include <sstream>

#include "tests/support/plot_sample.h"
#include "tests/support/running_program.h"

namespace fettle::testing {
namespace {

using records::test::failed;
using records::test::measured;

// Debian's browsers; "" when there is none.
std::string browser() {
  for (const char* path : {"/usr/bin/chromium-headless-shell", "/usr/bin/chromium",
                           "/usr/lib/chromium/chromium-headless-shell"}) {
    if (std::filesystem::exists(path)) return path;
  }
  return "";
}

class PlotInBrowser : public ::testing::Test {
 protected:
  void SetUp() override {
    if (browser().empty()) GTEST_SKIP() << "no Chromium here: ./dev setup";
  }

  std::string plot(const records::Database& database) {
    const std::string html = folder_.file("plot.html");
    const auto made =
        run_program({FETTLE_PROGRAM, "records", "plot", "--db", database.path(), "-o", html});
    EXPECT_EQ(made.status, 0) << made.err;
    return html;
  }

  ProgramResult visit(const std::string& html, std::vector<std::string> more) {
    std::vector<std::string> command = {browser(),
                                        "--headless",
                                        "--no-sandbox",  // tests run as root in containers
                                        "--disable-gpu",
                                        "--disable-dev-shm-usage",
                                        "--user-data-dir=" + folder_.file("profile"),
                                        "--window-size=1400,1800",
                                        "--virtual-time-budget=10000"};
    command.insert(command.end(), more.begin(), more.end());
    command.push_back("file://" + html);
    return run_program(command, std::chrono::seconds(120), {{"HOME", folder_.path()}});
  }

  ScratchFolder folder_;
};

std::string read(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

TEST_F(PlotInBrowser, DrawsEveryChart) {
  auto database = records::test::open_or_die(folder_.file("search.db"));
  ASSERT_NO_FATAL_FAILURE(plot::test::fill_search(database, 4, 120));
  const std::string html = plot(database);

  // The page says how many charts it has made; what is on their canvases is read by
  // a script of ours, which the page's own policy would refuse.
  std::string text = read(html);
  const std::size_t policy = text.find("<meta http-equiv");
  ASSERT_NE(policy, text.npos);
  text.erase(policy, text.find('\n', policy) - policy);
  text += R"(<script>
    document.documentElement.dataset.colours = [...document.querySelectorAll("canvas")].map((c) => {
      const pixels = new Uint32Array(c.getContext("2d").getImageData(0, 0, c.width, c.height).data.buffer);
      return new Set(pixels).size;
    }).join(",");
  </script>)";
  std::ofstream(folder_.file("probe.html")) << text;
  const auto seen = visit(folder_.file("probe.html"), {"--dump-dom"});
  ASSERT_EQ(seen.status, 0) << seen.err;
  std::smatch match;
  ASSERT_TRUE(std::regex_search(seen.out, match, std::regex("data-charts=\"(\\d+)\"")))
      << "page.js did not reach its end: " << seen.err;
  EXPECT_EQ(match[1], "11") << "overview, four tasks twice, stages, failures";
  ASSERT_TRUE(std::regex_search(seen.out, match, std::regex("data-colours=\"([0-9,]+)\"")));
  std::istringstream colours(match[1]);
  int canvases = 0;
  for (std::string one; std::getline(colours, one, ','); ++canvases) {
    EXPECT_GT(std::stoi(one), 20) << "canvas " << canvases << " is (nearly) empty";
  }
  EXPECT_EQ(canvases, 11);
}

TEST_F(PlotInBrowser, TheShippedPageIsDrawnUnderItsOwnPolicy) {
  auto database = records::test::open_or_die(folder_.file("search.db"));
  ASSERT_NO_FATAL_FAILURE(plot::test::fill_search(database, 4, 120));
  const std::string html = plot(database);
  const std::string picture = FETTLE_PLOT_PICTURE;
  std::filesystem::remove(picture);
  const auto shot = visit(html, {"--screenshot=" + picture});
  ASSERT_EQ(shot.status, 0) << shot.err;
  ASSERT_TRUE(std::filesystem::exists(picture)) << shot.err;
  const auto drawn = std::filesystem::file_size(picture);

  auto empty = records::test::open_or_die(folder_.file("empty.db"));
  const std::string blank = folder_.file("blank.png");
  const auto nothing = visit(plot(empty), {"--screenshot=" + blank});
  ASSERT_EQ(nothing.status, 0) << nothing.err;
  EXPECT_GT(drawn, 4 * std::filesystem::file_size(blank)) << "charts make a picture larger";
}

TEST_F(PlotInBrowser, HostileTextIsShownAndDoesNotRun) {
  auto database = records::test::open_or_die(folder_.file("hostile.db"));
  const std::string hostile =
      "</script><script>document.documentElement.dataset.taken='1'</script>"
      "<img src=x onerror=\"document.documentElement.dataset.taken='1'\">";
  auto record = failed(1, ErrorCode::Crash, wire::Stage::Run, hostile);
  record.workload = record.workload_hash = record.device_key = hostile;
  ASSERT_DONE(database.insert(record));
  record = measured(2, 1e6);
  record.workload = record.workload_hash = record.device_key = hostile;
  ASSERT_DONE(database.insert(record));
  const auto seen = visit(plot(database), {"--dump-dom"});
  ASSERT_EQ(seen.status, 0) << seen.err;
  EXPECT_NE(seen.out.find("data-charts=\"4\""), seen.out.npos) << seen.err;
  EXPECT_EQ(seen.out.find("data-taken"), seen.out.npos);
  EXPECT_EQ(seen.out.find("<img"), seen.out.npos);
  EXPECT_NE(seen.out.find("&lt;img src=x"), seen.out.npos) << "it is shown as text";
}

}  // namespace
}  // namespace fettle::testing
