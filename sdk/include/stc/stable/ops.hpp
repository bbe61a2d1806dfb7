/// \file
/// Operators by their usual names, for models and optimizers at level stable. They are templates so that a
/// library lists only those that it calls. Shapes and semantics are LibTorch's; what is not here is one call<"schema">
/// away.
///
/// Operators of namespace stc are registered by the host: variants without Scalar arguments, with gradients.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "stc/stable/operator.hpp"

namespace stc::stable {

using Sizes = std::vector<int64_t>;

/* ---- products ---------------------------------------------------------------------------------- */

/// input (...,in), weight (out,in), bias (out) or undefined -> (...,out)
template <int = 0>
Tensor linear(const Tensor& input, const Tensor& weight, const Tensor& bias = {}) {
  return call<"aten::linear(Tensor input, Tensor weight, Tensor? bias=None) -> Tensor">(input, weight, bias);
}
template <int = 0>
Tensor matmul(const Tensor& self, const Tensor& other) {
  return call<"aten::matmul(Tensor self, Tensor other) -> Tensor">(self, other);
}
/// self (B,M,K), mat2 (B,K,N) -> (B,M,N)
template <int = 0>
Tensor bmm(const Tensor& self, const Tensor& mat2) {
  return call<"aten::bmm(Tensor self, Tensor mat2) -> Tensor">(self, mat2);
}
/// beta self + alpha mat1 mat2
template <int = 0>
Tensor addmm(const Tensor& self, const Tensor& mat1, const Tensor& mat2, double beta = 1, double alpha = 1) {
  return call<"stc::addmm(Tensor self, Tensor mat1, Tensor mat2, float beta, float alpha) -> Tensor">(self, mat1, mat2,
                                                                                                      beta, alpha);
}
template <int = 0>
Tensor baddbmm(const Tensor& self, const Tensor& batch1, const Tensor& batch2, double beta = 1, double alpha = 1) {
  return call<"stc::baddbmm(Tensor self, Tensor batch1, Tensor batch2, float beta, float alpha) -> Tensor">(
      self, batch1, batch2, beta, alpha);
}

/* ---- arithmetic --------------------------------------------------------------------------------- */

/// self + alpha other
template <int = 0>
Tensor add(const Tensor& self, const Tensor& other, double alpha = 1) {
  return call<"stc::add(Tensor self, Tensor other, float alpha) -> Tensor">(self, other, alpha);
}
template <int = 0>
Tensor add(const Tensor& self, double other) {
  return call<"stc::add.Float(Tensor self, float other) -> Tensor">(self, other);
}
/// self - alpha other
template <int = 0>
Tensor sub(const Tensor& self, const Tensor& other, double alpha = 1) {
  return call<"stc::sub(Tensor self, Tensor other, float alpha) -> Tensor">(self, other, alpha);
}
template <int = 0>
Tensor sub(const Tensor& self, double other) {
  return call<"stc::sub.Float(Tensor self, float other) -> Tensor">(self, other);
}
template <int = 0>
Tensor mul(const Tensor& self, const Tensor& other) {
  return call<"aten::mul.Tensor(Tensor self, Tensor other) -> Tensor">(self, other);
}
template <int = 0>
Tensor mul(const Tensor& self, double other) {
  return call<"stc::mul.Float(Tensor self, float other) -> Tensor">(self, other);
}
template <int = 0>
Tensor div(const Tensor& self, const Tensor& other) {
  return call<"aten::div.Tensor(Tensor self, Tensor other) -> Tensor">(self, other);
}
template <int = 0>
Tensor div(const Tensor& self, double other) {
  return call<"stc::div.Float(Tensor self, float other) -> Tensor">(self, other);
}
template <int = 0>
Tensor pow(const Tensor& self, double exponent) {
  return call<"stc::pow.Float(Tensor self, float exponent) -> Tensor">(self, exponent);
}
/// self + value tensor1 tensor2
template <int = 0>
Tensor addcmul(const Tensor& self, const Tensor& tensor1, const Tensor& tensor2, double value = 1) {
  return call<"stc::addcmul(Tensor self, Tensor tensor1, Tensor tensor2, float value) -> Tensor">(self, tensor1,
                                                                                                  tensor2, value);
}
/// self + value tensor1 / tensor2
template <int = 0>
Tensor addcdiv(const Tensor& self, const Tensor& tensor1, const Tensor& tensor2, double value = 1) {
  return call<"stc::addcdiv(Tensor self, Tensor tensor1, Tensor tensor2, float value) -> Tensor">(self, tensor1,
                                                                                                  tensor2, value);
}
template <int = 0>
Tensor neg(const Tensor& self) {
  return call<"aten::neg(Tensor self) -> Tensor">(self);
}
template <int = 0>
Tensor exp(const Tensor& self) {
  return call<"aten::exp(Tensor self) -> Tensor">(self);
}
template <int = 0>
Tensor log(const Tensor& self) {
  return call<"aten::log(Tensor self) -> Tensor">(self);
}
template <int = 0>
Tensor sqrt(const Tensor& self) {
  return call<"aten::sqrt(Tensor self) -> Tensor">(self);
}
template <int = 0>
Tensor rsqrt(const Tensor& self) {
  return call<"aten::rsqrt(Tensor self) -> Tensor">(self);
}

/* ---- activations, normalisation, attention ---------------------------------------------------------- */

template <int = 0>
Tensor relu(const Tensor& self) {
  return call<"aten::relu(Tensor self) -> Tensor">(self);
}
template <int = 0>
Tensor silu(const Tensor& self) {
  return call<"aten::silu(Tensor self) -> Tensor">(self);
}
template <int = 0>
Tensor tanh(const Tensor& self) {
  return call<"aten::tanh(Tensor self) -> Tensor">(self);
}
template <int = 0>
Tensor sigmoid(const Tensor& self) {
  return call<"aten::sigmoid(Tensor self) -> Tensor">(self);
}
/// approximate: "none" or "tanh"
template <int = 0>
Tensor gelu(const Tensor& self, std::string_view approximate = "none") {
  return call<"aten::gelu(Tensor self, *, str approximate=\"none\") -> Tensor">(self, approximate);
}
template <int = 0>
Tensor softmax(const Tensor& self, int64_t dim) {
  return call<"aten::softmax.int(Tensor self, int dim, ScalarType? dtype=None) -> Tensor">(self, dim, std::nullopt);
}
template <int = 0>
Tensor log_softmax(const Tensor& self, int64_t dim) {
  return call<"aten::log_softmax.int(Tensor self, int dim, ScalarType? dtype=None) -> Tensor">(self, dim, std::nullopt);
}
template <int = 0>
Tensor layer_norm(const Tensor& input, const Sizes& normalized_shape, const Tensor& weight = {},
                  const Tensor& bias = {}, double eps = 1e-5) {
  return call<
      "aten::layer_norm(Tensor input, SymInt[] normalized_shape, Tensor? weight=None, Tensor? bias=None, "
      "float eps=1e-05, bool cudnn_enable=True) -> Tensor">(input, normalized_shape, weight, bias, eps, true);
}
template <int = 0>
Tensor rms_norm(const Tensor& input, const Sizes& normalized_shape, const Tensor& weight = {},
                std::optional<double> eps = std::nullopt) {
  return call<
      "aten::rms_norm(Tensor input, SymInt[] normalized_shape, Tensor? weight=None, float? eps=None) -> Tensor">(
      input, normalized_shape, weight, eps);
}
/// query (B,H,T,D), key and value (B,H,S,D)
template <int = 0>
Tensor scaled_dot_product_attention(const Tensor& query, const Tensor& key, const Tensor& value,
                                    const Tensor& mask = {}, double dropout_p = 0, bool is_causal = false,
                                    std::optional<double> scale = std::nullopt, bool enable_gqa = false) {
  return call<
      "aten::scaled_dot_product_attention(Tensor query, Tensor key, Tensor value, Tensor? attn_mask=None, "
      "float dropout_p=0.0, bool is_causal=False, *, float? scale=None, bool enable_gqa=False) -> Tensor">(
      query, key, value, mask, dropout_p, is_causal, scale, enable_gqa);
}
/// weight (V,C), indices of any shape -> (...,C)
template <int = 0>
Tensor embedding(const Tensor& weight, const Tensor& indices) {
  return call<
      "aten::embedding(Tensor weight, Tensor indices, SymInt padding_idx=-1, bool scale_grad_by_freq=False, "
      "bool sparse=False) -> Tensor">(weight, indices, int64_t{-1}, false, false);
}

/* ---- losses -------------------------------------------------------------------------------------- */

/// Mean over the labels that are not ignore_index. logits (N,V), labels (N) int64.
template <int = 0>
Tensor cross_entropy_loss(const Tensor& logits, const Tensor& labels, int64_t ignore_index = -100) {
  return call<
      "aten::cross_entropy_loss(Tensor self, Tensor target, Tensor? weight=None, int reduction=1, "
      "SymInt ignore_index=-100, float label_smoothing=0.0) -> Tensor">(logits, labels, Tensor(), int64_t{1},
                                                                        ignore_index, 0.0);
}
template <int = 0>
Tensor mse_loss(const Tensor& self, const Tensor& target) {
  return call<"aten::mse_loss(Tensor self, Tensor target, int reduction=1) -> Tensor">(self, target, int64_t{1});
}

/* ---- shapes --------------------------------------------------------------------------------------- */

template <int = 0>
Tensor view(const Tensor& self, const Sizes& size) {
  return call<"aten::view(Tensor(a) self, SymInt[] size) -> Tensor(a)">(self, size);
}
template <int = 0>
Tensor reshape(const Tensor& self, const Sizes& shape) {
  return call<"aten::reshape(Tensor(a) self, SymInt[] shape) -> Tensor(a)">(self, shape);
}
template <int = 0>
Tensor transpose(const Tensor& self, int64_t dim0, int64_t dim1) {
  return call<"aten::transpose.int(Tensor(a) self, int dim0, int dim1) -> Tensor(a)">(self, dim0, dim1);
}
template <int = 0>
Tensor permute(const Tensor& self, const Sizes& dims) {
  return call<"aten::permute(Tensor(a) self, int[] dims) -> Tensor(a)">(self, dims);
}
template <int = 0>
Tensor narrow(const Tensor& self, int64_t dim, int64_t start, int64_t length) {
  return call<"aten::narrow(Tensor(a) self, int dim, SymInt start, SymInt length) -> Tensor(a)">(self, dim, start,
                                                                                                 length);
}
template <int = 0>
Tensor cat(const std::vector<Tensor>& tensors, int64_t dim = 0) {
  return call<"aten::cat(Tensor[] tensors, int dim=0) -> Tensor">(tensors, dim);
}
template <int = 0>
std::vector<Tensor> split(const Tensor& self, int64_t split_size, int64_t dim = 0) {
  return call<"aten::split.Tensor(Tensor(a -> *) self, SymInt split_size, int dim=0) -> Tensor(a)[]">(self, split_size,
                                                                                                      dim);
}
/// dtype: STC_DTYPE_*
template <int = 0>
Tensor to(const Tensor& self, int32_t dtype) {
  return call<
      "aten::to.dtype(Tensor(a) self, ScalarType dtype, bool non_blocking=False, bool copy=False, "
      "MemoryFormat? memory_format=None) -> Tensor(a)">(self, dtype, false, false, std::nullopt);
}
template <int = 0>
Tensor detach(const Tensor& self) {
  return call<"aten::detach(Tensor(a) self) -> Tensor(a)">(self);
}
template <int = 0>
Tensor clone(const Tensor& self) {
  return call<"aten::clone(Tensor self, *, MemoryFormat? memory_format=None) -> Tensor">(self, std::nullopt);
}

/* ---- reductions, comparisons, selection ---------------------------------------------------------------- */

template <int = 0>
Tensor mean(const Tensor& self) {
  return call<"aten::mean(Tensor self, *, ScalarType? dtype=None) -> Tensor">(self, std::nullopt);
}
template <int = 0>
Tensor sum(const Tensor& self) {
  return call<"aten::sum(Tensor self, *, ScalarType? dtype=None) -> Tensor">(self, std::nullopt);
}
/// Over all dimensions when dim is absent.
template <int = 0>
Tensor vector_norm(const Tensor& self, double ord = 2, const std::optional<Sizes>& dim = std::nullopt,
                   bool keepdim = false) {
  return call<"stc::vector_norm(Tensor self, float ord, int[]? dim, bool keepdim) -> Tensor">(self, ord, dim, keepdim);
}
template <int = 0>
Tensor clamp(const Tensor& self, std::optional<double> min, std::optional<double> max) {
  return call<"stc::clamp(Tensor self, float? min, float? max) -> Tensor">(self, min, max);
}
template <int = 0>
Tensor where(const Tensor& condition, const Tensor& self, const Tensor& other) {
  return call<"aten::where.self(Tensor condition, Tensor self, Tensor other) -> Tensor">(condition, self, other);
}
template <int = 0>
Tensor where(const Tensor& condition, const Tensor& self, double other) {
  return call<"stc::where(Tensor condition, Tensor self, float other) -> Tensor">(condition, self, other);
}
template <int = 0>
Tensor masked_fill(const Tensor& self, const Tensor& mask, double value) {
  return call<"stc::masked_fill(Tensor self, Tensor mask, float value) -> Tensor">(self, mask, value);
}
template <int = 0>
Tensor gt(const Tensor& self, double other) {
  return call<"stc::gt(Tensor self, float other) -> Tensor">(self, other);
}
template <int = 0>
Tensor ge(const Tensor& self, double other) {
  return call<"stc::ge(Tensor self, float other) -> Tensor">(self, other);
}
template <int = 0>
Tensor lt(const Tensor& self, double other) {
  return call<"stc::lt(Tensor self, float other) -> Tensor">(self, other);
}
template <int = 0>
Tensor le(const Tensor& self, double other) {
  return call<"stc::le(Tensor self, float other) -> Tensor">(self, other);
}

/* ---- creation: dtype and device of `like` ---------------------------------------------------------------- */

template <int = 0>
Tensor full(const Tensor& like, const Sizes& size, double value) {
  return call<"stc::full(Tensor like, int[] size, float value) -> Tensor">(like, size, value);
}
template <int = 0>
Tensor zeros_like(const Tensor& self) {
  return call<"stc::zeros_like(Tensor self) -> Tensor">(self);
}
template <int = 0>
Tensor fill(const Tensor& self, double value) {
  return call<"stc::fill(Tensor self, float value) -> Tensor">(self, value);
}

/* ---- in place ----------------------------------------------------------------------------------------- */

template <int = 0>
void copy_(const Tensor& self, const Tensor& source, bool non_blocking = false) {
  call<"aten::copy_(Tensor(a!) self, Tensor src, bool non_blocking=False) -> Tensor(a!)">(self, source, non_blocking);
}
template <int = 0>
void zero_(const Tensor& self) {
  call<"aten::zero_(Tensor(a!) self) -> Tensor(a!)">(self);
}
template <int = 0>
void fill_(const Tensor& self, double value) {
  call<"stc::fill_(Tensor(a!) self, float value) -> Tensor(a!)">(self, value);
}
template <int = 0>
void add_(const Tensor& self, const Tensor& other, double alpha = 1) {
  call<"stc::add_(Tensor(a!) self, Tensor other, float alpha) -> Tensor(a!)">(self, other, alpha);
}
template <int = 0>
void mul_(const Tensor& self, double other) {
  call<"stc::mul_(Tensor(a!) self, float other) -> Tensor(a!)">(self, other);
}
/// self += value tensor1 tensor2
template <int = 0>
void addcmul_(const Tensor& self, const Tensor& tensor1, const Tensor& tensor2, double value = 1) {
  call<"stc::addcmul_(Tensor(a!) self, Tensor tensor1, Tensor tensor2, float value) -> Tensor(a!)">(self, tensor1,
                                                                                                    tensor2, value);
}
/// self += value tensor1 / tensor2
template <int = 0>
void addcdiv_(const Tensor& self, const Tensor& tensor1, const Tensor& tensor2, double value = 1) {
  call<"stc::addcdiv_(Tensor(a!) self, Tensor tensor1, Tensor tensor2, float value) -> Tensor(a!)">(self, tensor1,
                                                                                                    tensor2, value);
}

}  // namespace stc::stable
