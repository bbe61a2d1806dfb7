/// \file
/// What the tests of optimizers feed them, and how they compare what comes out.
#pragma once

#include <ATen/Context.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/randn.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "host/errors/error.hpp"

namespace stc::test {

using Shapes = std::vector<std::vector<int64_t>>;

/// normal(0, scale), the same for the same seed.
inline std::vector<at::Tensor> random_tensors(uint64_t seed, const Shapes& shapes, at::ScalarType type = at::kFloat,
                                              double scale = 1.0) {
  at::manual_seed(seed);
  std::vector<at::Tensor> out;
  for (const std::vector<int64_t>& shape : shapes) out.push_back((at::randn(shape) * scale).to(type));
  return out;
}

/// Gradients like `parameters`; that of parameter `absent` is undefined when `without` is true.
inline std::vector<at::Tensor> random_gradients(uint64_t seed, const std::vector<at::Tensor>& parameters, double scale,
                                                size_t absent, bool without) {
  at::manual_seed(seed);
  std::vector<at::Tensor> out;
  for (size_t i = 0; i < parameters.size(); ++i) {
    const at::Tensor gradient = (at::randn(parameters[i].sizes()) * scale).to(parameters[i].scalar_type());
    out.push_back(i == absent && without ? at::Tensor() : gradient);
  }
  return out;
}

inline double max_difference(const at::Tensor& a, const at::Tensor& b) {
  return (a.to(at::kDouble) - b.to(at::kDouble)).abs().max().item<double>();
}

inline bool same_bits(const std::vector<at::Tensor>& a, const std::vector<at::Tensor>& b) {
  for (size_t i = 0; i < a.size() && i < b.size(); ++i) {
    if (!at::equal(a[i], b[i])) return false;
  }
  return a.size() == b.size();
}

inline std::vector<at::Tensor> copies(const std::vector<at::Tensor>& tensors) {
  std::vector<at::Tensor> out;
  for (const at::Tensor& tensor : tensors) out.push_back(tensor.defined() ? tensor.clone() : tensor);
  return out;
}

/// The text of the error that body throws.
inline std::string message_of(const std::function<void()>& body) {
  try {
    body();
  } catch (const stc::host::Error& error) {
    return error.what();
  }
  return "nothing was thrown";
}

inline bool holds(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace stc::test
