// Access (access.h).
#include "host/web/access.h"

#include <fcntl.h>
#include <sodium.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <sstream>
#include <vector>

namespace fettle::web {
namespace {

constexpr std::size_t kShortest = 16, kLongest = 256;

// Of hashes, so that not even the length can be learnt from how long it takes.
bool same_secret(const std::string& a, const std::string& b) {
  std::array<unsigned char, crypto_generichash_BYTES> of_a{}, of_b{};
  const auto hash = [](std::array<unsigned char, crypto_generichash_BYTES>& to,
                       const std::string& text) {
    crypto_generichash(to.data(), to.size(), reinterpret_cast<const unsigned char*>(text.data()),
                       text.size(), nullptr, 0);
  };
  hash(of_a, a);
  hash(of_b, b);
  return sodium_memcmp(of_a.data(), of_b.data(), of_a.size()) == 0;
}

bool is_token(const std::string& text) {
  return text.size() >= kShortest && text.size() <= kLongest &&
         std::all_of(text.begin(), text.end(), [](unsigned char c) {
           return std::isalnum(c) != 0 || c == '-' || c == '.' || c == '_' || c == '~';
         });
}

// "LOCALHOST:80" and "localhost" are one name to a browser.
std::string lower(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

}  // namespace

Access::Access(WebAddress address, std::string token)
    : address_(std::move(address)), token_(std::move(token)) {}

int Access::may_ask(const Asked& asked) const {
  if (asked.method != "GET") return 405;
  if (address_.loopback()) {
    const std::string port = ":" + std::to_string(address_.port);
    const std::string own = text_of(address_);
    std::string host = lower(asked.host);
    // Browsers leave it out.
    if (address_.port == 80 && !host.empty() && !host.ends_with(port)) host += port;
    const bool known = host == own || host == "localhost" + port || host == "127.0.0.1" + port ||
                       host == "[::1]" + port;
    if (!known) return 421;
  }
  // Browsers say it, and let no script change it.
  const std::string& site = asked.fetch_site;
  return site.empty() || site == "same-origin" || site == "none" ? 200 : 403;
}

int Access::may_see(const Asked& asked) const {
  if (token_.empty()) return 200;
  constexpr std::string_view kBearer = "Bearer ";
  const bool header = asked.authorization.rfind(kBearer, 0) == 0;
  const std::string given = header ? asked.authorization.substr(kBearer.size()) : asked.token;
  return same_secret(given, token_) ? 200 : 401;
}

Result<std::string> read_token(const std::filesystem::path& path) {
  // A pipe that nobody writes to would keep whoever opens it, or reads there.
  const int file = ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  if (file < 0) return Error{ErrorCode::Io, "cannot read " + path.string(), {}};
  struct stat status{};
  char text[4 * kLongest];
  ssize_t bytes = -1;
  if (::fstat(file, &status) == 0 && S_ISREG(status.st_mode)) {
    bytes = ::read(file, text, sizeof text);
  }
  ::close(file);
  if (S_ISDIR(status.st_mode)) return Error{ErrorCode::Io, path.string() + " is a folder", {}};
  if (!S_ISREG(status.st_mode)) return Error{ErrorCode::Io, path.string() + " is no file", {}};
  if (bytes < 0) return Error{ErrorCode::Io, "cannot read " + path.string(), {}};
  if ((status.st_mode & 077) != 0) {
    return Error{ErrorCode::Unauthorized,
                 path.string() + " holds a secret that other users may read: chmod 600 it",
                 {}};
  }
  std::istringstream in(std::string(text, static_cast<std::size_t>(bytes)));
  std::vector<std::string> words;
  for (std::string word; words.size() < 2 && in >> word;) words.push_back(std::move(word));
  if (words.size() != 1 || !is_token(words.front())) {
    return Error{ErrorCode::InvalidArgument,
                 path.string() +
                     " must hold one token of 16 to 256 letters, digits and -._~ "
                     "(openssl rand -hex 24 makes one)",
                 {}};
  }
  return words.front();
}

}  // namespace fettle::web
