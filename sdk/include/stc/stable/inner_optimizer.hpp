/// \file
/// An optimizer of level stable that drives another one, of any level.
#pragma once

#include "stc/core/inner_optimizer.hpp"
#include "stc/stable/level.hpp"

namespace stc::stable {

using InnerOptimizer = BasicInnerOptimizer<Level>;

}  // namespace stc::stable
