// All kernels of a level as its table. The last include of a level's file.
#pragma once

#include "attention.h"
#include "product.h"
#include "ranking.h"
#include "rows.h"

namespace headwise {
namespace {

// A constant, not a variable: the initialisation of a variable would run this level's instructions on any CPU.
constexpr Kernels kKernels = {
    kLayout,     multiply_rows, normalise, kQuantise,           activate,
    store_entry, attend,        largest,   sum_of_exponentials, keep_largest, kRepeatDot,
};

}  // namespace
}  // namespace headwise
