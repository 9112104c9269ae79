// BoardRooflines: what each board of a session can reach, and whether a result of it can
// be judged yet.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "host/tune/pipeline.h"
#include "host/tune/roofline.h"

namespace fettle::tune {

// What that board can reach. Asked when the first result of a board other than the
// session's comes, and `again` when a result seems too good to be true: it may be the
// calibration that is wrong. `others`: outcomes that came meanwhile, also with an Error.
using Ceilings = std::function<Result<Roofline>(const std::string& board_id, bool again,
                                                std::vector<Measured>& others)>;

class BoardRooflines {
 public:
  // `own`: of runner.board(). Without `ceilings` it holds for every board.
  BoardRooflines(const Runner& runner, const Roofline& own, Ceilings ceilings);

  // Of what never reached a board: the session's own.
  const std::string& board_of(const wire::OutcomeT& outcome) const;
  Roofline of(const wire::OutcomeT& outcome) const;
  double peak_gflops() const;  // of the fastest board

  // False: nothing is known of its board yet.
  bool knows_board(const wire::OutcomeT& outcome) const;
  // True while another calibration of its board may still show more.
  bool may_rise(const wire::OutcomeT& outcome) const;
  // Asks for the ceilings of every board that one of `doubted` came from.
  Result<void> ask(const std::vector<Measured>& doubted, std::vector<Measured>& others);

 private:
  struct Board {
    Roofline roofline;
    int futile = 0;  // recalibrations that showed nothing new, in a row
  };
  const Runner& runner_;
  Ceilings ceilings_;
  std::map<std::string, Board> boards_;  // by board_id
};

}  // namespace fettle::tune
