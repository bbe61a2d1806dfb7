// Operators of namespace stc: variants, without arguments of type Scalar, of what plugins at level
// stable cannot call in namespace aten. Their list is part of the plugin ABI: append only. Each is a
// composition of aten operators, from which it has its gradients.

#include <optional>
#include <vector>

#include <ATen/core/Tensor.h>
#include <ATen/ops/add.h>
#include <ATen/ops/addcdiv.h>
#include <ATen/ops/addcmul.h>
#include <ATen/ops/addmm.h>
#include <ATen/ops/baddbmm.h>
#include <ATen/ops/clamp.h>
#include <ATen/ops/div.h>
#include <ATen/ops/fill.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ge.h>
#include <ATen/ops/gt.h>
#include <ATen/ops/le.h>
#include <ATen/ops/linalg_vector_norm.h>
#include <ATen/ops/lt.h>
#include <ATen/ops/masked_fill.h>
#include <ATen/ops/mul.h>
#include <ATen/ops/pow.h>
#include <ATen/ops/sub.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros_like.h>
#include <torch/library.h>

#include "host/services/torch_services.hpp"

namespace stc::host {
namespace {

using at::Tensor;

void define_arithmetic(torch::Library& m) {
  m.def("add(Tensor self, Tensor other, float alpha) -> Tensor",
        [](const Tensor& self, const Tensor& other, double alpha) { return at::add(self, other, alpha); });
  m.def("add.Float(Tensor self, float other) -> Tensor",
        [](const Tensor& self, double other) { return at::add(self, other); });
  m.def("sub(Tensor self, Tensor other, float alpha) -> Tensor",
        [](const Tensor& self, const Tensor& other, double alpha) { return at::sub(self, other, alpha); });
  m.def("sub.Float(Tensor self, float other) -> Tensor",
        [](const Tensor& self, double other) { return at::sub(self, other); });
  m.def("mul.Float(Tensor self, float other) -> Tensor",
        [](const Tensor& self, double other) { return at::mul(self, other); });
  m.def("div.Float(Tensor self, float other) -> Tensor",
        [](const Tensor& self, double other) { return at::div(self, other); });
  m.def("pow.Float(Tensor self, float exponent) -> Tensor",
        [](const Tensor& self, double exponent) { return at::pow(self, exponent); });
  m.def("addmm(Tensor self, Tensor mat1, Tensor mat2, float beta, float alpha) -> Tensor",
        [](const Tensor& self, const Tensor& mat1, const Tensor& mat2, double beta, double alpha) {
          return at::addmm(self, mat1, mat2, beta, alpha);
        });
  m.def("baddbmm(Tensor self, Tensor batch1, Tensor batch2, float beta, float alpha) -> Tensor",
        [](const Tensor& self, const Tensor& batch1, const Tensor& batch2, double beta, double alpha) {
          return at::baddbmm(self, batch1, batch2, beta, alpha);
        });
  m.def("addcmul(Tensor self, Tensor tensor1, Tensor tensor2, float value) -> Tensor",
        [](const Tensor& self, const Tensor& tensor1, const Tensor& tensor2, double value) {
          return at::addcmul(self, tensor1, tensor2, value);
        });
  m.def("addcdiv(Tensor self, Tensor tensor1, Tensor tensor2, float value) -> Tensor",
        [](const Tensor& self, const Tensor& tensor1, const Tensor& tensor2, double value) {
          return at::addcdiv(self, tensor1, tensor2, value);
        });
  m.def("vector_norm(Tensor self, float ord, int[]? dim, bool keepdim) -> Tensor",
        [](const Tensor& self, double ord, at::OptionalIntArrayRef dim, bool keepdim) {
          return at::linalg_vector_norm(self, ord, dim, keepdim);
        });
}

void define_comparison(torch::Library& m) {
  m.def("clamp(Tensor self, float? min, float? max) -> Tensor",
        [](const Tensor& self, std::optional<double> min, std::optional<double> max) {
          const auto scalar = [](std::optional<double> v) { return v ? std::optional<at::Scalar>(*v) : std::nullopt; };
          return at::clamp(self, scalar(min), scalar(max));
        });
  m.def("where(Tensor condition, Tensor self, float other) -> Tensor",
        [](const Tensor& condition, const Tensor& self, double other) { return at::where(condition, self, other); });
  m.def("masked_fill(Tensor self, Tensor mask, float value) -> Tensor",
        [](const Tensor& self, const Tensor& mask, double value) { return at::masked_fill(self, mask, value); });
  m.def("gt(Tensor self, float other) -> Tensor", [](const Tensor& self, double other) { return at::gt(self, other); });
  m.def("ge(Tensor self, float other) -> Tensor", [](const Tensor& self, double other) { return at::ge(self, other); });
  m.def("lt(Tensor self, float other) -> Tensor", [](const Tensor& self, double other) { return at::lt(self, other); });
  m.def("le(Tensor self, float other) -> Tensor", [](const Tensor& self, double other) { return at::le(self, other); });
}

/// New tensors take dtype and device from `like`.
void define_creation(torch::Library& m) {
  m.def("full(Tensor like, int[] size, float value) -> Tensor",
        [](const Tensor& like, at::IntArrayRef size, double value) { return at::full(size, value, like.options()); });
  m.def("zeros_like(Tensor self) -> Tensor", [](const Tensor& self) { return at::zeros_like(self); });
  m.def("fill(Tensor self, float value) -> Tensor",
        [](const Tensor& self, double value) { return at::fill(self, value); });
}

/// In place. Under gradient mode they record as aten's do, so a leaf that requires gradients refuses.
void define_in_place(torch::Library& m) {
  m.def("fill_(Tensor(a!) self, float value) -> Tensor(a!)",
        [](Tensor& self, double value) -> Tensor& { return self.fill_(value); });
  m.def("add_(Tensor(a!) self, Tensor other, float alpha) -> Tensor(a!)",
        [](Tensor& self, const Tensor& other, double alpha) -> Tensor& { return self.add_(other, alpha); });
  m.def("mul_(Tensor(a!) self, float other) -> Tensor(a!)",
        [](Tensor& self, double other) -> Tensor& { return self.mul_(other); });
  m.def("addcmul_(Tensor(a!) self, Tensor tensor1, Tensor tensor2, float value) -> Tensor(a!)",
        [](Tensor& self, const Tensor& tensor1, const Tensor& tensor2, double value) -> Tensor& {
          return self.addcmul_(tensor1, tensor2, value);
        });
  m.def("addcdiv_(Tensor(a!) self, Tensor tensor1, Tensor tensor2, float value) -> Tensor(a!)",
        [](Tensor& self, const Tensor& tensor1, const Tensor& tensor2, double value) -> Tensor& {
          return self.addcdiv_(tensor1, tensor2, value);
        });
}

}  // namespace

void register_torch_operators() {
  // Never destroyed: operators stay while plugins may call them. Kept where a leak check finds it.
  [[gnu::used]] static torch::Library* const library = [] {
    auto* made = new torch::Library(torch::Library::DEF, "stc", std::nullopt, __FILE__, __LINE__);
    define_arithmetic(*made);
    define_comparison(*made);
    define_creation(*made);
    define_in_place(*made);
    return made;
  }();
}

}  // namespace stc::host
