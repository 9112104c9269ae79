// The allow list's file and its shared, replaceable copy in memory.
#include "host/fleet/allow_list.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <sstream>
#include <utility>

#include "host/fleet/keys.h"
#include "schemas/wire/bounded_read.h"
#include "schemas/wire/limits.h"

namespace fettle::fleet {

const char* role_name(wire::Role role) {
  switch (role) {
    case wire::Role::Client:
      return "client";
    case wire::Role::Agent:
      return "agent";
    case wire::Role::BuildWorker:
      return "builder";
  }
  return "unknown";
}

Result<wire::Role> role_from_name(const std::string& name) {
  for (wire::Role role : wire::EnumValuesRole()) {
    if (name == role_name(role)) return role;
  }
  if (name == "build-worker") return wire::Role::BuildWorker;  // its first name
  return Error{ErrorCode::InvalidArgument,
               "'" + name + "' is no role: use client, agent or builder"};
}

namespace {

constexpr const char *kDeviceKey = "device-key=", *kBoard = "board=";
constexpr std::size_t kMostBindings = 64;

Result<void> check_bindings(const Permission& entry) {
  for (const auto* list : {&entry.device_keys, &entry.boards}) {
    if (!list->empty() && entry.role != wire::Role::Agent) {
      return Error{ErrorCode::InvalidArgument,
                   "'" + entry.name + "' is no agent: only an agent's key is bound to boards"};
    }
    if (list->size() > kMostBindings) {
      return Error{ErrorCode::InvalidArgument, "'" + entry.name + "' is bound to more than " +
                                                   std::to_string(kMostBindings) + " of a kind"};
    }
    for (const std::string& word : *list) {
      const bool good = !word.empty() && word.size() <= limits::kKeyBytes &&
                        std::all_of(word.begin(), word.end(),
                                    [](unsigned char c) { return c > ' ' && c != 0x7f; });
      if (good) continue;
      return Error{ErrorCode::InvalidArgument, "a device key or board id is a word of 1 to " +
                                                   std::to_string(limits::kKeyBytes) +
                                                   " characters without spaces, or '*'"};
    }
  }
  return {};
}

// Behind the key: what it is bound to. False: a word that says neither.
bool add_binding(Permission& entry, const std::string& word) {
  for (auto& [prefix, list] :
       {std::pair{kDeviceKey, &entry.device_keys}, std::pair{kBoard, &entry.boards}}) {
    if (!word.starts_with(prefix)) continue;
    list->push_back(word.substr(std::strlen(prefix)));
    return true;
  }
  return false;
}

}  // namespace

Result<std::vector<Permission>> parse_allow_list(const std::string& text) {
  std::vector<Permission> permissions;
  std::istringstream lines(text);
  int number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    if (line.empty() || line[0] == '#') continue;
    std::istringstream words(line);
    std::string role, name, key, more;
    const std::string where = "line " + std::to_string(number) + " of the allow list";
    if (!(words >> role >> name >> key)) {
      return Error{ErrorCode::Malformed, where + " is not 'role name public-key'"};
    }
    auto known = role_from_name(role);
    if (!known) return std::move(known).error().in("reading " + where);
    if (auto good = check_key_name(name); !good)
      return std::move(good).error().in("reading " + where);
    if (auto good = check_public_key(key); !good)
      return std::move(good).error().in("reading " + where);
    for (const auto& other : permissions) {
      if (other.name == name || other.public_key == key) {
        return Error{ErrorCode::Malformed,
                     where + " names '" + name + "' or its key a second time"};
      }
    }
    Permission entry{name, *known, key, {}, {}};
    while (words >> more) {
      if (add_binding(entry, more)) continue;
      return Error{ErrorCode::Malformed,
                   where + " is not 'role name public-key', device-key=KEY and board=ID"};
    }
    if (auto good = check_bindings(entry); !good)
      return std::move(good).error().in("reading " + where);
    permissions.push_back(std::move(entry));
  }
  return permissions;
}

std::string format_allow_list(const std::vector<Permission>& permissions) {
  std::string text =
      "# Keys that this broker answers: role name public-key [device-key=KEY…] [board=ID…]. "
      "Written by `fettle keys allow` and `revoke`.\n";
  for (const auto& entry : permissions) {
    text += std::string(role_name(entry.role)) + " " + entry.name + " " + entry.public_key;
    for (const std::string& key : entry.device_keys) text += std::string(" ") + kDeviceKey + key;
    for (const std::string& board : entry.boards) text += std::string(" ") + kBoard + board;
    text += "\n";
  }
  return text;
}

Result<std::vector<Permission>> load_allow_list(const std::filesystem::path& file) {
  auto text = read_whole(file.string(), kMostTextBytes);
  if (!text) {
    if (text.error().code == ErrorCode::NotFound) return std::vector<Permission>{};
    return std::move(text).error();
  }
  auto parsed = parse_allow_list(*text);
  if (!parsed) return std::move(parsed).error().in("reading " + file.string());
  return parsed;
}

