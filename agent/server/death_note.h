// Why a worker died, as the failure of the trial that it was on.
#pragma once

#include "agent/measure/status_page.h"
#include "schemas/measure_generated.h"
#include "schemas/wire/result.h"

namespace fettle::agent {

// Why the supervisor itself killed the worker, if it did.
enum class KillReason {
  None,
  RunTimeout,
  LoadTimeout,
  CheckTimeout,
  TrialTimeout,  // by the supervisor's own clock
  ForgedReply,
  OtherSession,  // the next trial is another client's: of no trial
  NeverReady,    // it took too long to open its device: of no trial
  Unwanted,      // the broker released the trial in work
  Stopping
};

// wait_status: of waitpid. run_limit_ns: the request's.
wire::FailureT read_death_note(const StatusPage& page, int wait_status, KillReason reason,
                               std::uint64_t run_limit_ns);

}  // namespace fettle::agent
