// Result<T>: a value or an Error. The only way errors cross a boundary in fettle.
//
// An Error is for a failing environment (no broker, full disk, bad bytes). A
// failing candidate is data: wire::FailureT. A broken invariant is an assert.
#pragma once

#include <cassert>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "schemas/common_generated.h"

namespace fettle {

using wire::ErrorCode;

struct Error {
  ErrorCode code = ErrorCode::Internal;
  std::string message;               // what was observed, with the numbers
  std::vector<std::string> context;  // what was being done; outermost last

  // Adds one line of context and returns the error, for `return std::move(e).in(…)`.
  Error&& in(std::string doing) &&;
  // "message (while doing a, while doing b)": one line for people.
  std::string text() const;
};

// "RunTimeout" and so on.
const char* name_of(ErrorCode code);
const char* name_of(wire::Stage stage);

// `text` cut to `most` bytes, at the beginning of a character, with a mark that tells how much
// was left out.
void clip(std::string& text, std::size_t most);
// Its message and each line of its context cut to what an error may say on the wire
// (limits.h).
Error clipped(Error error);

wire::ErrorT to_wire(const Error& error);
Error from_wire(const wire::ErrorT& error);

template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}

  bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }

  T& value() & {
    assert(ok());
    return std::get<0>(state_);
  }
  const T& value() const& {
    assert(ok());
    return std::get<0>(state_);
  }
  T&& value() && {
    assert(ok());
    return std::get<0>(std::move(state_));
  }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

  Error& error() & {
    assert(!ok());
    return std::get<1>(state_);
  }
  const Error& error() const& {
    assert(!ok());
    return std::get<1>(state_);
  }
  Error&& error() && {
    assert(!ok());
    return std::get<1>(std::move(state_));
  }

 private:
  std::variant<T, Error> state_;
};

template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error) : error_(std::move(error)) {}

  bool ok() const { return !error_.has_value(); }
  explicit operator bool() const { return ok(); }
  Error& error() & {
    assert(!ok());
    return *error_;
  }
  const Error& error() const& {
    assert(!ok());
    return *error_;
  }
  Error&& error() && {
    assert(!ok());
    return std::move(*error_);
  }

 private:
  std::optional<Error> error_;
};

}  // namespace fettle
