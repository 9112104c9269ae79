// What `fettle tune` shows while it runs and at its end.
#pragma once

#include <memory>

#include "host/app/tuning_session.h"
#include "host/tune/listener.h"

namespace fettle::app {

std::unique_ptr<tune::TuneListener> make_view(const TuneCommand& command);

// The table or the summary object, the closing words, the exit status.
int report(const TuneCommand& command, const tune::TuneSummary& summary);

}  // namespace fettle::app
