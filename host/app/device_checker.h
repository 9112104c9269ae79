// Runs the kernel of `fettle devices check` on one device after another, each within a time.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "host/app/check_history.h"
#include "host/app/check_kernel.h"
#include "host/app/check_verdict.h"
#include "host/app/interrupt.h"
#include "host/fleet/broker_address.h"
#include "host/fleet/session.h"
#include "schemas/protocol_generated.h"

namespace fettle::app {

class DeviceChecker {
 public:
  // Both references outlive it.
  DeviceChecker(fleet::BrokerAddress address, std::chrono::seconds within,
                const Interrupt& interrupt, const CheckHistory& history);

  // Waits behind other sessions' trials on that device, `within` at most. Not judged yet. After
  // Ctrl-C what it says is of no use.
  CheckedDevice check(const std::string& pool, const wire::BoardT& board,
                      const wire::DeviceInfoT& info, const wire::BoardStandingT* standing);

 private:
  const Result<CheckKernel>& kernel_for(const wire::DeviceInfoT& info);
  Result<wire::OutcomeT> run(const std::string& pool, const std::string& board_id,
                             const CheckKernel& kernel);

  const fleet::BrokerAddress address_;
  const std::chrono::seconds within_;
  const Interrupt& interrupt_;
  const CheckHistory& history_;
  std::unique_ptr<fleet::Session> session_;
  std::string pool_;                                    // of the session
  std::map<std::string, Result<CheckKernel>> kernels_;  // by what a device says of itself
};

}  // namespace fettle::app
