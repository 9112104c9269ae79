// Recording a space: every configuration of a part of one task's search space built
// and measured by the real loop on this machine, for tests/data.
#pragma once

#include <string>
#include <vector>

#include "schemas/wire/result.h"

namespace fettle::bench {

struct RecordSpaceOptions {
  std::string network = "resnet-18";  // or a kernel's file
  unsigned task = 0;                  // place in its list of tasks
  std::string device = "local";       // of this machine's
  std::string sketch;                 // only this one; "": all
  bool whole = false;                 // all options of all knobs
  std::vector<std::string> keep;      // "KNOB=3", or "KNOB=[[0],[1]]": these options
  std::string db, output;
  unsigned seconds = 170;
};

// Goes on where the database ends. Writes the recording once every configuration
// has its outcome; before that it says how many are left.
Result<void> run_record_space(const RecordSpaceOptions& options);

// Recordings with the features of today's back end: the same space and times, each file written
// over. After features changed. The first that cannot be ends it.
Result<void> run_renew_features(const std::vector<std::string>& recordings);

}  // namespace fettle::bench
