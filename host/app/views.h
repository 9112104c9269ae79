// How a session is shown: a live block on a terminal, a plain line now and then
// elsewhere, JSON lines, or nothing until the end.
#pragma once

#include <cstdio>
#include <memory>

#include "host/app/message.h"
#include "host/app/record_store.h"
#include "host/app/session_boards.h"
#include "host/tune/listener.h"

namespace fettle::app {

// Redraws itself on stdout, a terminal. `boards` outlives it; null: they are not shown.
std::unique_ptr<tune::TuneListener> make_live_view(const SessionBoards* boards);
std::unique_ptr<tune::TuneListener> make_plain_view();  // one line every 10 s, and warnings
std::unique_ptr<tune::TuneListener> make_quiet_view();  // warnings only
// One object per trial on stdout, with its record's number in `store`, which outlives it; null:
// nothing is stored.
std::unique_ptr<tune::TuneListener> make_json_view(const RecordStore* store);

}  // namespace fettle::app
