/// \file
/// A plugin's state between its save and load slots and a checkpoint.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "host/checkpoint/safetensors.hpp"
#include "host/config/config.hpp"
#include "host/train/host_copies.hpp"
#include "stc/abi/core.h"

namespace stc::host {

/// Collects what a plugin saves: tensors and buffers as host copies, bytes as they are.
class StateCollector {
 public:
  /// \param copies  where the copies of tensors are made; null: anew. Borrowed. \param group  their group there
  explicit StateCollector(HostCopies* copies = nullptr, std::string group = {});
  const stc_state_writer& writer() const { return writer_; }
  std::vector<HostTensor> take_tensors() { return std::move(tensors_); }
  /// Bytes by name, as hexadecimal text, for state.json.
  Value bytes_as_value() const;
  /// Everything, for the small states that have no file of tensors: bytes as above, a tensor as an object of
  /// dtype (STC_DTYPE_*), shape and hexadecimal data.
  Value as_value() const;

 private:
  friend struct StateCollectorSlots;
  HostTensor copy(const char* name, const at::Tensor& tensor) const;
  stc_state_writer writer_{};
  HostCopies* copies_;
  std::string group_;
  std::vector<HostTensor> tensors_;
  std::map<std::string, std::string> bytes_;
};

/// Gives a plugin what StateCollector kept. The tensors are borrowed.
class StateProvider {
 public:
  /// \throws CheckpointError when `small` is not what bytes_as_value or as_value made.
  StateProvider(const std::vector<HostTensor>& tensors, const Value& small);
  ~StateProvider();
  StateProvider(const StateProvider&) = delete;
  StateProvider& operator=(const StateProvider&) = delete;
  const stc_state_reader& reader() const { return reader_; }

 private:
  friend struct StateProviderSlots;
  struct Entry;
  stc_state_reader reader_{};
  std::vector<std::unique_ptr<Entry>> entries_;
  Entry* find(const std::string& name) const;
};

}  // namespace stc::host
