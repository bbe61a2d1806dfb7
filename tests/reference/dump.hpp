/// \file
/// The committed dumps of tests/reference/dumps.
#pragma once

#include <ATen/core/Tensor.h>

#include <string>
#include <vector>

#include "host/checkpoint/safetensors.hpp"

namespace stc::reference {

class Dump {
 public:
  /// \param name file in tests/reference/dumps
  explicit Dump(const std::string& name);
  /// Read-only, backed by the file. \throws std::out_of_range naming the tensor.
  at::Tensor tensor(const std::string& name) const;
  std::vector<double> doubles(const std::string& name) const;
  /// Names that start with `prefix`, without it.
  std::vector<std::string> names_under(const std::string& prefix) const;

 private:
  host::SafetensorsFile file_;
};

/// Folder of the sources, from the environment of the test.
std::string source_path(const std::string& relative);

}  // namespace stc::reference
