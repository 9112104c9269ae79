// URLs and the passwords in them (postgres_url.h).
#include "host/records/postgres_url.h"

#include <libpq-fe.h>

#include <array>
#include <memory>

namespace fettle::records {
namespace {

constexpr std::string_view kMask = "***";
constexpr std::array<std::string_view, 2> kSchemes{"postgresql://", "postgres://"};
constexpr std::array<std::string_view, 2> kSecretOptions{"password=", "sslpassword="};

std::size_t scheme_length(std::string_view name) {
  for (const std::string_view scheme : kSchemes) {
    if (name.starts_with(scheme)) return scheme.size();
  }
  return 0;
}

// "USER:PASSWORD" of the part before options, as people mean it: up to the last @.
std::string_view user_and_password(std::string_view url) {
  const std::string_view rest = url.substr(scheme_length(url));
  // A ? may be in a password that was not encoded: an @ behind it, with no option before it.
  const std::size_t options = rest.find('?');
  std::size_t end = rest.rfind('@', options);
  if (options != std::string_view::npos && rest.find('/') > options) end = rest.rfind('@');
  return end == std::string_view::npos ? std::string_view() : rest.substr(0, end);
}

}  // namespace

bool is_postgres_url(std::string_view name) { return scheme_length(name) > 0; }

std::string without_password(const std::string& url) {
  std::string shown = url;
  const std::string_view user = user_and_password(url);
  if (const std::size_t colon = user.find(':'); colon != std::string_view::npos) {
    shown.replace(scheme_length(url) + colon + 1, user.size() - colon - 1, kMask);
  }
  for (const std::string_view option : kSecretOptions) {
    for (std::size_t at = 0; (at = shown.find(option, at)) != std::string::npos;) {
      at += option.size();
      const std::size_t end = shown.find('&', at);
      shown.replace(at, end == std::string::npos ? end : end - at, kMask);
    }
  }
  return shown;
}

Result<void> check_postgres_url(const std::string& url) {
  const std::string_view user = user_and_password(url);
  const std::size_t colon = user.find(':');
  const std::string_view password =
      colon == std::string_view::npos ? std::string_view() : user.substr(colon + 1);
  if (user.find_first_of("/@?#") != std::string_view::npos) {
    return Error{ErrorCode::InvalidArgument,
                 "'" + without_password(url) +
                     "': in a user's name or password / is written %2F, @ %40, ? %3F and # %23; or "
                     "leave the password to ~/.pgpass or PGPASSWORD",
                 {}};
  }
  char* why = nullptr;
  PQconninfoOption* read = PQconninfoParse(url.c_str(), &why);
  const std::unique_ptr<char, decltype(&PQfreemem)> message(why, PQfreemem);
  const std::unique_ptr<PQconninfoOption, decltype(&PQconninfoFree)> options(read, PQconninfoFree);
  if (options) return {};
  // libpq quotes what it could not decode.
  std::string text = message ? message.get() : "out of memory";
  while (!text.empty() && text.back() == '\n') text.pop_back();
  const bool secret = (!password.empty() && text.find(password) != std::string::npos) ||
                      url.find("password=") != std::string::npos;
  return Error{ErrorCode::InvalidArgument,
               "'" + without_password(url) + "' is no URL of a PostgreSQL database, " +
                   "postgresql://USER@HOST/DATABASE: " +
                   (secret ? "its password cannot be decoded (write % as %25)" : text),
               {}};
}

}  // namespace fettle::records
