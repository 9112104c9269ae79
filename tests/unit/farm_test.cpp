// A farm's decisions under times of our own making, and what it reads of Slurm and of a broker.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "host/farm/broker_queue.h"
#include "host/farm/farm_plan.h"
#include "host/farm/kubernetes.h"
#include "host/farm/slurm.h"
#include "host/process/run_program.h"

namespace fettle::farm {
namespace {

using std::chrono::seconds;

class Farm : public ::testing::Test {
 protected:
  // What the engine has, as if all that is asked for were done at once.
  Change look(std::uint32_t wanted, FarmPlan& plan) {
    Change change = plan.next(wanted, workers, now);
    std::vector<std::string> ids;
    for (unsigned i = 0; i < change.start; ++i) ids.push_back(std::to_string(next++));
    for (const std::string& id : ids) workers.push_back({id, true});
    plan.started(ids);
    for (const std::string& id : change.stop)
      std::erase_if(workers, [&](const Worker& worker) { return worker.id == id; });
    plan.stopped(change.stop);
    now += seconds(5);
    return change;
  }
  TimePoint now = TimePoint() + std::chrono::hours(1);
  std::vector<Worker> workers;
  int next = 1;
};

TEST_F(Farm, HasAWorkerForEachSoManyCandidates) {
  FarmPlan plan({0, 4, 2, seconds(60)});
  EXPECT_EQ(look(0, plan).start, 0u);
  EXPECT_EQ(look(1, plan).start, 1u);
  EXPECT_EQ(look(4, plan).start, 1u) << "two compilers each";
  EXPECT_EQ(look(5, plan).start, 1u);
  EXPECT_EQ(look(4'000'000'000u, plan).start, 1u) << "no more than --max";
  EXPECT_EQ(workers.size(), 4u);
}

TEST_F(Farm, ShrinksOnlyBehindATimeWithoutNeed) {
  FarmPlan plan({1, 4, 1, seconds(20)});
  EXPECT_EQ(look(4, plan).start, 4u);
  for (int i = 0; i < 4; ++i) EXPECT_TRUE(look(2, plan).stop.empty()) << i;
  EXPECT_EQ(look(0, plan).stop, (std::vector<std::string>{"4", "3"})) << "two were needed till now";
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(look(0, plan).stop.empty()) << i;
  look(0, plan);
  EXPECT_EQ(workers.size(), 1u) << "--min";
  EXPECT_EQ(workers[0].id, "1");
}

TEST_F(Farm, WhatItFindsCountsAndGoesNoSoonerThanItsOwn) {
  FarmPlan plan({0, 3, 1, seconds(10)});
  workers = {{"7_0", true}, {"7_1", false}, {"8_0", true}};
  Change change = look(3, plan);
  EXPECT_EQ(change.start, 0u);
  EXPECT_EQ(change.lost, 0u);
  EXPECT_TRUE(look(0, plan).stop.empty());
  change = look(2, plan);
  EXPECT_TRUE(change.stop.empty()) << "three were wanted ten seconds ago";
  EXPECT_EQ(look(2, plan).stop, std::vector<std::string>{"7_1"}) << "it does not run yet";
  // More than may be: at once.
  FarmPlan smaller({0, 1, 1, seconds(60)});
  EXPECT_EQ(look(9, smaller).stop, std::vector<std::string>{"8_0"});
}

TEST_F(Farm, LostWorkersAreReplacedAndThoseThatCannotRunHeldBack) {
  FarmPlan plan({2, 2, 1, seconds(60)});
  EXPECT_EQ(look(0, plan).start, 2u);
  workers.pop_back();
  Change change = look(0, plan);
  EXPECT_EQ(change.lost, 1u);
  EXPECT_EQ(change.start, 1u) << "the first is replaced at once";
  unsigned started = 0;
  for (int i = 0; i < 60; ++i) {  // five minutes of workers that end at once
    workers.clear();
    started += look(0, plan).start;
  }
  EXPECT_GE(started, 2u);
  EXPECT_LE(started, 12u) << "10, 20, 40, 80, 160 s";
  for (int i = 0; i < 80 && workers.size() < 2; ++i) look(0, plan);
  EXPECT_EQ(workers.size(), 2u) << "it goes on trying";
  // A minute without a loss: as if nothing had been.
  for (int i = 0; i < 13; ++i) EXPECT_EQ(look(0, plan).lost, 0u);
  workers.pop_back();
  EXPECT_EQ(look(0, plan).start, 1u);
}

TEST(Slurm, ReadsItsTasksOldestFirstWithoutThoseThatAreOver) {
  const auto tasks = parse_tasks(
      "12_0|PENDING|Resources\n9_1|RUNNING|None\n9_0|COMPLETING|None\n10|RUNNING|None\n"
      "9_10|PENDING|launch failed requeued held\n9_2|TIMEOUT|TimeLimit\n");
  ASSERT_TRUE(tasks.ok()) << tasks.error().text();
  ASSERT_EQ(tasks->size(), 4u);
  EXPECT_EQ((*tasks)[0].worker.id, "9_1");
  EXPECT_TRUE((*tasks)[0].worker.runs);
  EXPECT_EQ((*tasks)[1].worker.id, "9_10");
  EXPECT_FALSE((*tasks)[1].worker.runs);
  EXPECT_EQ((*tasks)[1].reason, "launch failed requeued held");
  EXPECT_EQ((*tasks)[2].worker.id, "10");
  EXPECT_EQ((*tasks)[3].worker.id, "12_0");
  EXPECT_TRUE(parse_tasks("")->empty());
  EXPECT_FALSE(parse_tasks("slurm_load_jobs error\n").ok());
}

// A shell that has squeue show other things by its variables must not hide the workers.
TEST(Slurm, ItsCommandsDoNotSeeTheShellsOptions) {
  const process::ScratchFolder folder;
  for (const char* command : {"sbatch", "squeue", "scancel"}) {
    ASSERT_TRUE(
        process::write_file(folder.file(command),
                            "#!/bin/sh\nif env | grep -qE "
                            "'^(SQUEUE_|SBATCH_WAIT|SCANCEL_|SLURM_CLUSTERS=)'; then exit 1; fi\n"
                            "echo \"17_0|RUNNING|$SBATCH_ACCOUNT\"\n"));
    std::filesystem::permissions(folder.file(command), std::filesystem::perms::owner_all);
  }
  const std::string path = std::getenv("PATH");
  ::setenv("PATH", (folder.file("") + ":" + path).c_str(), 1);
  const std::vector<const char*> hidden = {"SQUEUE_STATES", "SBATCH_WAIT", "SLURM_CLUSTERS"};
  for (const char* name : hidden) ::setenv(name, "other", 1);
  ::setenv("SBATCH_ACCOUNT", "kept", 1);
  SlurmJobs jobs;
  jobs.name = "farm";
  const auto slurm = Slurm::open(jobs);
  const auto tasks = slurm ? slurm->tasks() : Result<std::vector<SlurmTask>>(slurm.error());
  for (const char* name : hidden) ::unsetenv(name);
  ::unsetenv("SBATCH_ACCOUNT");
  ::setenv("PATH", path.c_str(), 1);
  ASSERT_TRUE(tasks.ok()) << tasks.error().text();
  ASSERT_EQ(tasks->size(), 1u);
  EXPECT_EQ(tasks->at(0).reason, "kept") << "sbatch is told its account";
}

TEST(Slurm, ReadsWhatSbatchPrints) {
  EXPECT_EQ(*parse_submitted("17\n", 2), (std::vector<std::string>{"17_0", "17_1"}));
  EXPECT_EQ(*parse_submitted("17;cluster\n", 1), std::vector<std::string>{"17_0"});
  EXPECT_FALSE(parse_submitted("Submitted batch job 17\n", 1).ok());
  EXPECT_FALSE(parse_submitted("", 1).ok());
}

// The package depends on the libraries of the release that it was built on.
TEST(Kubernetes, ItsImageIsOfThisMachinesRelease) {
  const auto from = [](const std::string& release) {
    const std::string text = containerfile(release);
    const std::size_t at = text.find("\nFROM ") + 1;
    return text.substr(at, text.find('\n', at) - at);
  };
  EXPECT_EQ(from("PRETTY_NAME=\"Debian GNU/Linux 13 (trixie)\"\nVERSION_ID=\"13\"\nID=debian\n"),
            "FROM debian:13-slim");
  EXPECT_EQ(from("NAME=\"Ubuntu\"\nVERSION_ID=\"24.04\"\nID=ubuntu\nID_LIKE=debian\n"),
            "FROM ubuntu:24.04");
  EXPECT_EQ(from("ID='debian'\nVERSION_ID='12'"), "FROM debian:12-slim");
  for (const std::string other :
       {"ID=fedora\nVERSION_ID=40\n", "ID=debian\nVERSION_CODENAME=forky\n",
        "ID=debian\nVERSION_ID=\"12\\nRUN rm\"\n", ""}) {
    EXPECT_EQ(from(other), "FROM debian:12-slim");
    EXPECT_NE(containerfile(other).find("# Put the release there"), std::string::npos) << other;
  }
  EXPECT_EQ(containerfile("ID=ubuntu\nVERSION_ID=24.04").find("# Put"), std::string::npos);
}

TEST(WorkerCommand, IsOneWordEachInAShell) {
  EXPECT_EQ(shell_line({"/my programs/fettle", "a'b", "$HOME"}),
            R"(exec '/my programs/fettle' 'a'\''b' '$HOME')");
}

TEST(BrokerQueue, IsOfOneVersion) {
  wire::DeviceListT list;
  for (const char* key : {"build:v1", "build:v2", "pynq"}) {
    auto status = std::make_unique<wire::DeviceStatusT>();
    status->key = key;
    status->total = 2;
    status->free = 1;
    status->pending = key == std::string("build:v1") ? 3 : 30;
    list.keys.push_back(std::move(status));
  }
  const fleet::BuildQueue queue = queue_of(list, "v1");
  EXPECT_EQ(queue.builders, 2u);
  EXPECT_EQ(queue.busy, 1u);
  EXPECT_EQ(queue.wanted(), 4u);
  EXPECT_EQ(queue_of(list, "v3").wanted(), 0u);
}

TEST(Kubernetes, TakesOnlyNamesThatItsObjectsMayHave) {
  KubernetesFarm farm;
  farm.image = "example/fettle:1";
  EXPECT_TRUE(check(farm).ok());
  for (const char* name : {"", "-a", "a-", "A", "a.b", "a b", "a\nkind: Pod"}) {
    KubernetesFarm wrong = farm;
    wrong.space = name;
    EXPECT_EQ(check(wrong).error().code, ErrorCode::InvalidArgument) << name;
  }
  for (const char* image : {"", "a b", "a\nb"}) {
    KubernetesFarm wrong = farm;
    wrong.image = image;
    EXPECT_FALSE(check(wrong).ok()) << image;
  }
}

}  // namespace
}  // namespace fettle::farm
