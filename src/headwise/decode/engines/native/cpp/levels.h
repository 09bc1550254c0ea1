// The levels of the engine: sets of CPU instructions that it has kernels for.
#pragma once

#include "kernels.h"

namespace headwise {

struct Level {
  const char* name;
  const Kernels* (*kernels)();
  bool (*runs)();  // whether the CPU and the operating system support its instructions
};

// Best first; the last one runs anywhere.
extern const Level kLevels[];
extern const int kLevelCount;

// The kernels of a level; null where they cannot run.
const Kernels* kernels_of(int level);

}  // namespace headwise
