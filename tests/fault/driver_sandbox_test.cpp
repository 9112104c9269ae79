// A vendor's driver that was taken over changes no file of its user and ends none of his processes:
// each way is tried in a process that has closed its sandbox, and looked at from outside.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/fs.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <span>
#include <sstream>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "agent/sandbox/file_access.h"
#include "agent/sandbox/filter_program.h"
#include "agent/sandbox/own_folder.h"
#include "agent/sandbox/sandbox.h"
#include "tests/support/kernel_sandbox.h"

namespace fettle::agent {
namespace {

namespace fs = std::filesystem;

constexpr uid_t kNobody = 65534;

// What an attempt is made on.
struct Victims {
  std::string folder;  // with the file "kept" and the folder "inner"
  pid_t process = 0;
  std::string own_folder;
  std::string kept() const { return folder + "/kept"; }
};

struct Attempt {
  const char* name;
  bool (*is_possible)(const Victims&);
};

bool map_and_change(int fd) {
  void* at = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (at == MAP_FAILED) return false;
  std::memcpy(at, "CHANGED", 7);
  return true;
}
bool opens(const std::string& path, int flags) { return open(path.c_str(), flags, 0600) >= 0; }

const Attempt kOnFiles[] = {
    {"shared mapping",
     [](const Victims& on) { return map_and_change(open(on.kept().c_str(), O_RDWR)); }},
    {"shared mapping of standard output", [](const Victims&) { return map_and_change(1); }},
    {"cutting off standard output", [](const Victims&) { return ftruncate(1, 0) == 0; }},
    {"O_TRUNC", [](const Victims& on) { return opens(on.kept(), O_WRONLY | O_TRUNC); }},
    {"O_TRUNC to be read", [](const Victims& on) { return opens(on.kept(), O_RDONLY | O_TRUNC); }},
    {"O_TRUNC for neither",
     [](const Victims& on) { return opens(on.kept(), O_ACCMODE | O_TRUNC); }},
    {"truncate", [](const Victims& on) { return truncate(on.kept().c_str(), 1) == 0; }},
    {"O_CREAT", [](const Victims& on) { return opens(on.folder + "/made", O_WRONLY | O_CREAT); }},
    {"O_TMPFILE", [](const Victims& on) { return opens(on.folder, O_RDWR | O_TMPFILE); }},
    {"unlink", [](const Victims& on) { return unlink(on.kept().c_str()) == 0; }},
    {"rmdir", [](const Victims& on) { return rmdir((on.folder + "/inner").c_str()) == 0; }},
    {"rename",
     [](const Victims& on) { return rename(on.kept().c_str(), (on.folder + "/b").c_str()) == 0; }},
    {"mkdir", [](const Victims& on) { return mkdir((on.folder + "/made").c_str(), 0700) == 0; }},
    {"mkfifo", [](const Victims& on) { return mkfifo((on.folder + "/made").c_str(), 0600) == 0; }},
    {"link",
     [](const Victims& on) { return link(on.kept().c_str(), (on.folder + "/b").c_str()) == 0; }},
    {"symlink", [](const Victims& on) { return symlink("kept", (on.folder + "/b").c_str()) == 0; }},
    {"chmod", [](const Victims& on) { return chmod(on.kept().c_str(), 0777) == 0; }},
    {"fchmod",
     [](const Victims& on) { return fchmod(open(on.kept().c_str(), O_RDONLY), 0777) == 0; }},
    {"chown", [](const Victims& on) { return chown(on.kept().c_str(), getuid(), getgid()) == 0; }},
    {"utimensat",
     [](const Victims& on) { return utimensat(AT_FDCWD, on.kept().c_str(), nullptr, 0) == 0; }},
    {"setxattr",
     [](const Victims& on) { return setxattr(on.kept().c_str(), "user.a", "b", 1, 0) == 0; }},
    {"FS_IOC_SETVERSION",
     [](const Victims& on) {
       const long generation = 4711;
       return ioctl(open(on.kept().c_str(), O_RDONLY), FS_IOC_SETVERSION, &generation) == 0;
     }},
    {"FS_IOC_SETFLAGS",
     [](const Victims& on) {
       const long flags = FS_NODUMP_FL;
       return ioctl(open(on.kept().c_str(), O_RDONLY), FS_IOC_SETFLAGS, &flags) == 0;
     }},
    {"shared memory of others",
     [](const Victims&) { return opens("/dev/shm/of_a_driver", O_RDWR | O_CREAT); }},
};

// Of a user that nobody is: all of one's own is more than a test may touch.
bool passes(long call, int which) {
  constexpr int nobodys = 123'456'789;
  return syscall(call, which, nobodys, 0) == 0 || errno == ESRCH;
}

struct Sockets {
  int ends[2];
  Sockets() { (void)!socketpair(AF_UNIX, SOCK_STREAM, 0, ends); }
};

const Attempt kOnProcesses[] = {
    {"kill", [](const Victims& on) { return kill(on.process, 0) == 0; }},
    {"prlimit of its CPU time",
     [](const Victims& on) {
       const rlimit none{0, 0};
       return prlimit(on.process, RLIMIT_CPU, &none, nullptr) == 0;
     }},
    {"prlimit of its files",
     [](const Victims& on) {
       const rlimit none{0, 0};
       return prlimit(on.process, RLIMIT_NOFILE, &none, nullptr) == 0;
     }},
    {"F_SETOWN",
     [](const Victims& on) { return fcntl(Sockets().ends[0], F_SETOWN, on.process) == 0; }},
    {"F_SETOWN_EX",
     [](const Victims& on) {
       const f_owner_ex owner{F_OWNER_PID, on.process};
       return fcntl(Sockets().ends[0], F_SETOWN_EX, &owner) == 0;
     }},
    {"F_SETSIG", [](const Victims&) { return fcntl(Sockets().ends[0], F_SETSIG, SIGKILL) == 0; }},
    {"FIOSETOWN",
     [](const Victims& on) {
       return syscall(SYS_ioctl, Sockets().ends[0], 0x8901, &on.process) == 0;
     }},
    {"SIOCSPGRP",
     [](const Victims& on) {
       return syscall(SYS_ioctl, Sockets().ends[0], 0x8902, &on.process) == 0;
     }},
    {"SIGKILL by a socket's owner",
     [](const Victims& on) {
       const Sockets pair;
       fcntl(pair.ends[0], F_SETOWN, on.process);
       fcntl(pair.ends[0], F_SETSIG, SIGKILL);
       fcntl(pair.ends[0], F_SETFL, O_ASYNC | O_NONBLOCK);
       (void)!write(pair.ends[1], "x", 1);
       return false;  // whether it lives is seen from outside
     }},
    {"sched_setaffinity",
     [](const Victims& on) {
       cpu_set_t set;
       return sched_getaffinity(0, sizeof set, &set) == 0 &&
              sched_setaffinity(on.process, sizeof set, &set) == 0;
     }},
    {"sched_setscheduler",
     [](const Victims& on) {
       const sched_param priority{};
       return sched_setscheduler(on.process, SCHED_BATCH, &priority) == 0;
     }},
    {"setpriority",
     [](const Victims& on) {
       return setpriority(PRIO_PROCESS, static_cast<id_t>(on.process), 19) == 0;
     }},
    {"setpriority of a user", [](const Victims&) { return passes(SYS_setpriority, PRIO_USER); }},
    {"ioprio_set",
     [](const Victims& on) { return syscall(SYS_ioprio_set, 1, on.process, 3 << 13) == 0; }},
    {"ioprio_set of a user", [](const Victims&) { return passes(SYS_ioprio_set, 3); }},
    {"its place where memory is short",
     [](const Victims& on) {
       return opens("/proc/" + std::to_string(on.process) + "/oom_score_adj", O_WRONLY);
     }},
    {"datagrams to whoever is named",
     [](const Victims&) {
       int ends[2];
       return socketpair(AF_UNIX, SOCK_DGRAM, 0, ends) == 0;
     }},
};

const Attempt kOfDrivers[] = {
    {"a device", [](const Victims&) { return write(open("/dev/null", O_RDWR), "x", 1) == 1; }},
    {"a file that is read", [](const Victims& on) { return opens(on.kept(), O_RDONLY); }},
    // CUDA does not start where it cannot.
    {"a thread's name",
     [](const Victims&) {
       std::atomic<bool> end = false;
       std::thread thread([&] {
         while (!end) usleep(1000);
       });
       const bool named = pthread_setname_np(thread.native_handle(), "of a driver") == 0;
       end = true;
       thread.join();
       return named;
     }},
    {"its own limits",
     [](const Victims&) {
       rlimit limit;
       return prlimit(0, RLIMIT_STACK, nullptr, &limit) == 0 &&
              prlimit(getpid(), RLIMIT_STACK, &limit, nullptr) == 0;
     }},
    {"its own cores",
     [](const Victims&) {
       cpu_set_t set;
       return sched_getaffinity(0, sizeof set, &set) == 0 &&
              sched_setaffinity(0, sizeof set, &set) == 0 &&
              sched_setaffinity(getpid(), sizeof set, &set) == 0;
     }},
    {"its own priority", [](const Victims&) { return setpriority(PRIO_PROCESS, 0, 19) == 0; }},
};

const Attempt kOfBuilders[] = {
    {"a file of its own",
     [](const Victims& on) {
       const std::string made = on.own_folder + "/made", then = on.own_folder + "/inner/then";
       const int fd = open(made.c_str(), O_RDWR | O_CREAT | O_TRUNC, 0600);
       return ftruncate(fd, 4096) == 0 && map_and_change(fd) &&
              mkdir((on.own_folder + "/inner").c_str(), 0700) == 0 &&
              link(made.c_str(), (made + "2").c_str()) == 0 &&
              rename(made.c_str(), then.c_str()) == 0 && unlink(then.c_str()) == 0;
     }},
    {"a program",
     [](const Victims&) {
       const pid_t pid = fork();
       if (pid == 0) {
         execl("/bin/true", "true", nullptr);
         _exit(1);
       }
       int status = 1;
       return waitpid(pid, &status, 0) == pid && status == 0;
     }},
};

enum class Way { Landlock, Mounts };

// As a kernel before 5.13 answers.
void leave_landlock_out() {
  FilterProgram filter(SECCOMP_RET_ALLOW);
  filter.on(444, SECCOMP_RET_ERRNO | ENOSYS);
  filter.answer(SECCOMP_RET_ALLOW);
  if (!filter.install().empty()) _exit(1);
}

// Root reaches the disks, where mounts are all that there is.
void be_nobody() {
  if (geteuid() == 0 && (setgid(kNobody) != 0 || setuid(kNobody) != 0)) _exit(1);
  prctl(PR_SET_DUMPABLE, 1);  // else /proc has it as root's
}

class DriverSandbox : public testing::TestWithParam<std::tuple<SystemCalls, Way>> {
 protected:
  static SystemCalls calls() { return std::get<0>(GetParam()); }
  static Way way() { return std::get<1>(GetParam()); }

