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
};

struct SplitInfo {
  std::string name;
  int64_t num_rows = -1;
  uint64_t num_bytes = 0;
};

/// A reader of one shard of a split.
class Stream {
 public:
  Stream(const stc_dataset_api& api, const Instance& owner, stc_stream* raw);
  ~Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  void get(const int64_t* indices, uint32_t n, stc_row_buffer* buffers);
  void next(uint32_t n, stc_row_buffer* buffers, uint64_t* cursors, uint32_t* flags, uint32_t* num_rows, bool* end);
  void seek(uint64_t cursor);

 private:
  const stc_dataset_api& api_;
  const Instance& owner_;
  stc_stream* raw_;
};

class Dataset : public Instance {
 public:
  explicit Dataset(InstanceSpec spec);
  ~Dataset() override;
  const std::vector<SplitInfo>& splits() const { return splits_; }
  const std::vector<FieldInfo>& fields() const { return fields_; }
  const std::string& fingerprint() const { return fingerprint_; }
  bool indexed() const;  // has get and every split knows its length
  std::unique_ptr<Stream> open(const std::string& split, uint32_t shard, uint32_t num_shards);

 private:
  friend class Stream;
  stc_dataset* raw_ = nullptr;
  std::vector<SplitInfo> splits_;
  std::vector<FieldInfo> fields_;
  std::string fingerprint_;
};

}  // namespace stc::host
