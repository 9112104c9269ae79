// What each HTTP server here does with a request before it looks at its path.
#pragma once

#include <httplib.h>

#include "host/web/access.h"

namespace fettle::web {

Asked asked_by(const httplib::Request& request);

// Whether parts of an answer are asked for. None is served so: of one with a body httplib makes as
// many as are asked for, all in memory.
bool asks_for_ranges(const httplib::Request& request);

// Answers with a status and its reason; 200: not at all. Such as Access tells, or 416, which has no
// body.
httplib::Server::HandlerResponse refused(httplib::Response& answer, int status);

}  // namespace fettle::web
