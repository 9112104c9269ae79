// What `fettle tune` shows while it runs and at its end.
#pragma once

#include <memory>

#include "host/app/record_store.h"
#include "host/app/session_boards.h"
#include "host/app/tuning_session.h"
#include "host/tune/listener.h"

namespace fettle::app {

// `boards`: shown where there are several. Null: they are not. `store`: as make_json_view() has it.
// Both outlive the view.
std::unique_ptr<tune::TuneListener> make_view(const TuneCommand& command,
                                              const SessionBoards* boards,
                                              const RecordStore* store);

// The table or the summary object, the closing words, the exit status.
int report(const TuneCommand& command, const tune::TuneSummary& summary,
           const SessionBoards* boards);

}  // namespace fettle::app