  void SetUp() override {
    if (const auto why = test::why_no_call_filter(); !why.empty()) GTEST_SKIP() << why;
    const auto why = way() == Way::Landlock ? test::why_no_landlock() : test::why_no_mounts();
    if (!why.empty()) GTEST_SKIP() << why;
    char place[] = "/tmp/fettle_driver_XXXXXX", own[] = "/tmp/fettle_own_XXXXXX";
    on_.folder = mkdtemp(place);
    if (calls() == SystemCalls::Builds) on_.own_folder = mkdtemp(own);
    std::ofstream(on_.kept()) << std::string(4096, 'k');
    mkdir((on_.folder + "/inner").c_str(), 0700);
    for (const std::string& path :
         {on_.folder, on_.kept(), on_.folder + "/inner", on_.own_folder}) {
      if (way() == Way::Mounts && geteuid() == 0) (void)!chown(path.c_str(), kNobody, kNobody);
    }
    on_.process = fork();
    if (on_.process == 0) {
      if (way() == Way::Mounts) be_nobody();
      while (true) pause();
    }
  }
  void TearDown() override {
    if (on_.process > 0) {
      kill(on_.process, SIGKILL);
      waitpid(on_.process, nullptr, 0);
    }
    fs::remove_all(on_.folder);
    if (!on_.own_folder.empty()) fs::remove_all(on_.own_folder);
  }

