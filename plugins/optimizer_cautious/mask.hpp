/// \file
/// Masking from outside, for an optimizer that cannot mask in its own pass: snapshot, step, revert.
#pragma once

#include <cstdint>
#include <vector>

#include <stc/stable/optimizer.hpp>

namespace stc::cautious {

class Mask {
 public:
  /// \param parameters must outlive this.
  Mask(Host host, const std::vector<stable::BoundParameter>& parameters);
  /// Keeps the values of the parameters that have a gradient.
  void snapshot(const stable::Gradients& gradients);
  /// With d = old - new: keeps new where d and the gradient have the same sign, else old.
  /// \param any_gradient false: the gradients were multiplied with 0, so nothing agrees with them.
  void revert(const stable::Gradients& gradients, bool any_gradient);

 private:
  struct Entry {
    const stable::BoundParameter* parameter;
    stc_tensor_info info;
    int64_t numel;
    bool plain;                // contiguous on the CPU: raw pointers; else LibTorch's operators
    std::vector<char> before;  // plain
    stable::Tensor before_tensor;
  };
  void revert_plain(Entry& entry, const void* gradient, bool any_gradient);

  Host host_;
  std::vector<Entry> entries_;
};

}  // namespace stc::cautious
