/// \file
/// Datasets in C++: documents or ready rows, by index or as a stream. The host tokenizes, blocks,
/// shuffles, shards over workers and batches.
///
///   struct Lines {
///     struct Params { ... };
///     Lines(const Params& params, stc::Host host);
///     std::vector<stc::Split> splits();        // {"train", 1000}; asked once, before open
///     std::vector<stc::Field> fields();        // {stc::Field::text()}
///     std::string fingerprint();               // changes when the content does
///     Stream open(std::string_view split, uint32_t shard, uint32_t num_shards);  // [any-thread]
///   };
/// open returns any class of the author's (or a std::unique_ptr to one) with
///     void get(std::span<const int64_t> rows, stc::Rows& out);  // by index, several threads at
///     once
/// or  bool next(uint32_t n, stc::Rows& out);                    // up to n following rows; false:
/// the end
///     void seek(uint64_t cursor);                               // required with next
///   STC_DATASET_PLUGIN(Lines, "lines", "1.0.0", "one document a line")
///
/// Writing rows (see stc::Rows): get writes all rows asked for, next stops when commit says no:
///     bool next(uint32_t n, stc::Rows& out) {
///       while (out.size() < n && position_ < lines_.size()) {
///         if (!out.add_text(lines_[position_], position_)) { return true; }  // no room: this row
///         comes again
///         ++position_;
///       }
///       return position_ < lines_.size();
///     }
#pragma once

#include <algorithm>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "stc/abi/dataset.h"
#include "stc/plain/rows.hpp"
#include "stc/plugin.hpp"

namespace stc {

/// A part of a dataset.
struct Split {
  std::string name;        // "train", "validation"
  int64_t num_rows = -1;   // -1: unknown
  uint64_t num_bytes = 0;  // of the source; 0: unknown
};

/// A column of a dataset.
struct Field {
  std::string name;
  int32_t form = STC_FIELD_READY;  // STC_FIELD_*
  int32_t dtype = STC_DTYPE_INT64;
  std::vector<int64_t> sizes;  // of one row; -1 in front where ragged

  /// Documents as UTF-8, for the host to tokenize.
  static Field text(std::string name = "text") { return {std::move(name), STC_FIELD_UTF8, STC_DTYPE_UINT8, {-1}}; }
  /// Documents as token ids, for the host to block.
  static Field ids(std::string name = "input_ids", int32_t dtype = STC_DTYPE_INT32) {
    return {std::move(name), STC_FIELD_IDS, dtype, {-1}};
  }
  /// Rows of one fixed shape, stacked as they are.
  template <class T>
  static Field ready(std::string name, std::vector<int64_t> sizes) {
    static_assert(dtype_of<T> != 0, "a field has a type that has an STC_DTYPE code");
    return {std::move(name), STC_FIELD_READY, dtype_of<T>, std::move(sizes)};
  }
};

namespace detail {

/// The answer of describe, in the form of the ABI; made once.
struct DatasetDescription {
  std::once_flag once;
  std::vector<Split> splits;
  std::vector<Field> fields;
  std::string fingerprint;
  std::vector<stc_split_info> raw_splits;
  std::vector<stc_field_info> raw_fields;
  std::vector<RowShape> shapes;
  stc_dataset_info info{};

  template <class T>
  void fill(T& dataset) {
    splits = dataset.splits();
    fields = dataset.fields();
    fingerprint = dataset.fingerprint();
    raw_splits.clear();
    raw_fields.clear();
    shapes.clear();
    for (const Split& split : splits) {
      raw_splits.push_back(
          {STC_SIZE_TO_END(stc_split_info, num_bytes), 0, split.name.c_str(), split.num_rows, split.num_bytes});
    }
    for (const Field& field : fields) {
      shapes.push_back(RowShape::of(field.name, field.dtype, field.sizes));
      raw_fields.push_back({STC_SIZE_TO_END(stc_field_info, sizes), 0, field.name.c_str(), field.form, field.dtype,
                            static_cast<int32_t>(field.sizes.size()), 0, field.sizes.data()});
    }
    if (fields.empty() || fields.size() > Rows::kMaxFields) {
      throw Fault(STC_ERROR_INTERNAL, "dataset: got " + std::to_string(fields.size()) + " fields, allowed 1 to " +
                                          std::to_string(Rows::kMaxFields));
    }
    info.struct_size = STC_SIZE_TO_END(stc_dataset_info, fingerprint);
    info.splits = raw_splits.data();
    info.num_splits = static_cast<uint32_t>(raw_splits.size());
    info.split_stride = sizeof(stc_split_info);
    info.fields = raw_fields.data();
    info.num_fields = static_cast<uint32_t>(raw_fields.size());
    info.field_stride = sizeof(stc_field_info);
    info.fingerprint = fingerprint.c_str();
  }
};

template <class T>
struct DatasetSlots : Slots<T, stc_dataset, DatasetDescription> {
  using Base = Slots<T, stc_dataset, DatasetDescription>;
  static_assert(
      requires(T & t) {
        { t.splits() } -> std::convertible_to<std::vector<Split>>;
        { t.fields() } -> std::convertible_to<std::vector<Field>>;
        { t.fingerprint() } -> std::convertible_to<std::string>;
      },
      "a dataset has std::vector<stc::Split> splits(), std::vector<stc::Field> fields() and "
      "std::string fingerprint()");
  static_assert(
      requires(T & t, std::string_view split) { t.open(split, uint32_t{}, uint32_t{}); },
      "a dataset has Stream open(std::string_view split, uint32_t shard, uint32_t num_shards)");

