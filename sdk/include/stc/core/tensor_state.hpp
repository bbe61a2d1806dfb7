/// \file
/// State of models and optimizers: stc::StateWriter and stc::StateReader with tensors of the level.
#pragma once

#include <string>

#include "stc/core/state.hpp"

namespace stc {

template <class Level>
class BasicStateWriter : public StateWriter {
 public:
  BasicStateWriter(Host host, const stc_state_writer& raw) : StateWriter(host, raw), raw_(&raw) {}
  using StateWriter::tensor;
  void tensor(const std::string& name, const typename Level::Tensor& tensor) const {
    StateWriter::tensor(name.c_str(), Level::borrow(tensor));
  }
  /// For a plugin that hands its state_save on to another.
  const stc_state_writer* raw() const { return raw_; }

 private:
  const stc_state_writer* raw_;
};

template <class Level>
class BasicStateReader : public StateReader {
 public:
  BasicStateReader(Host host, const stc_state_reader& raw) : StateReader(host, raw), raw_(&raw) {}
  using StateReader::tensor;
  /// False when the name is absent.
  bool tensor(const std::string& name, typename Level::Tensor& out) const {
    stc_tensor handle = StateReader::tensor(name.c_str());
    if (handle == nullptr) return false;
    out = Level::from_borrowed(handle);
    return true;
  }
  const stc_state_reader* raw() const { return raw_; }

 private:
  const stc_state_reader* raw_;
};

}  // namespace stc
