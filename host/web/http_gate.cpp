// Statuses and their words (http_gate.h).
#include "host/web/http_gate.h"

namespace fettle::web {
namespace {

const char* words_of(int status) {
  switch (status) {
    case 401:
      return "The token is wrong or missing: open this with ?token=…, or send it as a bearer "
             "token.\n";
    case 403:
      return "Another site's page may not look here.\n";
    case 404:
      return "There is nothing here.\n";
    case 405:
      return "There is nothing here but what GET gets.\n";
    case 421:
      return "That is no name of this machine: use the address that was printed.\n";
    default:
      return "";
  }
}

}  // namespace

Asked asked_by(const httplib::Request& request) {
  return {request.method, request.get_header_value("Host"),
          request.get_header_value("Sec-Fetch-Site"), request.get_param_value("token"),
          request.get_header_value("Authorization")};
}

bool asks_for_ranges(const httplib::Request& request) { return request.has_header("Range"); }

httplib::Server::HandlerResponse refused(httplib::Response& answer, int status) {
  if (status == 200) return httplib::Server::HandlerResponse::Unhandled;
  answer.status = status;
  if (status == 401) answer.set_header("WWW-Authenticate", "Bearer");
  if (status == 405) answer.set_header("Allow", "GET");
  if (status != 416) answer.set_content(words_of(status), "text/plain; charset=utf-8");
  return httplib::Server::HandlerResponse::Handled;
}

}  // namespace fettle::web
