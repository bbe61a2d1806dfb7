// Each plugin has one fault, named after it. The suites must find it.
#include "tests/sdk/plugins/good.hpp"

namespace stc::sdk_test {

struct Forgets : Lines {
  using Lines::Lines;
  void open(const RunInfo&) { reopen(false); }
};
struct Throws : Lines {
  using Lines::Lines;
  void event(const EventView& event) {
    if (event.size() == 0) {
      throw std::runtime_error("no fields");
    }
    Lines::event(event);
  }
};

struct Lossy : Pairs {
  void decode(std::span<const int32_t> ids, std::string& text) const {
    Pairs::decode(ids, text);
    std::replace(text.begin(), text.end(), '\n', ' ');
  }
};
struct CutsAnywhere : Pairs {
  uint64_t safe_cut(std::string_view text) const { return text.size(); }
};
struct OutOfRange : Bytes {
  uint64_t size() const { return 100; }
};
struct Overruns : Bytes {
  uint64_t encode(std::string_view text, std::span<int32_t> ids) const {
    const std::size_t n = std::min(text.size(), ids.size());
    std::fill_n(ids.begin(), n, 5);
    return text.size();
  }
};
struct TakesAnyId : Bytes {
  uint64_t decode(std::span<const int32_t> ids, std::span<char> text) const {
    for (std::size_t i = 0; ids.size() <= text.size() && i < ids.size(); ++i) {
      text[i] = static_cast<char>(ids[i]);
    }
    return ids.size();
  }
};

/// Documents whose stream is replaced.
template <class S>
struct With : Documents {
  S open(std::string_view split, uint32_t shard, uint32_t num_shards) const {
    return S{Documents::open(split, shard, num_shards)};
  }
};
struct SkippingStream : Documents::Stream {
  bool next(uint32_t n, Rows& out) {
    const uint64_t before = position;
    const bool more = Documents::Stream::next(n, out);
    if (out.size() == 0 && more) {
      position = before + step;  // loses the row that did not fit
    }
    return more;
  }
};
struct NearbyStream : Documents::Stream {
  void seek(uint64_t cursor) { position = cursor == 0 ? first : cursor + 1; }
};
struct ForgivingStream : Documents::Stream {
  void get(std::span<const int64_t> rows, Rows& out) const {
    std::vector<int64_t> clamped(rows.begin(), rows.end());
    for (int64_t& row : clamped) {
      row = std::clamp<int64_t>(row, 0, Documents::kRows - 1);
    }
    Documents::Stream::get(clamped, out);
  }
};
struct NeighbourStream : Documents::Stream {
  void get(std::span<const int64_t> rows, Rows& out) const {
    std::vector<int64_t> sorted(rows.begin(), rows.end());
    std::sort(sorted.begin(), sorted.end());
    Documents::Stream::get(sorted, out);
  }
};
using Skipping = With<SkippingStream>;
using Nearby = With<NearbyStream>;
using Forgiving = With<ForgivingStream>;
using Neighbours = With<NeighbourStream>;
struct AllInEachShard : Documents {
  Stream open(std::string_view split, uint32_t, uint32_t) const { return Documents::open(split, 0, 1); }
};
struct AnySplit : Documents {
  Stream open(std::string_view, uint32_t shard, uint32_t num_shards) const { return {shard, num_shards, shard}; }
};
struct Restless : Documents {
  std::string fingerprint() const {
    static int count = 0;
    return "documents/" + std::to_string(++count);
  }
};

struct Amnesic : Scaler {
  void load(const StateReader&) {}
};
struct Zero : Scaler {
  double scale() const { return 0; }
};
struct NotFloating : Scaler {
  PrecisionPlan resolve(const DeviceInfo&, std::string_view) const { return {STC_DTYPE_INT8, true, true, ""}; }
};

struct NoConflict : Memory {
  using Memory::Memory;
  std::string commit(SyncCommit commit) {
    commit.expected_version.reset();
    return Memory::commit(commit);
  }
};
struct Partial : Memory {
  using Memory::Memory;
  std::string commit(const SyncCommit& commit) {
    std::string version;
    for (const SyncOperation& operation : commit.operations) {
      SyncCommit one{{operation}, std::nullopt, commit.message, false};
      if (&operation == &commit.operations.front()) {
        one.expected_version = commit.expected_version;
      }
      version = Memory::commit(one);
    }
    return version;
  }
};
struct OnlyNewest : Memory {
  using Memory::Memory;
  void read(std::string_view path, std::optional<std::string_view>, const SyncChunks& out) {
    Memory::read(path, std::nullopt, out);
  }
};

struct Undocumented : Bytes {
  struct Params {
    int64_t depth = 0;
    template <class V>
    static void describe(V& v) {
      v("depth", &Params::depth, "", 1, 8);
    }
  };
};

}  // namespace stc::sdk_test

namespace broken = stc::sdk_test;
STC_DEFINE_SINK(broken::Forgets, "forgets", "1", "loses what was there");
STC_DEFINE_SINK(broken::Throws, "throws", "1", "throws at an event without fields");
STC_DEFINE_TOKENIZER(broken::Lossy, "lossy", "1", "new lines become spaces");
STC_DEFINE_TOKENIZER(broken::CutsAnywhere, "cuts_anywhere", "1", "cuts inside an id");
STC_DEFINE_TOKENIZER(broken::OutOfRange, "out_of_range", "1", "ids beyond size");
STC_DEFINE_TOKENIZER(broken::Overruns, "overruns", "1", "writes a part of the ids");
STC_DEFINE_TOKENIZER(broken::TakesAnyId, "takes_any_id", "1", "decodes ids that are none");
STC_DEFINE_TOKENIZER(broken::Undocumented, "undocumented", "1", "a bad declaration");
STC_DEFINE_DATASET(broken::Skipping, "skipping", "1", "loses a row that does not fit");
STC_DEFINE_DATASET(broken::Nearby, "nearby", "1", "restarts one row late");
STC_DEFINE_DATASET(broken::Forgiving, "forgiving", "1", "takes rows that do not exist");
STC_DEFINE_DATASET(broken::Neighbours, "neighbours", "1", "sorts the rows asked for");
STC_DEFINE_DATASET(broken::AllInEachShard, "all_in_each_shard", "1", "ignores shards");
STC_DEFINE_DATASET(broken::AnySplit, "any_split", "1", "opens any split");
STC_DEFINE_DATASET(broken::Restless, "restless", "1", "another fingerprint each time");
STC_DEFINE_PRECISION(broken::Amnesic, "amnesic", "1", "forgets its state");
STC_DEFINE_PRECISION(broken::Zero, "zero", "1", "a scale of 0");
STC_DEFINE_PRECISION(broken::NotFloating, "not_floating", "1", "computes in int8");
STC_DEFINE_SYNC(broken::NoConflict, "no_conflict", "1", "overwrites");
STC_DEFINE_SYNC(broken::Partial, "partial", "1", "commits one by one");
STC_DEFINE_SYNC(broken::OnlyNewest, "only_newest", "1", "ignores versions");
STC_PLUGIN_LIBRARY(plain, broken::Forgets, broken::Throws, broken::Lossy, broken::CutsAnywhere, broken::OutOfRange,
                   broken::Overruns, broken::TakesAnyId, broken::Undocumented, broken::Skipping, broken::Nearby,
                   broken::Forgiving, broken::Neighbours, broken::AllInEachShard, broken::AnySplit, broken::Restless,
                   broken::Amnesic, broken::Zero, broken::NotFloating, broken::NoConflict, broken::Partial,
                   broken::OnlyNewest);
