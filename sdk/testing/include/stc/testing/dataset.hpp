/// \file
/// Conformance of datasets.
#pragma once

#include <algorithm>
#include <atomic>
#include <map>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "stc/core/dtype.hpp"
#include "stc/core/sized.hpp"
#include "stc/testing/subject.hpp"

namespace stc::testing {

using DatasetInstance = Instance<stc_dataset_api, stc_dataset>;

struct DatasetCase {
  Section config;
  std::string split = "train";
  /// Rows looked at of a source that does not end, or is longer.
  uint64_t most_rows = 2000;
  /// Relative paths of the configuration start here.
  std::string root;
};

namespace detail {

/// A row as bytes, one string a field, with what next says about it.
struct Row {
  std::vector<std::string> fields;
  uint64_t cursor = 0;
  uint32_t flags = 0;
};

struct FieldShape {
  std::string name;
  int32_t form = 0;
  uint64_t element_bytes = 0;
  int64_t elements = 1;  // -1: ragged
};

inline std::vector<FieldShape> field_shapes(const stc_dataset_info& info) {
  std::vector<FieldShape> shapes;
  for (uint32_t i = 0; i < info.num_fields; ++i) {
    const char* at = reinterpret_cast<const char*>(info.fields) + std::size_t{i} * info.field_stride;
    const auto field = stc::detail::imported(reinterpret_cast<const stc_field_info*>(at));
    FieldShape shape{field.name, field.form, stc::dtype_size(field.dtype), 1};
    for (int32_t d = 0; d < field.ndim; ++d) {
      shape.elements = field.sizes[d] < 0 || shape.elements < 0 ? -1 : shape.elements * field.sizes[d];
    }
    shapes.push_back(std::move(shape));
  }
  return shapes;
}

/// The buffers of one call, grown as the plugin asks, with bytes behind each that must stay as they
/// are.
class RowBuffers {
 public:
  RowBuffers(const std::vector<FieldShape>& shapes, uint32_t rows, uint64_t ragged_bytes)
      : shapes_(shapes), data_(shapes.size()), offsets_(shapes.size()), raw_(shapes.size()) {
    for (std::size_t f = 0; f < shapes.size(); ++f) {
      const bool ragged = shapes[f].elements < 0;
      offsets_[f].assign(ragged ? rows + 1 : 0, 0);
      resize(f, ragged ? ragged_bytes : rows * static_cast<uint64_t>(shapes[f].elements) * shapes[f].element_bytes);
    }
  }
  stc_row_buffer* raw() { return raw_.data(); }
  /// Gives what was asked for; false when nothing was.
  bool grow() {
    bool grown = false;
    for (std::size_t f = 0; f < raw_.size(); ++f) {
      if (raw_[f].needed_bytes > raw_[f].capacity_bytes) {
        resize(f, raw_[f].needed_bytes);
        grown = true;
      }
    }
    return grown;
  }
  bool wrote_past_the_end() const {
    return std::any_of(data_.begin(), data_.end(), [](const std::string& data) {
      return data.compare(data.size() - kGuard.size(), kGuard.size(), kGuard) != 0;
    });
  }
  std::string field(std::size_t f, uint32_t row) const {
    const bool ragged = shapes_[f].elements < 0;
    const uint64_t bytes = shapes_[f].element_bytes;
    const uint64_t begin = ragged ? offsets_[f][row] : row * static_cast<uint64_t>(shapes_[f].elements);
    const uint64_t end = ragged ? offsets_[f][row + 1] : begin + static_cast<uint64_t>(shapes_[f].elements);
    if (begin > end || end * bytes > raw_[f].capacity_bytes) {
      return "offsets leave the buffer";
    }
    return data_[f].substr(begin * bytes, (end - begin) * bytes);
  }
  Row row(uint32_t i) const {
    Row row;
    for (std::size_t f = 0; f < shapes_.size(); ++f) {
      row.fields.push_back(field(f, i));
    }
    return row;
  }

