// Forked or executed (worker_start.h).
#include "agent/worker/worker_start.h"

#include "agent/device/registry.h"
#include "agent/worker/embedded_worker.h"
#include "agent/worker/executed_worker.h"
#include "agent/worker/worker.h"

namespace fettle::agent {

int start_worker(const wire::DeviceInfoT& info, const std::string& worker_gpu, int socket,
                 int status_memory, const WorkerTerms& terms) {
  const DeviceRow* row = find_device_row(info.kind);
  if (!row) return refuse_device(socket, {ErrorCode::Unsupported, "no such kind"});
  if (const auto* forked = std::get_if<WorkerRow>(&row->worker)) {
    return run_worker(*forked, info, socket, status_memory, terms);
  }
  return refuse_device(socket, execute_worker(embedded_worker_gpu(), worker_gpu, info, socket,
                                              status_memory, terms));
}

}  // namespace fettle::agent
