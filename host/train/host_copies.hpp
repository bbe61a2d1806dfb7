/// \file
/// Copies of tensors in host memory for checkpoints, in memory that is used again for the next one: fresh pages cost
/// more than the copy itself.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>

#include <ATen/core/Tensor.h>

#include "host/checkpoint/safetensors.hpp"

namespace stc::host {

/// Holds the memory of all copies it made until it is destroyed. [train-thread]
class HostCopies {
 public:
  /// A dense copy, made when the call returns; waits for the device. Its memory is used again by the next take() of
  /// the same group and name, if by then nobody holds the copy and a later call of this thread can know that (whoever
  /// held it handed it back through a lock).
  HostTensor take(const std::string& group, const std::string& name, const at::Tensor& tensor);

 private:
  std::map<std::pair<std::string, std::string>, std::shared_ptr<at::Tensor>> kept_;
};

}  // namespace stc::host
