/// \file
/// What a model multiplies its positions with.
#pragma once

#include <vector>

#include "host/app/gemm_rate.hpp"
#include "host/config/config.hpp"

namespace stc::host {

class Registry;

/// Shapes of its linear layers and its head, a tied embedding among them; equal ones are counted together. Builds the
/// model of the run file in this process. \throws as compose().
std::vector<MatrixShape> matrices_of_model(const Config& config, Registry& registry);

}  // namespace stc::host
