// SlurmCluster (slurm_cluster.h).
#include "tests/support/slurm_cluster.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>

#include "tests/support/free_port.h"

namespace fettle::testing {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr const char* kDaemons[] = {"munged", "slurmctld", "slurmd"};

std::string program(const std::string& name) {
  for (const char* folder : {"/usr/sbin/", "/usr/bin/"})
    if (::access((folder + name).c_str(), X_OK) == 0) return folder + name;
  return "";
}

std::string host_name() {
  char name[256] = {};
  (void)::gethostname(name, sizeof name - 1);
  const std::string whole = name;
  return whole.substr(0, whole.find('.'));
}

template <typename Condition>
bool soon(Condition condition, seconds limit) {
  const auto end = std::chrono::steady_clock::now() + limit;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(milliseconds(100));
  }
  return true;
}

}  // namespace

std::string SlurmCluster::why_none() {
  for (const char* name : {"sbatch", "squeue", "scancel", "sinfo"})
    if (program(name).empty()) return "no Slurm here";
  for (const char* name : kDaemons)
    if (program(name).empty()) return "no Slurm here";
  if (::geteuid() != 0) return "Slurm's node wants to be root";
  return {};
}

SlurmCluster::SlurmCluster(unsigned cpus) {
  for (const char* name : {"munge", "state", "spool"}) fs::create_directory(folder_.file(name));
  // munged wants a folder that everybody may enter and nobody else may write to.
  ::chmod(folder_.path().c_str(), 0755);
  ::chmod(folder_.file("munge").c_str(), 0755);
  const std::string host = host_name();
  std::ofstream(folder_.file("slurm.conf"))
      << "ClusterName=fettle\nSlurmctldHost=localhost(127.0.0.1)\nSlurmctldPort=" << free_port()
      << "\nSlurmdPort=" << free_port()
      << "\nSlurmUser=root\nSlurmdUser=root\nAuthType=auth/munge\n"
      << "AuthInfo=socket=" << folder_.file("munge/socket")
      << "\nStateSaveLocation=" << folder_.file("state")
      << "\nSlurmdSpoolDir=" << folder_.file("spool")
      << "\nSlurmctldPidFile=" << folder_.file("slurmctld.pid")
      << "\nSlurmdPidFile=" << folder_.file("slurmd.pid")
      << "\nProctrackType=proctrack/linuxproc\nTaskPlugin=task/none\nMpiDefault=none\n"
         "SelectType=select/cons_tres\nSelectTypeParameters=CR_Core\nReturnToService=2\n"
         "SchedulerParameters=sched_interval=1,batch_sched_delay=0\nKillWait=5\n"
         "SlurmdParameters=config_overrides\n"
      << "NodeName=localhost NodeHostname=" << host << " NodeAddr=127.0.0.1 CPUs=" << cpus
      << " State=UNKNOWN\nPartitionName=build Nodes=localhost Default=YES State=UP\n";
  start_munge();
  start_controller();
  start_node();
}

SlurmCluster::~SlurmCluster() {
  // Whatever runs is ended by Slurm, which knows its processes.
  (void)run({"scancel", "--user", std::to_string(::geteuid())});
  EXPECT_TRUE(soon([&] { return run({"squeue", "--noheader"}).out.empty(); }, seconds(30)))
      << run({"squeue"}).out;
  for (RunningProgram* each : {node_.get(), controller_.get(), munge_.get()}) {
    if (each == nullptr) continue;
    each->signal(SIGTERM);
    EXPECT_NE(each->wait(seconds(20)), -1) << logs();
  }
}

std::map<std::string, std::string> SlurmCluster::environment() const {
  return {{"SLURM_CONF", folder_.file("slurm.conf")}};
}

ProgramResult SlurmCluster::run(const std::vector<std::string>& words) const {
  return run_program(words, seconds(60), environment());
}

std::vector<std::string> SlurmCluster::states(const std::string& job_name) const {
  std::istringstream words(
      run({"squeue", "--array", "--noheader", "--name", job_name, "--format", "%T"}).out);
  std::vector<std::string> all;
  for (std::string word; words >> word;) all.push_back(word);
  return all;
}

// It goes with this process. What it starts may hold its output open for long, so that is a file.
SlurmCluster::Program SlurmCluster::daemon(const std::string& name,
                                           std::vector<std::string> options) const {
  std::vector<std::string> words = {"setpriv",    "--pdeathsig",
                                    "KILL",       "sh",
                                    "-c",         "log=$1; shift; exec \"$@\" >>\"$log\" 2>&1",
                                    "sh",         folder_.file(name + ".log"),
                                    program(name)};
  words.insert(words.end(), options.begin(), options.end());
  return std::make_unique<RunningProgram>(words, environment());
}

// Their last words, for a test that failed.
std::string SlurmCluster::logs() const {
  std::string all;
  for (const char* name : kDaemons) {
    std::ifstream file(folder_.file(std::string(name) + ".log"));
    const std::string text(std::istreambuf_iterator<char>(file), {});
    all += std::string(name) + ": " + text.substr(text.size() > 2000 ? text.size() - 2000 : 0);
  }
  return all;
}

void SlurmCluster::start_munge() {
  std::random_device random;
  {
    std::ofstream key(folder_.file("munge/key"), std::ios::binary);
    for (int i = 0; i < 128; ++i) key.put(static_cast<char>(random()));
  }
  ::chmod(folder_.file("munge/key").c_str(), 0400);
  munge_ = daemon("munged", {"--foreground", "--key-file=" + folder_.file("munge/key"),
                             "--socket=" + folder_.file("munge/socket"),
                             "--pid-file=" + folder_.file("munge/pid"),
                             "--log-file=" + folder_.file("munge/log"),
                             "--seed-file=" + folder_.file("munge/seed"), "--num-threads=2"});
  EXPECT_TRUE(soon([&] { return fs::exists(folder_.file("munge/socket")); }, seconds(20)))
      << logs();
}

void SlurmCluster::start_controller() {
  controller_ = daemon("slurmctld", {"-D", "-i", "-f", folder_.file("slurm.conf")});
  EXPECT_TRUE(soon([&] { return run({"sinfo", "--noheader"}).status == 0; }, seconds(30)))
      << logs();
}

void SlurmCluster::start_node() {
  node_ = daemon("slurmd", {"-D", "-f", folder_.file("slurm.conf")});
  const auto usable = [&] {
    const std::string state = run({"sinfo", "--noheader", "--format", "%T"}).out;
    return state == "idle\n" || state == "mixed\n" || state == "allocated\n";
  };
  EXPECT_TRUE(soon(usable, seconds(60))) << run({"sinfo"}).out << logs();
}

void SlurmCluster::kill_node() {
  node_->signal(SIGKILL);
  EXPECT_EQ(node_->wait(seconds(20)), 128 + SIGKILL);
}

}  // namespace fettle::testing
