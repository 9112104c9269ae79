// The board's ceilings (board_ceilings.h).
#include "host/app/board_ceilings.h"

#include <fmt/format.h>

#include "host/app/message.h"
#include "host/app/record_store.h"
#include "host/space/profile.h"

namespace fettle::app {

namespace {

records::Calibration calibration_of(const tune::Runner& runner, const space::Target& target,
                                    const std::string& device_key,
                                    std::map<std::string, double> figures) {
  records::Calibration calibration;
  calibration.device_key = device_key;
  calibration.board_id = runner.board().id;
  calibration.device_index = runner.device().index;
  calibration.threads = target.threads;
  calibration.unix_ms = unix_ms_now();
  calibration.figures = std::move(figures);
  return calibration;
}

// Of a board that is recognised, at the clock that it says it goes up to; 0: unknown.
double data_sheet_gflops(const wire::DeviceInfoT& device, int threads) {
  const space::Profile* profile = space::profile_of(device);
  const bool is_board = profile && profile->name == device.profile;
  return is_board ? profile->peak_gflops(threads, device.cpu->max_khz) : 0;
}

}  // namespace

Result<tune::Roofline> board_ceilings(records::Database& database, tune::Runner& runner,
                                      tune::StopSignal& stop, const space::Target& target,
                                      const std::string& device_key) {
  if (runner.device().emulated) {
    note(device_key +
         " is emulated: its times are not board times, so there is no % of peak and "
         "nothing can be told implausible");
    return tune::Roofline{};
  }
  const auto known =
      database.calibration(device_key, runner.board().id, runner.device().index, target.threads);
  if (known) return tune::roofline_of(known->figures, target.threads);
  if (known.error().code != ErrorCode::NotFound) return known.error();

  auto programs = backend::calibration_programs(target);
  if (!programs) return programs.error();
  note(fmt::format("calibrating {} ({} programs), once for this board", device_key,
                   programs->size()));
  std::vector<tune::Measured> others;  // nothing else is on the boards yet
  auto measured = tune::calibrate(runner, stop, std::move(*programs), others);
  if (!measured) return measured.error();
  for (const std::string& problem : measured->problems) warn("calibration: " + problem);
  tune::Roofline roofline = tune::roofline_of(measured->figures, target.threads);
  if (measured->problems.empty()) {
    const auto stored = database.put_calibration(
        calibration_of(runner, target, device_key, std::move(measured->figures)));
    if (!stored) return stored.error();
  }
  const double sheet = data_sheet_gflops(runner.device(), target.threads);
  if (roofline.operations_per_second <= 0 && sheet > 0) {
    roofline.operations_per_second = sheet * 1e9;
    warn(fmt::format("% of peak is of the data sheet's {:.4g} GFLOPS until {} is calibrated", sheet,
                     device_key));
  } else if (roofline.operations_per_second <= 0) {
    warn("the board's peak is not known: no % of peak, and nothing can be told implausible");
  } else {
    note(fmt::format(
        "peak of {}: {:.4g} GFLOPS on {} thread(s), {:.3g} GB/s cache, {:.3g} GB/s memory",
        device_key, roofline.peak_gflops(), target.threads, roofline.bytes_per_second * 1e-9,
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

Result<tune::Roofline> raise_ceilings(records::Database& database, tune::Runner& runner,
                                      tune::StopSignal& stop, const space::Target& target,
                                      const std::string& device_key,
                                      std::vector<tune::Measured>& others) {
  auto programs = backend::calibration_programs(target);
  if (!programs) return programs.error();
  auto measured = tune::calibrate(runner, stop, std::move(*programs), others);
  if (!measured) return measured.error();
  const auto known =
      database.calibration(device_key, runner.board().id, runner.device().index, target.threads);
  auto figures = measured->figures;
  if (known) figures = tune::best_of(std::move(figures), known->figures);
  const auto stored = database.put_calibration(calibration_of(runner, target, device_key, figures));
  if (!stored) return stored.error();
  return tune::roofline_of(figures, target.threads);
}

}  // namespace fettle::app