  using Opened = decltype(std::declval<T&>().open(std::string_view(), uint32_t{}, uint32_t{}));
  template <class S>
  static S& dereferenced(S& stream) {
    return stream;
  }
  template <class S>
  static S& dereferenced(std::unique_ptr<S>& stream) {
    return *stream;
  }
  using Stream = std::remove_reference_t<decltype(dereferenced(std::declval<Opened&>()))>;

  static constexpr bool kHasGet = requires(Stream & s, std::span<const int64_t> rows, Rows& out) { s.get(rows, out); };
  static constexpr bool kHasNext = requires(Stream & s, uint32_t n, Rows& out) {
    { s.next(n, out) } -> std::convertible_to<bool>;
  };
  static constexpr bool kHasSeek = requires(Stream & s, uint64_t cursor) { s.seek(cursor); };
  static_assert(kHasGet || kHasNext,
                "the stream of a dataset has get(std::span<const int64_t>, stc::Rows&) or "
                "bool next(uint32_t, stc::Rows&)");
  static_assert(kHasNext == kHasSeek, "a stream with next has seek(uint64_t), and only such a stream");

  /// What stc_stream* points to.
  struct OpenStream {
    const stc_host* host;
    std::span<const RowShape> shapes;
    Opened opened;
    OpenStream(typename Base::BoxType& box, const char* split, uint32_t shard, uint32_t num_shards)
        : host(&box.table),
          shapes(box.extra.shapes),
          opened(box.object.open(std::string_view(split), shard, num_shards)) {}
    Stream& stream() { return dereferenced(opened); }
  };

  static void describe_once(stc_dataset* self) {
    auto& box = Base::box(self);
    std::call_once(box.extra.once, [&] { box.extra.fill(box.object); });
  }
  static stc_error* describe(stc_dataset* self, const stc_dataset_info** out) noexcept {
    return Base::call(self, [&](T&) {
      describe_once(self);
      *out = &Base::box(self).extra.info;
    });
  }
  static stc_error* open(stc_dataset* self, const char* split, uint32_t shard, uint32_t num_shards,
                         stc_stream** out) noexcept {
    return Base::call(self, [&](T&) {
      describe_once(self);
      *out = reinterpret_cast<stc_stream*>(new OpenStream(Base::box(self), split, shard, num_shards));
    });
  }
  static void close(stc_stream* raw) noexcept {
    if (raw != nullptr) {
      auto* stream = reinterpret_cast<OpenStream*>(raw);
      guarded_void(*stream->host, "close", [&] { delete stream; });
    }
  }
  static stc_error* get(stc_stream* raw, const int64_t* indices, uint32_t n, stc_row_buffer* buffers) noexcept {
    auto& stream = *reinterpret_cast<OpenStream*>(raw);
    return guarded(*stream.host, [&] {
      Rows rows(stream.shapes, buffers, n);
      stream.stream().get(std::span<const int64_t>(indices, n), rows);
      rows.finish_get();
    });
  }
  static stc_error* next(stc_stream* raw, uint32_t n, stc_row_buffer* buffers, uint64_t* cursors, uint32_t* flags,
                         uint32_t* num_rows, int32_t* end) noexcept {
    auto& stream = *reinterpret_cast<OpenStream*>(raw);
    return guarded(*stream.host, [&] {
      Rows rows(stream.shapes, buffers, n, cursors, flags);
      const bool more = stream.stream().next(n, rows);
      *num_rows = rows.size();
      *end = more ? 0 : 1;
    });
  }
  static stc_error* seek(stc_stream* raw, uint64_t cursor) noexcept {
    auto& stream = *reinterpret_cast<OpenStream*>(raw);
    return guarded(*stream.host, [&] { stream.stream().seek(cursor); });
  }
};

template <class T>
const stc_dataset_api* dataset_table() {
  using S = DatasetSlots<T>;
  static const stc_dataset_api table = [] {
    stc_dataset_api api{};
    api.struct_size = STC_SIZE_TO_END(stc_dataset_api, state_load);
    api.create = &S::create;
    api.destroy = &S::destroy;
    api.describe = &S::describe;
    api.open = &S::open;
    api.close = &S::close;
    if constexpr (S::kHasGet) {
      api.get = &S::get;
    }
    if constexpr (S::kHasNext) {
      api.next = &S::next;
      api.seek = &S::seek;
    }
    fill_state_slots<S, T>(api);
    return api;
  }();
  return &table;
}

}  // namespace detail
}  // namespace stc

#define STC_DEFINE_DATASET(Type, name, version, doc) \
  STC_DEFINE_PLUGIN(STC_KIND_DATASET, ::stc::detail::dataset_table<Type>(), Type, name, version, doc)
#define STC_DATASET_PLUGIN(Type, name, version, doc) \
  STC_DEFINE_DATASET(Type, name, version, doc);      \
  STC_PLUGIN_LIBRARY(plain, Type)
