/// \file
/// Adapter of dataset plugins.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "host/plugins/instance.hpp"
#include "stc/abi/dataset.h"

namespace stc::host {

struct FieldInfo {
  std::string name;
  int form = 0;  // STC_FIELD_*
  int dtype = 0;
  std::vector<int64_t> sizes;
  bool ragged() const;         // a size of -1
  uint64_t row_bytes() const;  // of a fixed shape
};

struct SplitInfo {
  std::string name;
  int64_t num_rows = -1;
  uint64_t num_bytes = 0;
};

class Dataset;

/// A reader of one shard of a split. Dies before its dataset.
class Stream {
 public:
  Stream(const Dataset& owner, stc_stream* raw) : owner_(owner), raw_(raw) {}
  ~Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  /// \throws DataError with the plugin's text for bad content, PluginError, Cancelled. [any-thread]
  void get(const int64_t* indices, uint32_t n, stc_row_buffer* buffers) const;
  /// Errors as get. [one thread at a time]
  void next(uint32_t n, stc_row_buffer* buffers, uint64_t* cursors, uint32_t* flags, uint32_t* num_rows, bool* end);
  void seek(uint64_t cursor);

 private:
  const Dataset& owner_;
  stc_stream* raw_;
};

class Dataset : public Instance {
 public:
  /// \throws PluginError for a description that makes no sense; whatever create throws.
  explicit Dataset(InstanceSpec spec);
  ~Dataset() override;
  const std::vector<SplitInfo>& splits() const { return splits_; }
  const std::vector<FieldInfo>& fields() const { return fields_; }
  const std::string& fingerprint() const { return fingerprint_; }
  bool indexed() const;  // has get and every split knows its length
  /// \throws DataError naming the splits there are.
  const SplitInfo& split(const std::string& name) const;
  /// What messages call the data: the value of the plugin's first path key, else its name.
  const std::string& source() const { return source_; }
  std::unique_ptr<Stream> open(const std::string& split, uint32_t shard, uint32_t num_shards);

 private:
  friend class Stream;
  /// As Instance::call, but faults of the content itself (IO, INVALID_ARGUMENT, NOT_FOUND) become
  /// DataError with the plugin's own words.
  template <class Function>
  void call_content(const char* slot, Function&& function) const;
  void describe();
  void destroy();
  [[noreturn]] void refuse(const std::string& what) const;

  stc_dataset* raw_ = nullptr;
  std::vector<SplitInfo> splits_;
  std::vector<FieldInfo> fields_;
  std::string fingerprint_;
  std::string source_;
};

}  // namespace stc::host
