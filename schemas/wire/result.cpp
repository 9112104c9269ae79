// Error texts and their wire form.
#include "schemas/wire/result.h"

#include "schemas/wire/codec.h"

namespace fettle {

Error&& Error::in(std::string doing) && {
  context.push_back(std::move(doing));
  return std::move(*this);
}

std::string Error::text() const {
  std::string all = message.empty() ? name_of(code) : message;
  for (std::size_t i = 0; i < context.size(); ++i) {
    all += i == 0 ? " (while " : ", while ";
    all += context[i];
  }
  if (!context.empty()) all += ")";
  return all;
}

const char* name_of(ErrorCode code) { return wire::EnumNameErrorCode(code); }
const char* name_of(wire::Stage stage) { return wire::EnumNameStage(stage); }

wire::ErrorT to_wire(const Error& error) {
  wire::ErrorT out;
  out.code = error.code;
  out.message = error.message;
  out.context = error.context;
  return out;
}

Error from_wire(const wire::ErrorT& error) { return {error.code, error.message, error.context}; }

wire::FailureT make_failure(wire::Stage stage, Error error) {
  wire::FailureT failure;
  failure.stage = stage;
  failure.error = std::make_unique<wire::ErrorT>(to_wire(error));
  return failure;
}

}  // namespace fettle
