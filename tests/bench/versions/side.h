// A side of `fettle-bench versions`: the programs of one build, driven by their command
// lines alone, so that any commit's will do that knows the options used.
#pragma once

#include <array>
#include <filesystem>
#include <string>

#include "tests/bench/versions/compared_times.h"
#include "tests/bench/versions/logged_child.h"

namespace fettle::bench {

struct Side {
  std::string name;              // "baseline" or "candidate": begins the names of its files
  std::filesystem::path folder;  // with fettle, fettle-agent and fettle-bench
  std::string tuner;             // content hash of the first two: whose tunes may be kept
};
// Of the baseline and the candidate; an empty `candidate` is where this program lies.
std::array<std::filesystem::path, 2> side_folders(const std::string& baseline,
                                                  const std::string& candidate);
// NotFound: `folder`, which is the side `name`, lacks one of the three programs.
Result<void> has_programs(const std::string& name, const std::filesystem::path& folder);
// NotFound: a program is not there. Unsupported: one does not know an option that is needed.
// What the programs say goes to files in `work`.
Result<Side> open_side(const std::string& name, const std::filesystem::path& folder,
                       const std::filesystem::path& work, const tune::StopSignal& stop);

struct TuneJob {
  std::string network;
  unsigned seed = 1;
  unsigned trials = 0;
};
struct Tuned {
  std::filesystem::path db;
  double seconds = 0;  // wall clock of the whole process
  unsigned trials = 0;
  bool kept = false;  // it was there already
  double per_hour() const { return trials / seconds * 3600; }
};
// The job's database in `work`: that of an earlier run which ended well, or a new one. An Error
// when fewer trials ended than asked for, or when what is there was made by other programs or
// with another number of trials.
Result<Tuned> tune_network(const Side& side, const TuneJob& job, const std::filesystem::path& work,
                           const tune::StopSignal& stop);

// One run of the side's `fettle-bench kernels` on its database, with one thread.
Result<KernelRun> time_kernels(const Side& side, const std::string& network,
                               const std::filesystem::path& db, unsigned rounds,
                               const tune::StopSignal& stop);

}  // namespace fettle::bench
