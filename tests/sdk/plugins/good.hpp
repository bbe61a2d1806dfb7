/// \file
/// Small, right plugins of every plain kind; broken.cpp derives its faults from them.
#pragma once

#include <algorithm>
#include <cmath>
#include <fstream>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "stc/plain/dataset.hpp"
#include "stc/plain/precision.hpp"
#include "stc/plain/sink.hpp"
#include "stc/plain/sync.hpp"
#include "stc/plain/tokenizer.hpp"

namespace stc::sdk_test {

/// Lines "name: field=value ..." in a file.
struct Lines {
  struct Params {
    std::string path = "lines.txt";
    template <class V>
    static void describe(V& v) {
      v.path("path", &Params::path, "file to write");
    }
  };
  Lines(const Params& params, Host host) : path_(host.path_resolve(params.path)) {}
  void open(const RunInfo& run) { reopen(run.resumed()); }
  void event(const EventView& event) {
    out_ << event.name() << ":";
    for (const auto& field : event) {
      out_ << " " << field.name << "=" << field.value.kind_name();
      if (field.value.is_int()) {
        out_ << field.value.as_int();
      }
    }
    out_ << "\n";
  }
  void flush() { out_.flush(); }
  void close() { out_.close(); }

 protected:
  void reopen(bool append) {
    out_.open(path_, append ? std::ios::app : std::ios::trunc);
    if (!out_) {
      throw Fault(STC_ERROR_IO, path_ + ": cannot be opened");
    }
  }
  std::string path_;
  std::ofstream out_;
};

/// One id a byte, into the caller's memory.
struct Bytes {
  uint64_t size() const { return 256; }
  uint64_t max_token_bytes() const { return 1; }
  uint64_t safe_cut(std::string_view text) const { return text.size(); }
  int32_t special_token(std::string_view) const { return -1; }
  uint64_t encode(std::string_view text, std::span<int32_t> ids) const {
    if (text.size() <= ids.size()) {
      std::transform(text.begin(), text.end(), ids.begin(), [](char c) { return static_cast<unsigned char>(c); });
    }
    return text.size();
  }
  uint64_t decode(std::span<const int32_t> ids, std::span<char> text) const {
    for (std::size_t i = 0; i < ids.size(); ++i) {
      if (ids[i] < 0 || ids[i] > 255) {
        throw Fault(STC_ERROR_INVALID_ARGUMENT, "id " + std::to_string(ids[i]) + " is outside of 0 to 255");
      }
      if (ids.size() <= text.size()) {
        text[i] = static_cast<char>(ids[i]);
      }
    }
    return ids.size();
  }
};

/// "ab" is one id, other bytes their own: a cut between a and b changes the ids. Grows vectors.
struct Pairs {
  uint64_t size() const { return 257; }
  uint64_t safe_cut(std::string_view text) const {
    return !text.empty() && text.back() == 'a' ? text.size() - 1 : text.size();
  }
  void encode(std::string_view text, std::vector<int32_t>& ids) const {
    for (std::size_t i = 0; i < text.size(); ++i) {
      if (text[i] == 'a' && i + 1 < text.size() && text[i + 1] == 'b') {
        ids.push_back(256);
        ++i;
      } else {
        ids.push_back(static_cast<unsigned char>(text[i]));
      }
    }
  }
  void decode(std::span<const int32_t> ids, std::string& text) const {
    for (int32_t id : ids) {
      if (id < 0 || id > 256) {
        throw Fault(STC_ERROR_INVALID_ARGUMENT, "id " + std::to_string(id) + " is outside of 0 to 256");
      }
      text += id == 256 ? std::string("ab") : std::string(1, static_cast<char>(id));
    }
  }
};

/// Documents of growing length, by index and as a stream, with two fields.
struct Documents {
  static constexpr int64_t kRows = 40;
  static std::string text(int64_t row) {
    return std::string(static_cast<std::size_t>(row * row % 97), static_cast<char>('a' + row % 26));
  }

  struct Stream {
    uint64_t position, step, first;
    void get(std::span<const int64_t> rows, Rows& out) const {
      for (int64_t row : rows) {
        if (row < 0 || row >= kRows) {
          throw Fault(STC_ERROR_INVALID_ARGUMENT, "row " + std::to_string(row) + " of " + std::to_string(kRows));
        }
        out.put(0, text(row));
        out.put(1, std::vector<int64_t>{row, -row});
        out.commit();
      }
    }
    bool next(uint32_t n, Rows& out) {
      while (out.size() < n && position < kRows) {
        const auto row = static_cast<int64_t>(position);
        out.put(0, text(row));
        out.put(1, std::vector<int64_t>{row, -row});
        if (!out.commit(position)) {
          return true;
        }
        position += step;
      }
      return position < kRows;
    }
    void seek(uint64_t cursor) { position = cursor == 0 ? first : cursor; }
  };

