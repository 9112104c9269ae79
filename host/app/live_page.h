// --web: the options of a command that shows a live page, and its server.
#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "host/web/live_server.h"

namespace fettle::app {

struct WebCommand {
  bool wanted = false;
  web::WebAddress address;
  std::string token_file;  // "": no token
};

// `what`: that the page shows.
void add_web_options(CLI::App& command, WebCommand& web, const std::string& what);

// Null where none is wanted. InvalidArgument, Unauthorized, Io. Throws CLI::ValidationError: other
// machines could look without a token.
Result<std::unique_ptr<web::LiveServer>> start_page(const WebCommand& web);

// The page's address for people, and how the token is told.
std::string page_text(const WebCommand& web, const web::LiveServer& page);

}  // namespace fettle::app
