// --web (live_page.h).
#include "host/app/live_page.h"

#include "host/web/access.h"

namespace fettle::app {

void add_web_options(CLI::App& command, WebCommand& web, const std::string& what) {
  command
      .add_option_function<std::vector<std::string>>(
          "--web",
          [&web](const std::vector<std::string>& given) {
            const auto address = web::web_address(given.empty() ? "" : given.front());
            if (!address) {
              throw CLI::ValidationError(
                  "--web",
                  address.error().message + " (--web alone goes last, or before another option)");
            }
            web.wanted = true;
            web.address = *address;
          },
          "Shows " + what +
              " on a live page, to this machine alone: at a free port, or at PORT or "
              "ADDRESS:PORT; an address that other machines reach needs --web-token-file")
      ->type_name("[[ADDRESS:]PORT]")
      ->expected(0, 1)
      ->trigger_on_parse();
  command
      .add_option("--web-token-file", web.token_file,
                  "Whoever opens the page must know the token in this file, as ?token=… or in an "
                  "Authorization header")
      ->type_name("FILE")
      ->needs("--web");
}

Result<std::unique_ptr<web::LiveServer>> start_page(const WebCommand& web) {
  if (!web.wanted) return std::unique_ptr<web::LiveServer>();
  web::LiveServerOptions options;
  options.address = web.address;
  if (!web.token_file.empty()) {
    auto token = web::read_token(web.token_file);
    if (!token) return std::move(token).error().in("reading --web-token-file");
    options.token = std::move(*token);
  }
  const bool open_to_all = !options.address.loopback() && options.token.empty();
  auto server = web::LiveServer::start(std::move(options));
  if (!server && open_to_all) throw CLI::ValidationError("--web", server.error().message);
  return server;
}

std::string page_text(const WebCommand& web, const web::LiveServer& page) {
  return page.url() + (web.token_file.empty() ? "" : "?token=…, with the token of that file");
}

}  // namespace fettle::app
