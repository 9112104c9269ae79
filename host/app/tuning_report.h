// What `fettle tune` shows while it runs and at its end.
#pragma once

#include <memory>

#include "host/app/session_boards.h"
#include "host/app/tuning_session.h"
#include "host/tune/listener.h"

namespace fettle::app {

// `boards`: shown where there are several; outlives the view. Null: they are not.
std::unique_ptr<tune::TuneListener> make_view(const TuneCommand& command,
                                              const SessionBoards* boards);

// The table or the summary object, the closing words, the exit status.
int report(const TuneCommand& command, const tune::TuneSummary& summary,
           const SessionBoards* boards);

}  // namespace fettle::app