  // Which of them are possible in the sandbox; it must be what it says.
  std::vector<std::string> possible(std::span<const Attempt> attempts) {
    int ends[2];
    EXPECT_EQ(pipe(ends), 0);
    const pid_t pid = fork();
    if (pid == 0) {
      signal(SIGXFSZ, SIG_IGN);
      if (calls() == SystemCalls::Driver) dup2(open(on_.kept().c_str(), O_RDWR), 1);
      if (way() == Way::Mounts) be_nobody();
      if (way() == Way::Mounts) leave_landlock_out();
      SandboxSurroundings surroundings;
      surroundings.files_in_reach = confine_files({{}, on_.own_folder});
      const SandboxState state = enter_sandbox({.calls = calls()}, surroundings);
      const std::string said = state.level == wire::Sandbox::Driver ? "" : state.note + "\n";
      (void)!write(ends[1], said.data(), said.size());
      for (const Attempt& each : attempts) {
        const bool done = each.is_possible(on_);
        const std::string line = std::string(each.name) + "\n";
        if (done) (void)!write(ends[1], line.data(), line.size());
      }
      _exit(0);
    }
    close(ends[1]);
    std::string text;
    char piece[512];
    for (ssize_t n; (n = read(ends[0], piece, sizeof piece)) > 0;) {
      text.append(piece, static_cast<std::size_t>(n));
    }
    close(ends[0]);
    int status = -1;
    waitpid(pid, &status, 0);
    EXPECT_EQ(status, 0);
    std::vector<std::string> out;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) out.push_back(line);
    return out;
  }

