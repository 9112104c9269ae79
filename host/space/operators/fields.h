// Reader of a workload's JSON fields: each is taken once, checked, and what is
// left over at the end is an unknown field.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "schemas/wire/result.h"

namespace fettle::space {

class Fields {
 public:
  explicit Fields(const nlohmann::json& json) : json_(json) {}

  // An integer in [low, high]; fallback empty: the field must be there.
  void integer(const char* name, std::int64_t low, std::int64_t high,
               std::optional<std::int64_t> fallback = std::nullopt);
  // A number in [low, high], left out where it is the usual one: a field that came later.
  void number_beside(const char* name, double low, double high, double usual);
  // Two integers, or one that stands for both.
  void pair(const char* name, std::int64_t low, std::int64_t high,
            std::optional<std::int64_t> fallback = std::nullopt);
  // From `shortest` to `longest` integers; fallback empty: the field must be there.
  void list(const char* name, std::size_t shortest, std::size_t longest, std::int64_t low,
            std::int64_t high, std::optional<std::vector<std::int64_t>> fallback = std::nullopt);
  // One of the supported words: any other is Unsupported.
  void word(const char* name, const std::vector<std::string>& supported,
            std::optional<std::string> fallback = std::nullopt);
  // "allow_tf32": whether products may be of factors rounded to TF32; kept where they may. Of
  // float32 only. After dtype.
  void allow_tf32();
  // Fused tail (tail.h): a list, empty where the field is not there. After dtype.
  void tail();

  // The canonical fields, or the first thing that was wrong.
  Result<nlohmann::json> finish(const char* op);

 private:
  void fail(ErrorCode code, std::string message);
  void missing(const char* name);

  const nlohmann::json& json_;
  nlohmann::json out_ = nlohmann::json::object();
  std::set<std::string> seen_{"op"};
  std::optional<Error> unsupported_, invalid_;
};

}  // namespace fettle::space
