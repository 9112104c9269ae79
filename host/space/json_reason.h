// Why a text is not the JSON that is wanted, in words for people.
#pragma once

#include <exception>
#include <string>

namespace fettle::space {

// What nlohmann's json throws: where a text ends being JSON, or the words without their number.
std::string json_reason(const std::exception& error);

}  // namespace fettle::space