Result<void> check_permission(const std::vector<Permission>& list, const Permission& permission) {
  if (auto good = check_key_name(permission.name); !good) return good;
  for (const auto& entry : list) {
    if ((entry.name == permission.name) == (entry.public_key == permission.public_key)) continue;
    if (entry.name != permission.name) {
      return Error{ErrorCode::InvalidArgument,
                   "that key is allowed already under the name '" + entry.name + "'"};
    }
    return Error{ErrorCode::InvalidArgument,
                 "'" + entry.name +
                     "' is allowed already with another key: take another name, or " +
                     "`fettle keys revoke " + entry.name + "` first if that key is out of use"};
  }
  return {};
}

Result<Allowed> allow_key(const std::filesystem::path& file, const std::string& name,
                          const std::string& public_key, std::optional<wire::Role> role,
                          const Bindings& bindings) {
  if (auto good = check_public_key(public_key); !good) return std::move(good).error();
  std::error_code failed;
  std::filesystem::create_directories(file.parent_path(), failed);
  const FolderLock lock(file.parent_path());
  auto list = load_allow_list(file);
  if (!list) return std::move(list).error();
  Permission permission{name, role.value_or(wire::Role::Client), public_key, {}, {}};
  if (auto good = check_permission(*list, permission); !good) return std::move(good).error();
  const auto entry = std::find_if(list->begin(), list->end(),
                                  [&](const Permission& other) { return other.name == name; });
  Allowed allowed{permission.role, {}};
  if (entry != list->end()) {  // with the same key: check_permission
    allowed = {role.value_or(entry->role), entry->role};
    permission = *entry;
    permission.role = allowed.role;
    if (permission.role != wire::Role::Agent) permission.device_keys = permission.boards = {};
  }
  if (bindings.device_keys) permission.device_keys = *bindings.device_keys;
  if (bindings.boards) permission.boards = *bindings.boards;
  if (auto good = check_bindings(permission); !good) return std::move(good).error();
  if (entry == list->end())
    list->push_back(std::move(permission));
  else
    *entry = std::move(permission);
  if (auto good = write_file_atomically(file, format_allow_list(*list), 0600); !good) {
    return std::move(good).error();
  }
  return allowed;
}

Result<void> allow_key(const std::filesystem::path& file, const Permission& permission) {
  Bindings bindings;
  if (!permission.device_keys.empty()) bindings.device_keys = permission.device_keys;
  if (!permission.boards.empty()) bindings.boards = permission.boards;
  auto allowed = allow_key(file, permission.name, permission.public_key, permission.role, bindings);
  if (!allowed) return std::move(allowed).error();
  return {};
}

Result<void> revoke_key(const std::filesystem::path& file, const std::string& name) {
  const FolderLock lock(file.parent_path());
  auto list = load_allow_list(file);
  if (!list) return std::move(list).error();
  if (std::erase_if(*list, [&](const Permission& entry) { return entry.name == name; }) == 0) {
    std::string known;
    for (const auto& entry : *list) known += (known.empty() ? "" : ", ") + entry.name;
    return Error{ErrorCode::NotFound,
                 "no key '" + name + "' is allowed; " +
                     (known.empty() ? "the list is empty" : "there are: " + known)};
  }
  return write_file_atomically(file, format_allow_list(*list), 0600);
}

namespace {
int open_reserve() { return ::open("/dev/null", O_RDONLY | O_CLOEXEC); }
}  // namespace

AllowList::AllowList() : map_(std::make_shared<Map>()), reserve_(open_reserve()) {}

AllowList::~AllowList() {
  if (reserve_ >= 0) ::close(reserve_);
}

void AllowList::set(const std::vector<Permission>& permissions) {
  auto map = std::make_shared<Map>();
  for (const auto& entry : permissions) (*map)[entry.public_key] = entry;
  std::lock_guard lock(mutex_);
  map_ = std::move(map);
  ++version_;
}

std::shared_ptr<const AllowList::Map> AllowList::snapshot() const {
  std::lock_guard lock(mutex_);
  return map_;
}

std::vector<Permission> AllowList::entries() const {
  std::vector<Permission> all;
  for (const auto& [key, entry] : *snapshot()) all.push_back(entry);
  return all;
}

std::optional<Permission> AllowList::find(const std::string& public_key) const {
  const auto map = snapshot();
  const auto found = map->find(public_key);
  if (found == map->end()) return std::nullopt;
  return found->second;
}

Result<void> AllowList::reload(const std::filesystem::path& file) {
  const std::lock_guard lock(reading_);
  struct stat status{};
  std::string stamp = "absent";
  if (::stat(file.c_str(), &status) == 0) {
    stamp = std::to_string(status.st_ino) + " " + std::to_string(status.st_size) + " " +
            std::to_string(status.st_mtim.tv_sec) + " " + std::to_string(status.st_mtim.tv_nsec);
  }
  if (stamp == stamp_) {
    stale_ = false;  // also where a wrong one was put back
    return {};
  }
  auto list = load_allow_list(file);
  if (!list && reserve_ >= 0) {
    ::close(std::exchange(reserve_, -1));
    list = load_allow_list(file);
  }
  if (reserve_ < 0) reserve_ = open_reserve();
  stale_ = !list;
  if (!list) return std::move(list).error();
  set(*list);
  stamp_ = stamp;
  return {};
}

}  // namespace fettle::fleet
