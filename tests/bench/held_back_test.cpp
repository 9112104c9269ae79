// The layers that searchers are compared on (held_back_layers.json, unseen_layers.json and
// fresh_layers.json, each written down before anything was run on it) are of no network that fettle
// was tuned on, knows or ships: not with another tail either.
#include <gtest/gtest.h>

#include <filesystem>
#include <map>

#include <nlohmann/json.hpp>

#include "host/model/pieces/onnx_tasks.h"
#include "host/model/task_list.h"
#include "host/model/zoo/zoo.h"
#include "host/process/run_program.h"
#include "host/replay/recording.h"

namespace fettle::model {
namespace {

// A workload without its tail; "" for what is no operator of the library.
std::string shape_of(const space::Workload& workload) {
  if (!workload.call()) return "";
  auto fields = nlohmann::json::parse(workload.call()->canonical());
  fields.erase("tail");
  return fields.dump();
}

constexpr const char* kLists[] = {FETTLE_HELD_BACK, FETTLE_UNSEEN, FETTLE_FRESH};
constexpr const char* kListNames[] = {"HeldBack", "Unseen", "Fresh"};

class HeldBack : public testing::TestWithParam<const char*> {
 protected:
  HeldBack() {
    const auto list = load_workload_file(GetParam());
    EXPECT_TRUE(list) << list.error().text();
    if (!list) return;
    EXPECT_TRUE(list->skipped.empty());
    for (const space::Task& task : list->tasks) {
      EXPECT_FALSE(shape_of(task.workload).empty());
      titles_[shape_of(task.workload)] = task.workload.title();
    }
  }

  void expect_none_of(const Result<TaskList>& list, const std::string& where) {
    ASSERT_TRUE(list) << where << ": " << list.error().text();
    EXPECT_FALSE(list->tasks.empty()) << where;
    for (const space::Task& task : list->tasks) expect_not(task.workload, where);
  }
  void expect_not(const space::Workload& workload, const std::string& where) {
    const auto found = titles_.find(shape_of(workload));
    EXPECT_TRUE(found == titles_.end()) << where << " has " << found->second;
  }

  std::map<std::string, std::string> titles_;  // by shape
};

TEST_P(HeldBack, AreAtLeastTwentyShapes) { EXPECT_GE(titles_.size(), 20u); }

TEST_P(HeldBack, AreNotWhatThePriorWasTrainedOn) {
  int lists = 0;
  for (const auto& file : std::filesystem::directory_iterator(FETTLE_PRIORS)) {
    if (file.path().extension() != ".json") continue;
    expect_none_of(load_workload_file(file.path().string()), file.path().filename().string());
    ++lists;
  }
  EXPECT_GE(lists, 3);
}

TEST_P(HeldBack, AreInOneListOnly) {
  for (const char* list : kLists) {
    if (std::string(list) != GetParam()) expect_none_of(load_workload_file(list), list);
  }
}

TEST_P(HeldBack, AreNotWhatSettingsAreTriedOn) {
  expect_none_of(load_workload_file(FETTLE_TRYING_LAYERS), "the layers for trying");
}

TEST_P(HeldBack, AreNotOfTheNetworksWithTaskLists) {
  for (const std::string& name : network_names()) expect_none_of(load_network(name), name);
}

TEST_P(HeldBack, AreNotOfTheZoo) {
  const process::ScratchFolder folder;
  for (const ZooNetwork& network : zoo()) {
    const std::string name = network.name;
    if (name == "vgg-16" || name == "bert-base") continue;  // half a GB; no convolutions
    const std::string path = folder.file(name + ".onnx");
    ASSERT_TRUE(write_zoo_network(network, 1, path)) << name;
    expect_none_of(load_onnx_tasks(path, {}), name);
    std::filesystem::remove(path);
  }
  // VGG-16: 3x3, as wide and high as they are padded, of these channels.
  const int vgg[][3] = {{224, 3, 64},    {224, 64, 64},  {112, 64, 128},
                        {112, 128, 128}, {56, 128, 256}, {56, 256, 256},
                        {28, 256, 512},  {28, 512, 512}, {14, 512, 512}};
  for (const auto& [size, in, out] : vgg) {
    expect_not(*space::Workload::parse(nlohmann::json{{"op", "conv2d"},
                                                      {"height", size},
                                                      {"width", size},
                                                      {"in_channels", in},
                                                      {"out_channels", out},
                                                      {"kernel", 3},
                                                      {"pad", 1}}),
               "vgg-16");
  }
}

TEST_P(HeldBack, AreNotRecorded) {
  int recordings = 0;
  for (const auto& entry : std::filesystem::directory_iterator(FETTLE_RECORDINGS)) {
    if (entry.path().extension() != ".gz") continue;
    const auto recording = replay::read_recording(entry.path().string());
    ASSERT_TRUE(recording) << entry.path();
    // A recorded workload is its DAG's text: its title says the shape.
    for (const auto& [shape, title] : titles_) {
      EXPECT_NE(recording->workload.title().substr(0, recording->workload.title().find(" +")),
                title.substr(0, title.find(" +")));
    }
    ++recordings;
  }
  EXPECT_GE(recordings, 5);
}

INSTANTIATE_TEST_SUITE_P(Lists, HeldBack, testing::ValuesIn(kLists),
                         [](const auto& list) { return kListNames[list.index]; });

}  // namespace
}  // namespace fettle::model
