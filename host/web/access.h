// Who may look at a page: anyone on this machine whose browser asked for it by an address of this
// machine, or whoever knows the token.
#pragma once

#include <filesystem>
#include <string>

#include "host/web/web_address.h"

namespace fettle::web {

// What a request says of itself; "" where it says nothing.
struct Asked {
  std::string method, host, fetch_site, token, authorization;
};

class Access {
 public:
  // `token`: "" where none is asked for, which only an address of the loopback interface may do.
  Access(WebAddress address, std::string token);

  // 200, or the status that refuses it:
  //   405  anything but GET
  //   421  a name that is no name of this machine: some other site's, led here (DNS rebinding)
  //   403  a browser asks on behalf of another site
  int may_ask(const Asked& asked) const;
  // 200, or 401: the token is wrong or missing. It is compared in constant time.
  int may_see(const Asked& asked) const;

 private:
  WebAddress address_;
  std::string token_;
};

// The token in a file: one word of 16 to 256 letters, digits and "-._~". InvalidArgument; Io;
// Unauthorized: others may read the file.
Result<std::string> read_token(const std::filesystem::path& path);

}  // namespace fettle::web
