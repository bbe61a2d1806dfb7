/// \file
/// Where a dataset's stream writes its rows. No allocation, whatever the number of rows.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "stc/abi/dataset.h"
#include "stc/core/dtype.hpp"
#include "stc/core/fault.hpp"

namespace stc {

namespace detail {

/// Size of one row of a field.
struct RowShape {
  int32_t dtype = 0;
  uint32_t element_bytes = 0;
  int64_t elements = 0;  // -1: ragged

  static RowShape of(const std::string& name, int32_t dtype, const std::vector<int64_t>& sizes) {
    RowShape shape{dtype, static_cast<uint32_t>(dtype_size(dtype)), 1};
    if (shape.element_bytes == 0) {
      throw Fault(STC_ERROR_INTERNAL, "field " + name + ": got dtype " + std::to_string(dtype) + ", which is none");
    }
    for (int64_t size : sizes) {
      if (size < 0 || shape.elements < 0) {
        shape.elements = -1;
      } else {
        shape.elements *= size;
      }
    }
    return shape;
  }
};

}  // namespace detail

/// The rows of one call of get or next, in order. A row is written field by field with put (or
/// slot, to write in place) and ended with commit. A row that does not fit is undone by commit.
class Rows {
 public:
  static constexpr std::size_t kMaxFields = 32;

  Rows(std::span<const detail::RowShape> shapes, stc_row_buffer* buffers, uint32_t capacity,
       uint64_t* cursors = nullptr, uint32_t* flags = nullptr)
      : shapes_(shapes),
        buffers_(buffers),
        capacity_(capacity),
        cursors_(cursors),
        flags_(flags),
        is_get_(cursors == nullptr) {
    for (std::size_t f = 0; f < shapes_.size(); ++f) {
      buffers_[f].needed_bytes = 0;
      if (is_ragged(f)) {
        if (buffers_[f].offsets == nullptr) {
          throw Fault(STC_ERROR_INVALID_ARGUMENT, "rows: field " + std::to_string(f) + " is ragged, got no offsets");
        }
        buffers_[f].offsets[0] = 0;
      }
    }
  }

  /// Rows asked for, rows written so far.
  uint32_t capacity() const { return capacity_; }
  uint32_t size() const { return num_rows_; }

  /// Elements of a field that still fit: how large a piece of a document may be.
  uint64_t room(uint32_t field) const {
    const uint64_t capacity = buffers_[field].data == nullptr ? 0 : buffers_[field].capacity_bytes;
    return capacity > end_[field] ? (capacity - end_[field]) / shapes_[field].element_bytes : 0;
  }

  /// Room for this row's values of a field, to be filled before commit; empty when there is none.
  /// \param count elements; must be the field's own number where its shape is fixed.
  template <class T>
  std::span<T> slot(uint32_t field, uint64_t count) {
    expect(field, dtype_of<T>, sizeof(T));
    void* place = reserve(field, count);
    return place == nullptr ? std::span<T>() : std::span<T>(static_cast<T*>(place), count);
  }
  /// Copies this row's values of a field.
  template <class T>
  void put(uint32_t field, std::span<const T> values) {
    const std::span<T> to = slot<T>(field, values.size());
    if (!to.empty()) {
      std::memcpy(to.data(), values.data(), values.size_bytes());
    }
  }
  void put(uint32_t field, std::string_view text) { put(field, std::span<const char>(text.data(), text.size())); }
  template <class T>
  void put(uint32_t field, const std::vector<T>& values) {
    put(field, std::span<const T>(values));
  }
  /// For element types without a C++ type (bfloat16): raw bytes.
  void put_bytes(uint32_t field, const void* data, uint64_t bytes) {
    const uint32_t element = shapes_[field].element_bytes;
    if (void* to = reserve(field, bytes / element); to != nullptr && bytes != 0) {
      std::memcpy(to, data, bytes);
    }
  }

