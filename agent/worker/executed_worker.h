// Workers that are programs of their own. The agent is static and can load no vendor's
// library, so such a program is embedded in it and executed from memory: a board needs
// one file. Channel, protocol, deadlines and death notes are those of a forked worker.
#pragma once

#include <span>
#include <string>

#include "agent/device/worker_row.h"
#include "agent/worker/worker_terms.h"
#include "schemas/wire/codec.h"

namespace fettle::agent {

// Puts the program in the place of the calling process, which has one thread: the file
// `path`, or `embedded` when that is "". It gets `info` and both descriptors. Returns only
// when it cannot be executed: why, and what helps.
Error execute_worker(ByteView embedded, const std::string& path, const wire::DeviceInfoT& info,
                     int socket, int status_memory, const WorkerTerms& terms = {});

// The main function of such a program: serves the device with the row of its kind, or
// says that it has none.
int executed_worker_main(int argc, char** argv, std::span<const WorkerRow> rows);

}  // namespace fettle::agent
