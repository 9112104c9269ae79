// A program run to its end: compilers, assemblers, a user's reference.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <stop_token>
#include <string>
#include <vector>

#include "schemas/wire/result.h"

namespace fettle::process {

struct RunPlan {
  std::vector<std::string> argv;  // argv[0] is looked up in PATH when it has no '/'
  std::string input;              // file of its standard input; "": nothing
  std::string output;             // file of its standard output; "": as its standard error
  std::chrono::milliseconds limit{60'000};
  std::uint64_t memory_bytes = 0;  // address space limit; 0: none
  std::stop_token stop = {};
  std::vector<std::string> hidden = {};  // variables that begin so are not in its environment
};

struct Ran {
  int status = 0;    // as waitpid tells it: 0 is fine
  std::string said;  // on its standard error, to 64 KiB
};

// Timeout: it took longer than the limit; Canceled: stopped; Io: it cannot be started. It has
// ended whatever is returned; at a Timeout and when stopped, with what it started.
Result<Ran> run_program(const RunPlan& plan);

// Where a program of that name is: as it stands, if it has a '/', or the first of PATH. "":
// nowhere.
std::string find_program(const std::string& name);

// A folder of its own for files, which goes with it.
class ScratchFolder {
 public:
  ScratchFolder();
  ~ScratchFolder();
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  bool there() const { return !path_.empty(); }
  std::string file(const std::string& name) const { return path_ / name; }

 private:
  std::filesystem::path path_;
};

// A place for the scratch folders of a child that may be killed, and then removes none: there is
// nothing until the child makes the first, and all of it goes with this object, which must outlive
// the child.
class LentScratch {
 public:
  LentScratch();
  ~LentScratch();
  LentScratch(const LentScratch&) = delete;
  LentScratch& operator=(const LentScratch&) = delete;
  // For the child (ChildPlan::environment).
  std::string variable() const;

 private:
  std::filesystem::path path_;
};

// "" where it cannot be read; write: false.
std::string read_file(const std::string& path);
bool write_file(const std::string& path, const std::string& contents);

}  // namespace fettle::process
