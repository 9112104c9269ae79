// The allow list's file and its shared, replaceable copy in memory.
#include "host/fleet/allow_list.h"

#include <sys/stat.h>
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <sstream>

#include "host/fleet/keys.h"
#include "schemas/wire/bounded_read.h"

namespace fettle::fleet {

const char* role_name(wire::Role role) {
  switch (role) {
    case wire::Role::Client:
      return "client";
    case wire::Role::Agent:
      return "agent";
    case wire::Role::BuildWorker:
      return "build-worker";
  }
  return "unknown";
}

Result<wire::Role> role_from_name(const std::string& name) {
  for (wire::Role role : wire::EnumValuesRole()) {
    if (name == role_name(role)) return role;
  }
  return Error{ErrorCode::InvalidArgument,
               "'" + name + "' is no role: use client, agent or build-worker"};
}

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
    if (!(words >> role >> name >> key) || words >> more) {
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
    permissions.push_back({name, *known, key});
  }
  return permissions;
}

std::string format_allow_list(const std::vector<Permission>& permissions) {
  std::string text =
      "# Keys that this broker answers: role name public-key. "
      "Written by `fettle keys allow` and `revoke`.\n";
  for (const auto& entry : permissions) {
    text += std::string(role_name(entry.role)) + " " + entry.name + " " + entry.public_key + "\n";
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
                          const std::string& public_key, std::optional<wire::Role> role) {
  if (auto good = check_public_key(public_key); !good) return std::move(good).error();
  std::error_code failed;
  std::filesystem::create_directories(file.parent_path(), failed);
  const FolderLock lock(file.parent_path());
  auto list = load_allow_list(file);
  if (!list) return std::move(list).error();
  Permission permission{name, role.value_or(wire::Role::Client), public_key};
  if (auto good = check_permission(*list, permission); !good) return std::move(good).error();
  const auto entry = std::find_if(list->begin(), list->end(),
                                  [&](const Permission& other) { return other.name == name; });
  Allowed allowed{permission.role, {}};
  if (entry == list->end()) {
    list->push_back(std::move(permission));
  } else {  // with the same key: check_permission
    allowed = {role.value_or(entry->role), entry->role};
    entry->role = allowed.role;
  }
  if (auto good = write_file_atomically(file, format_allow_list(*list), 0600); !good) {
    return std::move(good).error();
  }
  return allowed;
}

Result<void> allow_key(const std::filesystem::path& file, const Permission& permission) {
  auto allowed = allow_key(file, permission.name, permission.public_key, permission.role);
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
  if (stamp == stamp_) return {};
  stamp_ = stamp;  // a wrong file is told once, not at every look
  auto list = load_allow_list(file);
  if (!list) return std::move(list).error();
  set(*list);
  return {};
}

}  // namespace fettle::fleet
