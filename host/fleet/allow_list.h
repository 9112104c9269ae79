// Who may do what: the broker's list of public keys, with a name and a role each.
//
// The file holds one line per key, "role name public-key", role being client, agent or
// builder; lines starting with "# " are notes. Behind an agent's key may stand what it is bound
// to: "device-key=pynq board=0123abcd", each as often as it takes. The list is shared by the
// broker's loop and the ZAP thread, which see whole versions of it.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "schemas/protocol_generated.h"
#include "schemas/wire/result.h"

namespace fettle::fleet {

struct Permission {
  std::string name;
  wire::Role role = wire::Role::Client;
  std::string public_key;
  // Of an agent: the device keys that it may serve, and the ids of boards that it may be; "*" is
  // any. Empty: any device key, and the one board that it says first (board_claims.h).
  std::vector<std::string> device_keys, boards;
  bool operator==(const Permission&) const = default;
};

Result<std::vector<Permission>> parse_allow_list(const std::string& text);
std::string format_allow_list(const std::vector<Permission>& permissions);

// A missing file is an empty list.
Result<std::vector<Permission>> load_allow_list(const std::filesystem::path& file);
// InvalidArgument: `permission` does not fit beside `list`, whose key it has under another
// name, or whose name it has with another key: a key is replaced by revoking the old one.
Result<void> check_permission(const std::vector<Permission>& list, const Permission& permission);

struct Allowed {
  wire::Role role = wire::Role::Client;  // now
  std::optional<wire::Role> before;      // nothing: the key was not on the list
};
// What an agent's key is bound to (Permission); nothing: as it was.
struct Bindings {
  std::optional<std::vector<std::string>> device_keys, boards;
};
// Adds the entry, or changes its role. Without a `role` an entry keeps its own, and a new one
// is a client's. Errors are check_permission's, check_public_key's, Io and DiskFull;
// InvalidArgument: a client that is bound, or a word that no device key or board id is.
Result<Allowed> allow_key(const std::filesystem::path& file, const std::string& name,
                          const std::string& public_key, std::optional<wire::Role> role,
                          const Bindings& bindings = {});
Result<void> allow_key(const std::filesystem::path& file, const Permission& permission);
// NotFound names the entries that there are.
Result<void> revoke_key(const std::filesystem::path& file, const std::string& name);

class AllowList {
 public:
  AllowList();
  ~AllowList();
  AllowList(const AllowList&) = delete;
  AllowList& operator=(const AllowList&) = delete;

  void set(const std::vector<Permission>& permissions);
  std::optional<Permission> find(const std::string& public_key) const;
  std::vector<Permission> entries() const;
  // Reads `file` again when it is not the one that was read last. From any thread. An unreadable or
  // wrong file is an Error and leaves the list as it was; the next call tries it again, so that a
  // revocation is late but not lost. One descriptor is kept for it, for when there are no others.
  Result<void> reload(const std::filesystem::path& file);
  // The file is another than the one that was read last, and could not be read.
  bool stale() const { return stale_; }
  // Another number whenever the list has changed.
  std::uint64_t version() const { return version_; }

 private:
  using Map = std::map<std::string, Permission>;
  std::shared_ptr<const Map> snapshot() const;

  mutable std::mutex mutex_;
  std::shared_ptr<const Map> map_;
  std::atomic<std::uint64_t> version_{0};
  std::atomic<bool> stale_{false};
  std::mutex reading_;
  std::string stamp_;  // of the file that was read last
  int reserve_ = -1;   // a descriptor to give up for reading
};

const char* role_name(wire::Role role);  // "client", "agent", "builder"
Result<wire::Role> role_from_name(const std::string& name);

}  // namespace fettle::fleet
