// From a user's sketch to one that the CPU's table takes.
#pragma once

#include "fettle/sketch.h"
#include "host/space/sketches/sketches.h"

namespace fettle {

space::OwnCpuSketch own_sketch(CpuSketch sketch);

}  // namespace fettle
