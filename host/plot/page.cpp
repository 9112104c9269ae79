// Putting the page together (page.h).
#include "host/plot/page.h"

#include <sodium.h>

#include <array>
#include <nlohmann/json.hpp>

#include "host/plot/embedded.h"
#include "host/plot/html_text.h"

namespace fettle::plot {
namespace {

// JSON inside a <script> element: whatever could end it or begin a comment is
// written as an escape that JSON knows.
std::string script_json(const nlohmann::json& data) {
  const std::string plain =
      data.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);  // ASCII only
  std::string safe;
  safe.reserve(plain.size());
  for (const char c : plain) {
    if (c == '<') {
      safe += "\\u003c";
    } else if (c == '>') {
      safe += "\\u003e";
    } else if (c == '&') {
      safe += "\\u0026";
    } else {
      safe += c;
    }
  }
  return safe;
}

// 'sha256-…', as a Content-Security-Policy names an inline script.
std::string source_hash(std::string_view script) {
  std::array<unsigned char, crypto_hash_sha256_BYTES> hash{};
  crypto_hash_sha256(hash.data(), reinterpret_cast<const unsigned char*>(script.data()),
                     script.size());
  std::array<char, 64> text{};
  sodium_bin2base64(text.data(), text.size(), hash.data(), hash.size(),
                    sodium_base64_VARIANT_ORIGINAL);
  return std::string("'sha256-") + text.data() + "'";
}

}  // namespace

std::string page(const nlohmann::json& data, const std::string& title) {
  std::string html = "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n";
  html +=
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; img-src "
      "data:; style-src 'unsafe-inline'; script-src " +
      source_hash(chart_library()) + " " + source_hash(page_script()) + "\">\n";
  html += "<title>" + html_text(title) + "</title>\n<style>\n";
  html += page_style();
  html += "</style>\n</head>\n<body>\n<h1>" + html_text(title) + "</h1>\n";
  html +=
      "<main id=\"main\"><noscript>The charts are drawn by a script of this page.</noscript>"
      "</main>\n<script type=\"application/json\" id=\"data\">";
  html += script_json(data) + "</script>\n<script>";
  html += chart_library();
  html += "</script>\n<script>";
  html += page_script();
  html += "</script>\n</body>\n</html>\n";
  return html;
}

}  // namespace fettle::plot
