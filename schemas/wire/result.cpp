// Error texts and their wire form.
#include "schemas/wire/result.h"

#include "schemas/wire/codec.h"
#include "schemas/wire/limits.h"

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

void clip(std::string& text, std::size_t most) {
  if (text.size() <= most) return;
  const std::string before = " [", after = " more bytes left out]";
  const std::size_t mark = before.size() + 20 + after.size();  // with the longest number
  std::size_t keep = most > mark ? most - mark : 0;
  // Not inside of a character of UTF-8.
  while (keep > 0 && (static_cast<unsigned char>(text[keep]) & 0xc0) == 0x80) --keep;
  const std::size_t left_out = text.size() - keep;
  text.resize(keep);
  text.shrink_to_fit();
  text += before + std::to_string(left_out) + after;
}

Error clipped(Error error) {
  constexpr std::size_t kLines = 16;
  clip(error.message, limits::kErrorBytes);
  if (error.context.size() > kLines) error.context.resize(kLines);
  for (std::string& line : error.context) clip(line, limits::kTextBytes);
  return error;
}

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
