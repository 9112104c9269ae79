// Fields of a kernel's JSON, for its reader: what is wrong with one is thrown as a KernelMistake.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "host/space/own_kernel/kernel_space.h"

namespace fettle::space::kernel_fields {

[[noreturn]] void stop(const std::string& where, const std::string& what);

// An object of no other keys.
void known(const nlohmann::json& json, const std::string& where, const std::set<std::string>& keys);

std::string string(const nlohmann::json& json, const std::string& where, const char* key,
                   const std::optional<std::string>& otherwise = std::nullopt);

// A number stands for itself.
std::string expression(const nlohmann::json& value, const std::string& where);
std::string expression(const nlohmann::json& json, const std::string& where, const char* key,
                       const std::string& otherwise);

// Empty where there is none. `numbers`: numbers are expressions too.
std::vector<std::string> strings(const nlohmann::json& json, const std::string& where,
                                 const char* key, bool numbers);

void check_integer(const std::string& where, const std::string& text, const KernelValues& values);

bool is_name(const std::string& text);  // for a #define

}  // namespace fettle::space::kernel_fields
