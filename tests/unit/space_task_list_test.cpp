// Task lists: the embedded networks and users' files.
#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <iterator>
#include <set>

#include "host/model/task_list.h"
#include "host/space/operators/operator.h"

namespace fettle::model {
namespace {

TEST(TaskList, NetworksAreEmbedded) {
  const auto r18 = load_network("resnet-18");
  ASSERT_TRUE(r18) << r18.error().text();
  EXPECT_EQ(r18->tasks.size(), 19u);
  EXPECT_TRUE(r18->skipped.empty());
  const auto mobilenet = load_network("mobilenet");
  ASSERT_TRUE(mobilenet) << mobilenet.error().text();
  EXPECT_TRUE(mobilenet->skipped.empty());
  const auto vta = load_network("resnet-18-vta");
  ASSERT_TRUE(vta);
  EXPECT_EQ(vta->tasks.size(), 10u);
  EXPECT_TRUE(vta->skipped.empty());
  EXPECT_EQ(vta->tasks[0].workload.title(),
            "conv2d 56x56x64→64 NCHW1n16c k3 s1 int8 +shift_right 8+clip 0 127+cast int8");
  EXPECT_EQ(published_gops("resnet-18-vta", vta->tasks[0].workload), 15.27);
  EXPECT_EQ(published_gops("resnet-18", r18->tasks[0].workload), 0);
}

TEST(TaskList, AnUnknownNetworkNamesTheKnownOnes) {
  const auto none = load_network("resnet-19");
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, ErrorCode::NotFound);
  EXPECT_NE(none.error().message.find("there are: mobilenet, resnet-18, resnet-18-vta; or"),
            std::string::npos)
      << none.error().message;
  EXPECT_FALSE(load_network("_about"));
}

class File {
 public:
  explicit File(const std::string& text) : path_(::testing::TempDir() + "fettle_task_list.json") {
    std::ofstream(path_) << text;
  }
  ~File() { std::remove(path_.c_str()); }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

TEST(TaskList, FilesMergeEqualWorkloads) {
  const File file(R"([{"op":"dense","in_features":8,"out_features":4,"weight":2},
                      {"op":"dense","in_features":8,"out_features":4,"batch":1},
                      {"op":"attention","features":4}])");
  const auto list = load_workload_file(file.path());
  ASSERT_TRUE(list) << list.error().text();
  ASSERT_EQ(list->tasks.size(), 1u);
  EXPECT_EQ(list->tasks[0].weight, 3);
  ASSERT_EQ(list->skipped.size(), 1u);
  EXPECT_NE(list->skipped[0].title.find("attention"), std::string::npos);
  EXPECT_NE(list->skipped[0].reason.find("not there yet"), std::string::npos);
}

TEST(TaskList, AFileMayBeOneOperatorOfOnesOwn) {
  const File file(R"({"title": "doubled", "stages": [
    {"name": "x", "role": "input", "axes": [["i", 8]]},
    {"name": "y", "role": "output", "axes": [["i", 8]], "value": "x[i] * 2"}]})");
  const auto list = load_workload_file(file.path());
  ASSERT_TRUE(list) << list.error().text();
  ASSERT_EQ(list->tasks.size(), 1u);
  EXPECT_EQ(list->tasks[0].workload.title(), "doubled");
  EXPECT_EQ(list->tasks[0].workload.operations(), 8);
}

TEST(TaskList, BadEntriesAreNamed) {
  for (const auto& [text, says] :
       {std::pair<const char*, const char*>{R"([{"op":"dense"}])", "entry 1"},
        {R"({"net":[{"op":"dense","in_features":0,"out_features":1}]})", "in_features"},
        {R"([{"op":"dense","in_features":1,"out_features":1,"weight":0}])", "weight"},
        {"[3]", "entry 1"},
        {"{\"net\":3}", "net"},
        {"nonsense", "not JSON"}}) {
    const File file(text);
    const auto list = load_workload_file(file.path());
    ASSERT_FALSE(list) << text;
    EXPECT_NE(list.error().message.find(says), std::string::npos) << list.error().text();
  }
  EXPECT_EQ(load_workload_file("/nonexistent.json").error().code, ErrorCode::NotFound);
}

// The documentation shows each operator with its fields.
TEST(TaskList, TheDocumentedLayersAreAllOperators) {
  std::ifstream page(FETTLE_DOCS "/own-layers.md");
  const std::string text(std::istreambuf_iterator<char>(page), {});
  const std::size_t fence = text.find("```json\n");
  ASSERT_NE(fence, std::string::npos);
  const std::size_t begin = fence + 8, end = text.find("```", begin);
  const File file(text.substr(begin, end - begin));
  const auto list = load_workload_file(file.path());
  ASSERT_TRUE(list) << list.error().text();
  for (const SkippedTask& skipped : list->skipped) ADD_FAILURE() << skipped.reason;
  std::set<std::string> shown;
  for (const space::Task& task : list->tasks) shown.insert(task.workload.kind());
  const std::vector<std::string> names = space::operator_names();
  EXPECT_EQ(shown, std::set<std::string>(names.begin(), names.end()));
}

}  // namespace
}  // namespace fettle::model
