// Ceilings of boards (board_ceilings.h).
#include "host/app/board_ceilings.h"

#include <fmt/format.h>

#include "host/app/message.h"
#include "host/app/record_store.h"
#include "host/fleet/device_kind.h"
#include "host/space/profile.h"

namespace fettle::app {

namespace {

// Of a board that is recognised, at the clock that it says it goes up to; 0: unknown.
double data_sheet_gflops(const wire::DeviceInfoT& device, int threads) {
  const space::Profile* profile = space::profile_of(device);
  const bool is_board = profile && profile->name == device.profile;
  return is_board ? profile->peak_gflops(threads, device.cpu->max_khz) : 0;
}

}  // namespace

Result<tune::Roofline> BoardCeilings::own() {
  const wire::DeviceInfoT& device = runner_.device();
  const std::string& id = runner_.board().id;
  seen_[id].device_index = device.index;
  std::vector<tune::Measured> others;  // nothing else is on the boards yet
  if (device.emulated) {
    note(device.key +
         " is emulated: its times are not board times, so there is no % of peak and "
         "nothing can be told implausible");
  }
  return known_or_measured(id, device, others);
}

Result<tune::Roofline> BoardCeilings::of(const std::string& board_id, bool again,
                                         std::vector<tune::Measured>& others) {
  if (again) return measured_again(board_id, others);
  auto device = get_to_know(board_id);
  if (!device) return device.error();
  return known_or_measured(board_id, *device, others);
}

// Its facts go to the database before its first trial does.
Result<wire::DeviceInfoT> BoardCeilings::get_to_know(const std::string& board_id) {
  const wire::DeviceInfoT& own = runner_.device();
  auto list = devices_();
  if (!list) {
    warn("the facts of board " + board_id + " are not known: " + list.error().text());
    list = wire::DeviceListT{};
  }
  for (const auto& key : list->keys) {
    for (std::size_t i = 0; i < key->boards.size() && i < key->devices.size(); ++i) {
      wire::DeviceInfoT& device = *key->devices[i];
      const bool alike = device.emulated == own.emulated && device.clock == own.clock;
      if (key->boards[i]->id != board_id || device.key != own.key || !alike) continue;
      seen_[board_id].device_index = device.index;
      // A broker before such were kept apart, or two devices of one key on one board.
      if (fleet::kind_of(device) != fleet::kind_of(own)) {
        warn(fmt::format(
            "board {} is of another kind ({}) than {} ({}), which the programs are made "
            "for: they may fail there, and times are not to be compared",
            board_id, fleet::kind_text(device), runner_.board().id, fleet::kind_text(own)));
      } else if (device.cpu && own.cpu && device.cpu->features != own.cpu->features) {
        warn(
            fmt::format("board {} has other CPU features than {}, which the programs are made for: "
                        "they may fail there (an agent of another version may only tell them "
                        "otherwise)",
                        board_id, runner_.board().id));
      }
      if (auto done = database_.register_device(*key->boards[i], device); !done) {
        return done.error();
      }
      return std::move(device);
    }
  }
  // Not known, or gone already: most likely it is what the session's own board is.
  seen_[board_id].device_index = own.index;
  if (auto done = database_.put_device({own.key, board_id, own.index, own.emulated, "", ""});
      !done) {
    return done.error();
  }
  return own;
}

Result<tune::Roofline> BoardCeilings::known_or_measured(const std::string& board_id,
                                                        const wire::DeviceInfoT& device,
                                                        std::vector<tune::Measured>& others) {
  tune::Roofline& roofline = seen_[board_id].roofline;
  if (device.emulated) return roofline;
  const std::string name =
      board_id == runner_.board().id ? device.key : device.key + " (board " + board_id + ")";
  const auto known = database_.calibration(device.key, board_id, device.index, target_.threads());
  if (!known && known.error().code != ErrorCode::NotFound) return known.error();
  if (known) roofline = tune::roofline_of(known->figures, target_.threads());
  if (roofline.operations_per_second > 0) return roofline;

  auto programs = backend::calibration_programs(target_);
  if (!programs && programs.error().code == ErrorCode::Unsupported) {
    warn("no % of peak, and nothing can be told implausible: " + programs.error().text());
    return roofline;
  }
  if (!programs) return programs.error();
  note(fmt::format("calibrating {}, once for this board", name));
  auto measured = tune::calibrate(runner_, board_id, stop_, std::move(*programs), others);
  if (!measured) return measured.error();
  for (const std::string& problem : measured->problems) warn("calibration: " + problem);
  roofline = tune::roofline_of(measured->figures, target_.threads());
  if (measured->problems.empty()) {
    if (auto stored = store(board_id, std::move(measured->figures)); !stored) return stored.error();
  }
  const double sheet = data_sheet_gflops(device, target_.threads());
  if (roofline.operations_per_second <= 0 && sheet > 0) {
    roofline.operations_per_second = sheet * 1e9;
    warn(fmt::format("% of peak is of the data sheet's {:.4g} GFLOPS until {} is calibrated", sheet,
                     name));
  } else if (roofline.operations_per_second <= 0) {
    warn("the board's peak is not known: no % of peak, and nothing can be told implausible");
  } else {
    note(fmt::format(
        "peak of {}: {:.4g} GFLOPS on {} thread(s), {:.3g} GB/s cache, {:.3g} GB/s memory", name,
        roofline.peak_gflops(), target_.threads(), roofline.bytes_per_second * 1e-9,
        roofline.main_memory_bytes_per_second * 1e-9));
    if (sheet > 0) {
      const double share = roofline.peak_gflops() / sheet;
      note(fmt::format("that is {:.0f} % of the data sheet's {:.4g} GFLOPS", 100 * share, sheet));
      if (share > tune::kRooflineMargin) {
        warn(
            "more than the data sheet allows: the clock that the board reports, or its target "
            "profile, is wrong");
      }
    }
  }
  return roofline;
}

Result<tune::Roofline> BoardCeilings::measured_again(const std::string& board_id,
                                                     std::vector<tune::Measured>& others) {
  Seen& seen = seen_[board_id];
  auto programs = backend::calibration_programs(target_);
  if (!programs) return programs.error();
  auto measured = tune::calibrate(runner_, board_id, stop_, std::move(*programs), others);
  if (!measured) return measured.error();
  const auto known =
      database_.calibration(runner_.device().key, board_id, seen.device_index, target_.threads());
  auto figures = std::move(measured->figures);
  if (known) figures = tune::best_of(std::move(figures), known->figures);
  // Figures that are not whole would never be measured again.
  if (known || measured->problems.empty()) {
    if (auto stored = store(board_id, figures); !stored) return stored.error();
  }
  const tune::Roofline roofline = tune::roofline_of(figures, target_.threads());
  if (roofline.operations_per_second > 0) {
    seen.roofline.operations_per_second = roofline.operations_per_second;
  }
  if (roofline.bytes_per_second > 0) seen.roofline.bytes_per_second = roofline.bytes_per_second;
  if (roofline.main_memory_bytes_per_second > 0) {
    seen.roofline.main_memory_bytes_per_second = roofline.main_memory_bytes_per_second;
  }
  return seen.roofline;
}

Result<void> BoardCeilings::store(const std::string& board_id,
                                  std::map<std::string, double> figures) {
  records::Calibration calibration;
  calibration.device_key = runner_.device().key;
  calibration.board_id = board_id;
  calibration.device_index = seen_[board_id].device_index;
  calibration.threads = target_.threads();
  calibration.unix_ms = unix_ms_now();
  calibration.figures = std::move(figures);
  return database_.put_calibration(calibration);
}

}  // namespace fettle::app
