/// \file
/// State of models and optimizers: stc::StateWriter and stc::StateReader with tensors of the level.
#pragma once

#include <string>

#include "stc/core/state.hpp"

namespace stc {

template <class Level>
class BasicStateWriter : public StateWriter {
 public:
  using StateWriter::StateWriter;
  using StateWriter::tensor;
  void tensor(const std::string& name, const typename Level::Tensor& tensor) const {
    StateWriter::tensor(name.c_str(), Level::borrow(tensor));
  }
};

template <class Level>
class BasicStateReader : public StateReader {
 public:
  using StateReader::StateReader;
  using StateReader::tensor;
  /// False when the name is absent.
  bool tensor(const std::string& name, typename Level::Tensor& out) const {
    stc_tensor handle = StateReader::tensor(name.c_str());
    if (handle == nullptr) return false;
    out = Level::from_borrowed(handle);
    return true;
  }
};

}  // namespace stc
