// A stream's time as pictures: how busy the load, compute and store units are over the whole of it,
// and each instruction's time at its beginning, in its middle and at its end.
#pragma once

#include <string>

#include "host/backend/vta/stream_time.h"

namespace fettle::vta::host {

// SVG with headings: HTML that needs no style and no script.
std::string timeline_picture(const Stream& stream, const StreamTime& time);

}  // namespace fettle::vta::host
