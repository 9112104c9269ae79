// Why a worker died, as the failure of the trial that it was on.
#pragma once

#include "agent/measure/status_page.h"
#include "schemas/measure_generated.h"
#include "schemas/wire/result.h"

namespace fettle::agent {

// Why the supervisor itself killed the worker, if it did.
enum class KillReason { None, RunTimeout, LoadTimeout, CheckTimeout, Stopping };

// wait_status: of waitpid.
wire::FailureT read_death_note(const StatusPage& page, int wait_status, KillReason reason);

}  // namespace fettle::agent