  static std::vector<std::string> names_of(std::span<const Attempt> attempts) {
    std::vector<std::string> out;
    for (const Attempt& each : attempts) out.emplace_back(each.name);
    return out;
  }

  Victims on_;
};

TEST_P(DriverSandbox, ChangesNoFileOfTheUser) {
  struct stat before{}, after{};
  ASSERT_EQ(stat(on_.kept().c_str(), &before), 0);
  std::vector<std::string> none;
  // A builder's own output is what it was given.
  std::vector<Attempt> attempts(std::begin(kOnFiles), std::end(kOnFiles));
  if (calls() == SystemCalls::Builds) attempts.erase(attempts.begin() + 1, attempts.begin() + 3);
  EXPECT_EQ(possible(attempts), none);

  ASSERT_EQ(stat(on_.kept().c_str(), &after), 0);
  EXPECT_EQ(after.st_mode, before.st_mode);
  EXPECT_EQ(after.st_mtim.tv_nsec, before.st_mtim.tv_nsec);
  std::ifstream file(on_.kept());
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(file), {}), std::string(4096, 'k'));
  EXPECT_EQ(std::distance(fs::directory_iterator(on_.folder), {}), 2);
}

TEST_P(DriverSandbox, EndsNoOtherProcess) {
  EXPECT_EQ(possible(kOnProcesses), std::vector<std::string>());
  usleep(100'000);
  EXPECT_EQ(waitpid(on_.process, nullptr, WNOHANG), 0) << "it has ended";
}

TEST_P(DriverSandbox, LetsDriversWork) {
  EXPECT_EQ(possible(kOfDrivers), names_of(kOfDrivers));
  if (calls() == SystemCalls::Builds) {
    EXPECT_EQ(possible(kOfBuilders), names_of(kOfBuilders));
  }
}

INSTANTIATE_TEST_SUITE_P(
    Ways, DriverSandbox,
    testing::Combine(testing::Values(SystemCalls::Driver, SystemCalls::Builds),
                     testing::Values(Way::Landlock, Way::Mounts)),
    [](const auto& info) {
      return std::string(std::get<0>(info.param) == SystemCalls::Driver ? "Driver" : "Builds") +
             (std::get<1>(info.param) == Way::Landlock ? "ByLandlock" : "ByMounts");
    });

// Exit status of a child that does `work`.
template <typename Work>
int in_a_child(Work work) {
  const pid_t pid = fork();
  if (pid == 0) _exit(work());
  int status = -1;
  waitpid(pid, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

// Keys that their user makes while a worker runs; what lies beside them is read as before.
TEST(HiddenFiles, AreNotReachedWhenTheyAreMadeLater) {
  if (const auto why = test::why_no_landlock(); !why.empty()) GTEST_SKIP() << why;
  char place[] = "/tmp/fettle_hidden_XXXXXX";
  const fs::path home = mkdtemp(place);
  std::ofstream(home / "beside") << "x";
  int confined[2], made[2];
  ASSERT_EQ(pipe(confined), 0);
  ASSERT_EQ(pipe(made), 0);
  const pid_t worker = fork();
  if (worker == 0) {
    const bool held = confine_files({{home / "keys" / "inner", home / ".ssh"}, ""}).empty();
    char byte = 0;
    (void)!write(confined[1], &byte, 1);
    (void)!read(made[0], &byte, 1);
    const bool reached =
        opens(home / "keys" / "inner" / "key", O_RDONLY) || opens(home / ".ssh" / "id", O_RDONLY);
    _exit(held && !reached && opens(home / "beside", O_RDONLY) ? 0 : 1);
  }
  close(std::exchange(confined[1], -1));
  char byte = 0;
  ASSERT_EQ(read(confined[0], &byte, 1), 1) << "it ended before";
  fs::create_directories(home / "keys" / "inner");
  fs::create_directories(home / ".ssh");
  std::ofstream(home / "keys" / "inner" / "key") << "secret";
  std::ofstream(home / ".ssh" / "id") << "secret";
  ASSERT_EQ(write(made[1], &byte, 1), 1);
  int status = -1;
  waitpid(worker, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  for (const int fd : {confined[0], made[0], made[1]}) close(fd);
  fs::remove_all(home);
}

TEST(DriverLevel, IsNotToldWhereFilesCanBeChanged) {
  if (const auto why = test::why_no_call_filter(); !why.empty()) GTEST_SKIP() << why;
  EXPECT_EQ(in_a_child([] {
              const SandboxState state = enter_sandbox({.calls = SystemCalls::Driver}, {});
              return state.holds || state.level == wire::Sandbox::Driver ? 1 : 0;
            }),
            0);
}

// Neither Landlock nor a namespace of users: an old kernel in a container.
TEST(DriverLevel, IsNotToldWhereNothingConfines) {
  if (const auto why = test::why_no_call_filter(); !why.empty()) GTEST_SKIP() << why;
  EXPECT_EQ(in_a_child([] {
              leave_landlock_out();
              FilterProgram filter(SECCOMP_RET_ALLOW);
              filter.on(__NR_unshare, SECCOMP_RET_ERRNO | EPERM);
              filter.answer(SECCOMP_RET_ALLOW);
              if (!filter.install().empty()) return 1;
              SandboxSurroundings surroundings;
              surroundings.files_in_reach = confine_files({});
              const auto state = enter_sandbox({.calls = SystemCalls::Driver}, surroundings);
              return state.holds || state.level == wire::Sandbox::Driver ? 1 : 0;
            }),
            0);
}

// What Landlock overlooks before Linux 6.2 is the filter's.
TEST(DriverFilter, AloneCutsOffNoFileThatIsOpenedToBeRead) {
  if (const auto why = test::why_no_call_filter(); !why.empty()) GTEST_SKIP() << why;
  const std::string path = "/tmp/fettle_cut_" + std::to_string(getpid());
  std::ofstream(path) << "kept";
  for (const SystemCalls calls : {SystemCalls::Driver, SystemCalls::Builds}) {
    EXPECT_EQ(in_a_child([&] {
                enter_sandbox({.calls = calls}, {});
                return opens(path, O_RDONLY | O_TRUNC) || opens(path, O_ACCMODE | O_TRUNC) ||
                       truncate(path.c_str(), 0) == 0;
              }),
              0);
    EXPECT_EQ(fs::file_size(path), 4u);
  }
  fs::remove(path);
}

TEST(OwnFolder, GoesWhenItsWorkerHasEndedAndNothingElseDoes) {
  char place[] = "/tmp/fettle_folders_XXXXXX";
  const fs::path folder = mkdtemp(place);
  fs::create_directory(folder / "others");
  std::ofstream(folder / "others" / "kept") << "kept";
  const auto make = [&] {
    setenv("XDG_CACHE_HOME", folder.c_str(), 1);
    return fs::path(make_own_folder());
  };
  EXPECT_EQ(in_a_child([&] {
              const fs::path own = make();
              fs::create_directories(own / "a" / "b");
              std::ofstream(own / "a" / "b" / "built") << "x";
              fs::create_directory_symlink(folder / "others", own / "a" / "link");
              return own.empty() ? 1 : 0;
            }),
            0);
  const fs::path all = folder / ("fettle-workers-" + std::to_string(geteuid()));
  ASSERT_EQ(std::distance(fs::directory_iterator(all), {}), 1);
  const fs::path ours = make();
  EXPECT_EQ(std::distance(fs::directory_iterator(all), {}), 1) << "the ended one's is gone";
  EXPECT_EQ(in_a_child([&] { return make().empty() ? 1 : 0; }), 0);
  EXPECT_TRUE(fs::is_directory(ours)) << "its worker lives";
  EXPECT_TRUE(fs::is_regular_file(folder / "others" / "kept"));
  fs::remove_all(folder);
}

}  // namespace
}  // namespace fettle::agent