 private:
  inline static const std::string kGuard = std::string(16, '\x5a');
  void resize(std::size_t f, uint64_t bytes) {
    data_[f] = std::string(bytes, '\0') + kGuard;
    raw_[f] = {STC_SIZE_TO_END(stc_row_buffer, needed_bytes),      0, data_[f].data(), bytes,
               offsets_[f].empty() ? nullptr : offsets_[f].data(), 0};
  }
  const std::vector<FieldShape>& shapes_;
  std::vector<std::string> data_;
  std::vector<std::vector<uint64_t>> offsets_;
  std::vector<stc_row_buffer> raw_;
};

/// A reader of one shard, closed at the end of its scope.
class OpenStream {
 public:
  OpenStream(const DatasetInstance& dataset, const std::string& split, uint32_t shard = 0, uint32_t num_shards = 1)
      : dataset_(dataset) {
    error = dataset.call(dataset.api().open, split.c_str(), shard, num_shards, &stream_);
  }
  ~OpenStream() {
    if (stream_ != nullptr) {
      dataset_.api().close(stream_);
    }
  }
  OpenStream(const OpenStream&) = delete;
  OpenStream& operator=(const OpenStream&) = delete;
  SlotError get(const std::vector<int64_t>& rows, stc_row_buffer* buffers) const {
    return dataset_.host().take(dataset_.api().get(stream_, rows.data(), static_cast<uint32_t>(rows.size()), buffers));
  }
  SlotError next(uint32_t n, stc_row_buffer* buffers, uint64_t* cursors, uint32_t* flags, uint32_t* rows,
                 int32_t* end) const {
    return dataset_.host().take(dataset_.api().next(stream_, n, buffers, cursors, flags, rows, end));
  }
  SlotError seek(uint64_t cursor) const { return dataset_.host().take(dataset_.api().seek(stream_, cursor)); }
  SlotError error;

