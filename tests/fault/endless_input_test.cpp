// Files that never end, read by a process that may not have much memory.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zlib.h>
#include <filesystem>
#include <fstream>
#include <functional>
#include <new>
#include <sstream>

#include "agent/server/options.h"
#include "host/fleet/allow_list.h"
#include "host/fleet/keys.h"
#include "host/model/kernel_file.h"
#include "host/model/source_text.h"
#include "host/model/task_list.h"
#include "host/records/export.h"
#include "host/replay/recording.h"
#include "runtime/run/tensors.h"
#include "schemas/wire/bounded_read.h"
#include "tests/support/running_program.h"

namespace fettle {
namespace {

using testing::ScratchFolder;

constexpr rlim_t kMoreMemory = rlim_t{1} << 30;

// What the process has mapped, in bytes.
rlim_t mapped() {
  std::ifstream statm("/proc/self/statm");
  rlim_t pages = 0;
  statm >> pages;
  return pages * static_cast<rlim_t>(sysconf(_SC_PAGESIZE));
}

// The error of `read`, in a child that may have 1 GiB more than this process, and a minute.
std::string error_of(const std::function<std::string()>& read) {
  int ends[2];
  if (pipe(ends) != 0) return "no pipe";
  const pid_t child = fork();
  if (child == 0) {
    alarm(60);
    const rlimit limit{mapped() + kMoreMemory, mapped() + kMoreMemory};
    setrlimit(RLIMIT_AS, &limit);
    std::string said;
    try {
      said = read();
    } catch (const std::bad_alloc&) {
      said = "out of memory";
    }
    const ssize_t n = write(ends[1], said.data(), said.size());
    _exit(n == static_cast<ssize_t>(said.size()) ? 0 : 1);
  }
  close(ends[1]);
  std::string said;
  char piece[4096];
  for (ssize_t n; (n = ::read(ends[0], piece, sizeof piece)) > 0;) {
    said.append(piece, static_cast<std::size_t>(n));
  }
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? said : "killed by signal " + std::to_string(WTERMSIG(status));
}

template <typename T>
std::string said(const Result<T>& result) {
  return result ? "it was read" : result.error().text();
}

void expect_refused(const std::string& error, const std::string& file, const std::string& limit) {
  EXPECT_NE(error.find(file), std::string::npos) << error;
  EXPECT_NE(error.find(limit), std::string::npos) << error;
}

TEST(EndlessInput, AnImportOfOneLine) {
  ScratchFolder folder;
  const std::string database = folder.file("r.db");
  const auto error = error_of([&] {
    std::ifstream in("/dev/zero");
    return said(records::import_lines(database, in, "/dev/zero"));
  });
  expect_refused(error, "line 1 of /dev/zero", "16 MiB");
  EXPECT_NE(error.find("nothing was imported"), std::string::npos) << error;
  EXPECT_FALSE(std::filesystem::exists(database));
}

TEST(EndlessInput, ManyLines) {
  std::istringstream in(std::string(1000, '\n'));
  BoundedLines lines(in, "standard input", 100);
  std::string line;
  for (int i = 0; i < 100; ++i) {
    const auto more = lines.next(line);
    ASSERT_TRUE(more.ok());
    EXPECT_TRUE(line.empty());
  }
  expect_refused(said(lines.next(line)), "standard input", "100 bytes");
}

TEST(EndlessInput, TextFiles) {
  const std::string zero = "/dev/zero";
  expect_refused(error_of([&] { return said(model::load_workload_file(zero)); }), zero, "16 MiB");
  expect_refused(error_of([&] { return said(model::contents(zero)); }), zero, "16 MiB");
  expect_refused(error_of([&] { return said(fleet::load_allow_list(zero)); }), zero, "16 MiB");
  expect_refused(error_of([&] { return said(agent::parse_options({"--config", zero})); }), zero,
                 "16 MiB");
  ScratchFolder folder;
  // What a file's size tells is not even begun with.
  const std::string large = folder.file("large.json");
  std::ofstream(large) << "[";
  std::filesystem::resize_file(large, std::uintmax_t{1} << 40);
  expect_refused(error_of([&] { return said(model::load_workload_file(large)); }),
                 large + " has 1048576 MiB", "16 MiB");
  const std::string kernel = folder.file("own.cl"), toml = folder.file("own.toml");
  std::ofstream(kernel) << "";
  std::ofstream(toml) << "#";
  std::filesystem::resize_file(toml, std::uintmax_t{1} << 40);
  expect_refused(error_of([&] { return said(model::load_kernel(kernel)); }),
                 toml + " has 1048576 MiB", "16 MiB");
}

TEST(EndlessInput, TensorsAndImages) {
  wire::NetworkTensorT tensor;
  tensor.name = "data";
  tensor.dtype = wire::ScalarType::Float32;
  tensor.shape = {1, 3, 4, 4};
  const auto read = [&](const std::string& file) {
    return error_of([&] { return said(run::input_of_file(tensor, file, {})); });
  };
  ScratchFolder folder;
  for (const char* ending : {".npy", ".npz", ".png"}) {
    const std::string endless = folder.file("endless") + ending;
    std::filesystem::create_symlink("/dev/zero", endless);
    expect_refused(read(endless), endless, "256 MiB");
  }
  // A few bytes that say they are 16,000 times 16,000 pixels.
  const std::string bomb = folder.file("bomb.ppm");
  std::ofstream(bomb) << "P6 16000 16000 255\n" << std::string(3000, 'x');
  expect_refused(read(bomb), "16000x16000", "67108864");
}

TEST(EndlessInput, Recordings) {
  ScratchFolder folder;
  const auto read = [&](const std::string& file) {
    return error_of([&] { return said(replay::read_recording(file)); });
  };
  EXPECT_NE(read("/dev/zero").find("/dev/zero"), std::string::npos);
  // 64 MiB of one line, in a few kilobytes.
  const std::string bomb = folder.file("bomb.gz");
  gzFile file = gzopen(bomb.c_str(), "wb1");
  const std::string piece(std::size_t{1} << 20, ' ');
  for (int i = 0; i < 64; ++i) gzwrite(file, piece.data(), static_cast<unsigned>(piece.size()));
  gzclose(file);
  EXPECT_NE(read(bomb).find("longer than any line"), std::string::npos) << read(bomb);
}

}  // namespace
}  // namespace fettle
