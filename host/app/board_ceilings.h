// The ceilings of a session's boards: from the database, or measured, each board's once
// and by programs that run on that board alone.
#pragma once

#include <functional>
#include <string>

#include "host/records/database.h"
#include "host/space/target.h"
#include "host/tune/calibrate.h"

namespace fettle::app {

class BoardCeilings {
 public:
  // The broker's boards with their devices, as they are now.
  using DeviceList = std::function<Result<wire::DeviceListT>()>;
  // Everything outlives this object.
  BoardCeilings(records::Database& database, tune::Runner& runner, tune::StopSignal& stop,
                const space::Target& target, DeviceList devices)
      : database_(database),
        runner_(runner),
        stop_(stop),
        target_(target),
        devices_(std::move(devices)) {}

  // Of the session's own board (Runner::board). A board that gives no figures is a
  // warning, not an error: the peak is then its data sheet's (the target profile);
  // without one there is no % of peak and no check of plausibility. What was measured is
  // compared with the data sheet.
  Result<tune::Roofline> own();

  // tune::Ceilings. Another board of the session's key is first registered in the
  // database. `again`: measured once more and put together with what was known; the
  // better figure counts.
  Result<tune::Roofline> of(const std::string& board_id, bool again,
                            std::vector<tune::Measured>& others);

 private:
  Result<wire::DeviceInfoT> get_to_know(const std::string& board_id);
  Result<tune::Roofline> known_or_measured(const std::string& board_id,
                                           const wire::DeviceInfoT& device,
                                           std::vector<tune::Measured>& others);
  Result<tune::Roofline> measured_again(const std::string& board_id,
                                        std::vector<tune::Measured>& others);
  Result<void> store(const std::string& board_id, std::map<std::string, double> figures);

  records::Database& database_;
  tune::Runner& runner_;
  tune::StopSignal& stop_;
  const space::Target& target_;
  DeviceList devices_;
  // What is known of a board in this session: its device's number there, and its roofline.
  struct Seen {
    std::uint32_t device_index = 0;
    tune::Roofline roofline;
  };
  std::map<std::string, Seen> seen_;  // by board_id
};

}  // namespace fettle::app
