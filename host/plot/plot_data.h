// What a plot of a database shows, as JSON for page.js.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "host/records/database.h"

namespace fettle::plot {

// {"stages": [name, …],
//  "tasks": [{"title", "device", "trials", "measured", "failed",
//             "trial": [[place, GFLOPS], …]   measured trials, place from 1 among the task's
//             "best": [[place, GFLOPS], …]    where the best so far rose, and the last place
//             "seconds": [per stage, …],
//             "prediction": null, or {"points": [[predicted, measured GFLOPS], …],
//                                     "rank_correlation"} (prediction.h)}, …],
//   in the order first seen
//  "causes": [{"stage", "code", "count", "example"}, …], the commonest first
//  "trials", "measured", "shown": all of them, those with a time, and those in
//  "trial" (long tasks are thinned)}
// Reused outcomes count as trials but took no time on the board.
Result<nlohmann::json> plot_data(const records::Database& database, const records::Filter& filter);

}  // namespace fettle::plot
