/// \file
/// An optimizer of level exact that drives another one, of any level.
#pragma once

#include "stc/core/inner_optimizer.hpp"
#include "stc/exact/level.hpp"

namespace stc::exact {

using InnerOptimizer = BasicInnerOptimizer<Level>;

}  // namespace stc::exact
