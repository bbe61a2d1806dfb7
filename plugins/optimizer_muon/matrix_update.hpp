/// \file
/// Muon's update of matrices of one shape, type and device, as batches.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <stc/stable/optimizer.hpp>

namespace stc::muon {

struct Settings {
  double momentum = 0.95;
  int64_t ns_steps = 5;
  double norm_eps = 1e-8;
  bool plus = false;
  bool cautious = false;
};

struct Matrix {
  std::string name;
  stable::Tensor tensor;  // (R,C)
  uint32_t group = 0;
  int32_t dtype = 0;  // STC_DTYPE_*
  int64_t rows = 0;
  int64_t cols = 0;
  /// Contiguous fp32 on the CPU: raw passes over memory; else LibTorch's operators.
  bool plain = false;
  bool on_host = false;
  int32_t device_type = 0;
  int32_t device_index = 0;
  stable::Tensor momentum;  // (R,C), fp32, or fp64 for fp64
  int64_t updates = 0;

  int64_t numel() const { return rows * cols; }
  bool same_kind(const Matrix& other) const {
    return rows == other.rows && cols == other.cols && dtype == other.dtype && plain == other.plain &&
           device_type == other.device_type && device_index == other.device_index;
  }
};

/// A matrix with its gradient in this window. The gradient lives until the update is made.
struct Work {
  Matrix* matrix;
  stable::Tensor gradient;
  const float* data;  // contiguous, of plain matrices
};

class MatrixUpdate {
 public:
  explicit MatrixUpdate(Host host) : host_(host) {}
  /// \param works of one kind, any number; done in batches of bounded memory
  void step(const Settings& settings, const std::vector<Group>& groups, const Step& step,
            const std::vector<Work>& works);

 private:
  void step_plain(const Settings& settings, const std::vector<Group>& groups, const Step& step, double grad_factor,
                  const Work* works, int64_t count);
  void step_composed(const Settings& settings, const Group& group, const Step& step, const Work& work);

  Host host_;
};

/// U with its rows, then its columns, divided by sqrt(sum of squares + eps). u (k,R,C).
stable::Tensor normalized(const stable::Tensor& u, double eps);

}  // namespace stc::muon