 private:
  const DatasetInstance& dataset_;
  stc_stream* stream_ = nullptr;
};

inline std::vector<Row> get_rows(Report& report, const OpenStream& stream, const std::vector<FieldShape>& shapes,
                                 const std::vector<int64_t>& indices, uint64_t ragged_bytes = 1 << 16) {
  RowBuffers buffers(shapes, static_cast<uint32_t>(indices.size()), ragged_bytes);
  do {
    const SlotError error = stream.get(indices, buffers.raw());
    if (!report.expect(!error, "get: " + error.message)) {
      return {};
    }
    report.expect(!buffers.wrote_past_the_end(), "get wrote past the end of a buffer");
  } while (buffers.grow());
  std::vector<Row> rows;
  for (uint32_t i = 0; i < indices.size(); ++i) {
    rows.push_back(buffers.row(i));
  }
  return rows;
}

/// Reads on with calls of n rows until the end or `most` rows.
inline std::vector<Row> next_rows(Report& report, const OpenStream& stream, const std::vector<FieldShape>& shapes,
                                  uint32_t n, uint64_t most, uint64_t ragged_bytes = 1 << 16) {
  std::vector<Row> rows;
  RowBuffers buffers(shapes, n, ragged_bytes);
  std::vector<uint64_t> cursors(n);
  std::vector<uint32_t> flags(n);
  for (int32_t end = 0; end == 0 && rows.size() < most;) {
    uint32_t got = 0;
    const SlotError error = stream.next(n, buffers.raw(), cursors.data(), flags.data(), &got, &end);
    if (!report.expect(!error, "next: " + error.message) ||
        !report.expect(got <= n, "next gave " + std::to_string(got) + " rows, asked for " + std::to_string(n))) {
      break;
    }
    report.expect(!buffers.wrote_past_the_end(), "next wrote past the end of a buffer");
    for (uint32_t i = 0; i < got; ++i) {
      rows.push_back(buffers.row(i));
      rows.back().cursor = cursors[i];
      rows.back().flags = flags[i];
    }
    if (got == 0 && end == 0 && !report.expect(buffers.grow(), "next gave neither rows nor the end nor a size")) {
      break;
    }
  }
  rows.resize(static_cast<std::size_t>(std::min<uint64_t>(rows.size(), most)));
  return rows;
}

inline bool same_rows(const std::vector<Row>& a, const std::vector<Row>& b, std::size_t skip = 0) {
  if (a.size() < skip || a.size() - skip != b.size()) {
    return false;
  }
  return std::equal(b.begin(), b.end(), a.begin() + static_cast<std::ptrdiff_t>(skip), [](const Row& x, const Row& y) {
    return x.fields == y.fields && x.flags == y.flags && x.cursor == y.cursor;
  });
}

inline void check_description(Report& report, const DatasetInstance& dataset, const stc_dataset_info& info) {
  report.context("describe");
  report.expect(info.num_splits > 0 && info.num_fields > 0, "has no split or no field");
  const std::string fingerprint = info.fingerprint == nullptr ? "" : info.fingerprint;
  report.expect(!fingerprint.empty() && fingerprint.size() <= 128,
                "the fingerprint has " + std::to_string(fingerprint.size()) + " bytes, expected 1 to 128");
  for (const FieldShape& shape : field_shapes(info)) {
    report.expect(shape.element_bytes > 0, shape.name + ": dtype is none");
    const bool ragged = shape.form == STC_FIELD_UTF8 || shape.form == STC_FIELD_IDS;
    report.expect(ragged || shape.form == STC_FIELD_READY, shape.name + ": form is none");
    report.expect(!ragged || shape.elements < 0, shape.name + ": text and ids have one dimension of -1");
    report.expect(shape.form != STC_FIELD_UTF8 || shape.element_bytes == 1, shape.name + ": text has dtype uint8");
  }
  const stc_dataset_info* again = nullptr;
  const SlotError error = dataset.call(dataset.api().describe, &again);
  report.expect(!error && again->fingerprint == fingerprint, "describe answers differently the second time");
}

inline void check_get(Report& report, const DatasetInstance& dataset, const stc_dataset_info& info,
                      const std::string& split, int64_t num_rows, uint64_t most_rows) {
  report.context("get");
  const auto shapes = field_shapes(info);
  OpenStream stream(dataset, split);
  std::vector<int64_t> all;
  for (int64_t i = 0; i < std::min<int64_t>(num_rows, static_cast<int64_t>(most_rows)); ++i) {
    all.push_back(i);
  }
  const std::vector<Row> rows = get_rows(report, stream, shapes, all);
  if (!report.expect(rows.size() == all.size() && !rows.empty(), "gave no rows")) {
    return;
  }
  report.expect(same_rows(rows, get_rows(report, stream, shapes, all, 0)), "rows differ after asking for the size");
  std::vector<int64_t> mixed;
  for (std::size_t i = 0; i < all.size(); ++i) {
    mixed.push_back(all[(i * 7919 + 13) % all.size()]);
  }
  mixed.push_back(mixed.front());
  const std::vector<Row> shuffled = get_rows(report, stream, shapes, mixed);
  for (std::size_t i = 0; i < shuffled.size(); ++i) {
    if (!report.expect(shuffled[i].fields == rows[static_cast<std::size_t>(mixed[i])].fields,
                       "row " + std::to_string(mixed[i]) + " depends on its neighbours")) {
      break;
    }
  }
  for (int64_t wrong : {int64_t{-1}, num_rows}) {
    RowBuffers buffers(shapes, 1, 1 << 16);
    report.expect(static_cast<bool>(stream.get({wrong}, buffers.raw())),
                  "row " + std::to_string(wrong) + " of " + std::to_string(num_rows) + " gave no error");
  }
  std::vector<Report> reports(4);
  std::vector<std::thread> threads;
  for (Report& own : reports) {
    threads.emplace_back(
        [&] { own.expect(same_rows(rows, get_rows(own, stream, shapes, all)), "rows differ between threads"); });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  for (const Report& own : reports) {
    report.merge(own);
  }
}

/// Rows put together to documents.
inline std::vector<std::string> documents(const std::vector<Row>& rows) {
  std::vector<std::string> documents;
  bool continues = false;
  for (const Row& row : rows) {
    std::string text;
    for (const std::string& field : row.fields) {
      text += field;
    }
    if (continues) {
      documents.back() += text;
    } else {
      documents.push_back(text);
    }
    continues = (row.flags & STC_ROW_CONTINUES) != 0;
  }
  return documents;
}

/// Whether both begin with the same documents; all of them when both are `whole`. The last one of a
/// part may be cut anywhere.
inline bool same_documents(const std::vector<Row>& a, const std::vector<Row>& b, bool whole) {
  std::vector<std::string> left = documents(a), right = documents(b);
  if (left.empty() || right.empty()) {
    return left.empty() && right.empty();
  }
  if (!whole) {
    const std::size_t complete = std::min(left.size(), right.size()) - 1;
    left.resize(complete);
    right.resize(complete);
  }
  return left == right;
}

inline void check_next(Report& report, const DatasetInstance& dataset, const stc_dataset_info& info,
                       const std::string& split, uint64_t most_rows) {
  report.context("next");
  const auto shapes = field_shapes(info);
  OpenStream stream(dataset, split);
  const std::vector<Row> rows = next_rows(report, stream, shapes, 7, most_rows);
  if (!report.expect(!rows.empty(), "gave no rows")) {
    return;
  }
  report.expect(!stream.seek(0), "seek to 0 failed");
  report.expect(same_rows(rows, next_rows(report, stream, shapes, 7, rows.size())), "rows differ after a seek to 0");
  const bool whole = rows.size() < most_rows;
  const uint64_t enough = whole ? UINT64_MAX : most_rows;
  OpenStream one_by_one(dataset, split);
  report.expect(same_documents(next_rows(report, one_by_one, shapes, 1, enough), rows, whole),
                "documents depend on the number of rows asked for");
  OpenStream tight(dataset, split);
  report.expect(same_documents(next_rows(report, tight, shapes, 3, enough, 0), rows, whole),
                "documents differ when the buffer starts empty");
  report.context("seek");
  for (std::size_t at = 0; at < rows.size(); at += 1 + rows.size() / 16) {
    OpenStream again(dataset, split);
    report.expect(!again.seek(rows[at].cursor), "a cursor of next was refused");
    const std::vector<Row> rest = next_rows(report, again, shapes, 7, rows.size() - at);
    report.expect(same_rows(rows, rest, at), "the cursor of row " + std::to_string(at) + " restarts elsewhere");
  }
  report.context("shards");
  if (whole) {
    std::vector<std::string> all = documents(rows), parts;
    for (uint32_t shard = 0; shard < 3; ++shard) {
      OpenStream part(dataset, split, shard, 3);
      if (!part.error) {
        const std::vector<std::string> own = documents(next_rows(report, part, shapes, 7, most_rows));
        parts.insert(parts.end(), own.begin(), own.end());
      }
    }
    std::sort(all.begin(), all.end());
    std::sort(parts.begin(), parts.end());
    report.expect(all == parts, "three shards do not hold the same documents as one");
  }
}

}  // namespace detail

/// The description is sound and stable; rows do not depend on the call, the neighbours, the thread
/// or the room given; cursors restart exactly; shards add up; what does not exist is an error.
inline Report check_dataset(const Subject& subject, const DatasetCase& given = {}) {
  Report report = check_declaration(subject);
  FakeHost host;
  host.root = given.root;
  {
    DatasetInstance dataset(subject, host, given.config), other(subject, host, given.config);
    report.context("create");
    if (!report.expect(!dataset.error(), dataset.error().message)) {
      return report;
    }
    report.context("describe");
    const stc_dataset_info* raw = nullptr;
    const stc_dataset_info* raw_other = nullptr;
    const SlotError error = dataset.call(dataset.api().describe, &raw);
    if (!report.expect(!error && raw != nullptr, error.message)) {
      return report;
    }
    const auto info = stc::detail::imported(raw);
    report.expect(
        !other.call(other.api().describe, &raw_other) && std::string(raw_other->fingerprint) == info.fingerprint,
        "two instances have different fingerprints");
    detail::check_description(report, dataset, info);

    std::optional<int64_t> num_rows;
    for (uint32_t i = 0; i < info.num_splits; ++i) {
      const char* at = reinterpret_cast<const char*>(info.splits) + std::size_t{i} * info.split_stride;
      const auto split = stc::detail::imported(reinterpret_cast<const stc_split_info*>(at));
      if (given.split == split.name) {
        num_rows = split.num_rows;
      }
    }
    report.context("open");
    if (!report.expect(num_rows.has_value(), "has no split " + given.split)) {
      return report;
    }
    const detail::OpenStream missing(dataset, "no such split");
    report.expect(static_cast<bool>(missing.error), "a split that does not exist was opened");
    if (dataset.api().get != nullptr && *num_rows > 0) {
      detail::check_get(report, dataset, info, given.split, *num_rows, given.most_rows);
    }
    if (dataset.api().next != nullptr) {
      detail::check_next(report, dataset, info, given.split, given.most_rows);
    }
  }
  report.context("");
  report.expect(host.errors_alive() == 0, "errors were not freed");
  return report;
}

}  // namespace stc::testing