  /// Ends the row. False: a part of it did not fit, and nothing of it is kept; next returns true
  /// then and writes the same row first at its next call. In get, always true: the host asks again
  /// for all rows. \param cursor restarts at this row (next only). \param flags STC_ROW_*.
  bool commit(uint64_t cursor = 0, uint32_t flags = 0) {
    if (num_rows_ >= capacity_) {
      throw Fault(STC_ERROR_INTERNAL, "rows: more rows written than the " + std::to_string(capacity_) + " asked for");
    }
    if (overflow_ && !is_get_) {
      for (std::size_t f = 0; f < shapes_.size(); ++f) {
        if (num_rows_ == 0) {
          buffers_[f].needed_bytes = end_[f];
        }
        end_[f] = begin_[f];
      }
      overflow_ = false;
      return false;
    }
    for (std::size_t f = 0; f < shapes_.size(); ++f) {
      const uint64_t written = end_[f] - begin_[f];
      if (!is_ragged(f) && written != row_bytes(f)) {
        throw Fault(STC_ERROR_INTERNAL, "rows: field " + std::to_string(f) + ": got " + std::to_string(written) +
                                            " bytes, a row has " + std::to_string(row_bytes(f)));
      }
      if (is_ragged(f)) {
        buffers_[f].offsets[num_rows_ + 1] = end_[f] / shapes_[f].element_bytes;
      }
      begin_[f] = end_[f];
    }
    if (!is_get_) {
      cursors_[num_rows_] = cursor;
      flags_[num_rows_] = flags;
    }
    ++num_rows_;
    return true;
  }

  /// put and commit of a dataset with one field.
  bool add_text(std::string_view text, uint64_t cursor = 0, uint32_t flags = 0) {
    put(0, text);
    return commit(cursor, flags);
  }
  template <class T>
  bool add(std::span<const T> values, uint64_t cursor = 0, uint32_t flags = 0) {
    put(0, values);
    return commit(cursor, flags);
  }

  /// Called by the SDK at the end of get.
  void finish_get() {
    if (num_rows_ != capacity_) {
      throw Fault(STC_ERROR_INTERNAL,
                  "rows: got " + std::to_string(num_rows_) + " rows, asked for " + std::to_string(capacity_));
    }
    if (overflow_) {
      for (std::size_t f = 0; f < shapes_.size(); ++f) {
        buffers_[f].needed_bytes = end_[f];
      }
    }
  }

 private:
  bool is_ragged(std::size_t field) const { return shapes_[field].elements < 0; }
  uint64_t row_bytes(std::size_t field) const {
    return static_cast<uint64_t>(shapes_[field].elements) * shapes_[field].element_bytes;
  }
  void expect(uint32_t field, int32_t dtype, std::size_t element_bytes) const {
    if (field >= shapes_.size()) {
      throw Fault(STC_ERROR_INTERNAL, "rows: field " + std::to_string(field) + " of " + std::to_string(shapes_.size()));
    }
    const bool same =
        shapes_[field].dtype == dtype || (dtype == STC_DTYPE_UINT8 && shapes_[field].dtype == STC_DTYPE_BOOL);
    if (!same || shapes_[field].element_bytes != element_bytes) {
      throw Fault(STC_ERROR_INTERNAL, "rows: field " + std::to_string(field) + ": got " + dtype_name(dtype) +
                                          ", the field is " + dtype_name(shapes_[field].dtype));
    }
  }
  /// Where `count` elements go; null when they do not fit. Counts them in either case.
  void* reserve(uint32_t field, uint64_t count) {
    const uint64_t at = end_[field];
    end_[field] += count * shapes_[field].element_bytes;
    if (end_[field] > buffers_[field].capacity_bytes || buffers_[field].data == nullptr) {
      overflow_ = overflow_ || end_[field] > at;
      return nullptr;
    }
    return static_cast<char*>(buffers_[field].data) + at;
  }

  std::span<const detail::RowShape> shapes_;
  stc_row_buffer* buffers_;
  uint32_t capacity_;
  uint64_t* cursors_;
  uint32_t* flags_;
  bool is_get_;
  bool overflow_ = false;
  uint32_t num_rows_ = 0;
  std::array<uint64_t, kMaxFields> begin_{};  // bytes; start and end of the row being written
  std::array<uint64_t, kMaxFields> end_{};
};

}  // namespace stc
