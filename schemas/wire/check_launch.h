// What a launch may say, by the kind of its image.
#pragma once

#include <string>

#include "schemas/program_generated.h"
#include "schemas/wire/result.h"

namespace fettle {

// Every field of the launch, whose image and buffers were checked. `where`: for messages.
Result<void> check_launch(const wire::ProgramT& program, const wire::LaunchT& launch,
                          const std::string& where);

}  // namespace fettle