  std::vector<Split> splits() const { return {{"train", kRows, 1000}}; }
  std::vector<Field> fields() const { return {Field::text(), Field::ready<int64_t>("pair", {2})}; }
  std::string fingerprint() const { return "documents/1"; }
  Stream open(std::string_view split, uint32_t shard, uint32_t num_shards) const {
    if (split != "train") {
      throw Fault(STC_ERROR_NOT_FOUND, "split " + std::string(split) + ", there is train");
    }
    return {shard, num_shards, shard};
  }
};

/// A dynamic loss scale.
struct Scaler {
  PrecisionPlan resolve(const DeviceInfo&, std::string_view) const { return {STC_DTYPE_FLOAT16, true, true, "half"}; }
  double scale() const { return scale_; }
  void update(bool found_inf) {
    good_ = found_inf ? 0 : good_ + 1;
    scale_ = found_inf ? scale_ / 2 : good_ % 5 == 0 ? scale_ * 2 : scale_;
  }
  void save(StateWriter& state) const {
    state.number("scale", scale_);
    state.number("good", good_);
  }
  void load(const StateReader& state) {
    scale_ = state.number<double>("scale").value();
    good_ = state.number<int64_t>("good").value();
  }

 protected:
  double scale_ = 1024;
  int64_t good_ = 0;
};

/// A versioned tree in memory; every instance of one name sees the same.
struct Memory {
  struct Params {
    std::string place = "here";
    template <class V>
    static void describe(V& v) {
      v("place", &Params::place, "name of the place");
    }
  };
  using Tree = std::map<std::string, std::string>;
  struct Place {
    std::mutex mutex;
    bool exists = false;
    std::vector<Tree> versions{Tree()};
  };
  static Place& place(const std::string& name) {
    static std::map<std::string, Place> places;
    return places[name];
  }
  explicit Memory(const Params& params) : place_(place(params.place)) {}

  SyncIdentity identity() const { return {STC_SYNC_CAN_READ | STC_SYNC_CAN_WRITE, "somebody", "memory"}; }
  void ensure(bool create, bool) {
    const std::lock_guard lock(place_.mutex);
    if (!place_.exists && !create) {
      throw Fault(STC_ERROR_NOT_FOUND, "the place does not exist");
    }
    place_.exists = true;
  }
  std::string poll() {
    const std::lock_guard lock(place_.mutex);
    return std::to_string(place_.versions.size() - 1);
  }
  void list(std::string_view prefix, std::optional<std::string_view> version, const SyncListing& out) {
    for (const auto& [path, data] : tree(version)) {
      if (path.starts_with(prefix)) {
        out.add(path.c_str(), data.size());
      }
    }
  }
  void read(std::string_view path, std::optional<std::string_view> version, const SyncChunks& out) {
    const Tree files = tree(version);
    const auto found = files.find(std::string(path));
    if (found == files.end()) {
      throw Fault(STC_ERROR_NOT_FOUND, std::string(path));
    }
    out.add(found->second.data(), found->second.size());
  }
  std::string commit(const SyncCommit& commit) {
    const std::lock_guard lock(place_.mutex);
    if (commit.expected_version && *commit.expected_version != std::to_string(place_.versions.size() - 1)) {
      throw Fault(STC_ERROR_CONFLICT, "another commit came first");
    }
    Tree files = place_.versions.back();
    for (const SyncOperation& operation : commit.operations) {
      check_path(operation.path);
      if (operation.kind == STC_SYNC_DELETE) {
        files.erase(std::string(operation.path));
      } else {
        files[std::string(operation.path)] = operation.data;
      }
    }
    place_.versions.push_back(std::move(files));
    return std::to_string(place_.versions.size() - 1);
  }

 protected:
  static void check_path(std::string_view path) {
    if (path.empty() || path.front() == '/' || path.find("..") != std::string_view::npos) {
      throw Fault(STC_ERROR_INVALID_ARGUMENT, "path " + std::string(path));
    }
  }
  Tree tree(std::optional<std::string_view> version) {
    const std::lock_guard lock(place_.mutex);
    return version ? place_.versions.at(std::stoul(std::string(*version))) : place_.versions.back();
  }
  Place& place_;
};

}  // namespace stc::sdk_test
