/// \file
/// Datasets and tokenizers of tests, and what a loader gave, as text that can be compared.
#pragma once

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "host/data/loader.hpp"
#include "host/plugins/registry.hpp"
#include "stc/plain/dataset.hpp"
#include "stc/plain/tokenizer.hpp"
#include "stc/testing/folder.hpp"

namespace stc::host::test {

/// A plugin of the build, loaded as a run loads it.
inline const LoadedPlugin& built_plugin(int kind, const std::string& name) {
  static Registry& registry = *new Registry({std::getenv("STC_TEST_PLUGINS")});
  return registry.load(kind, name);
}

/// A plugin that a test defines: its table, without a library.
inline LoadedPlugin table_plugin(int kind, const std::string& name, const void* table) {
  LoadedPlugin plugin;
  plugin.declaration.kind = kind;
  plugin.declaration.name = name;
  plugin.table = table;
  return plugin;
}

inline InstanceSpec spec_of(const LoadedPlugin& plugin, Value section, RunContext& context) {
  InstanceSpec spec;
  spec.plugin = &plugin;
  spec.section = std::move(section);
  spec.section_name = "data";
  spec.context = &context;
  return spec;
}

/// Everything that a loader needs, with the run's context.
struct Data {
  RunContext context;
  std::unique_ptr<Tokenizer> tokenizer;
  std::unique_ptr<Dataset> dataset;

  std::unique_ptr<Loader> loader(const DataSettings& settings, LoaderTuning tuning = {}) {
    return std::make_unique<Loader>(
        *dataset, tokenizer.get(), settings, "train", [this] { return context.cancelled.load(); }, tuning);
  }
  void use_bytes(int64_t vocab_size = 256) {
    tokenizer = std::make_unique<Tokenizer>(
        spec_of(built_plugin(STC_KIND_TOKENIZER, "byte"), {{"vocab_size", vocab_size}}, context));
  }
};

inline std::unique_ptr<Data> text_data(const std::string& path) {
  auto data = std::make_unique<Data>();
  data->dataset =
      std::make_unique<Dataset>(spec_of(built_plugin(STC_KIND_DATASET, "text"), {{"text_path", path}}, data->context));
  data->use_bytes();
  return data;
}

inline std::unique_ptr<Data> synthetic_data(int64_t samples, int64_t block_size, int64_t vocab_size, int64_t seed) {
  auto data = std::make_unique<Data>();
  data->dataset = std::make_unique<Dataset>(
      spec_of(built_plugin(STC_KIND_DATASET, "synthetic"),
              {{"num_tokens", samples}, {"block_size", block_size}, {"vocab_size", vocab_size}, {"seed", seed}},
              data->context));
  return data;
}

inline std::string write_file(const stc::testing::Folder& folder, const std::string& name, const std::string& text) {
  const auto path = folder.path() / name;
  std::ofstream(path, std::ios::binary) << text;
  return path.string();
}

/// Text with every kind of character and line end.
inline std::string random_text(unsigned seed, size_t parts) {
  const std::vector<std::string> alphabet{
      "a", "b", "\r", "\n", "\r\n", "\xc3\xa9", "\xe2\x82\xac", "\xf0\x9f\x98\x80", "words ", std::string(1, '\0')};
  std::mt19937 random(seed);
  std::string text = "x";
  for (size_t i = 0; i < parts; ++i) text += alphabet[random() % alphabet.size()];
  return text;
}

template <class T>
std::vector<T> values(const BatchField& field) {
  std::vector<T> out(field.bytes / sizeof(T));
  std::memcpy(out.data(), field.data.get(), field.bytes);
  return out;
}

/// Everything of a batch that a run can see.
inline std::string print(const Batch& batch) {
  std::string out = batch.where + " rows " + std::to_string(batch.rows) + " tokens " + std::to_string(batch.tokens) +
                    " labels " + std::to_string(batch.valid_labels);
  for (const BatchField& field : batch.fields) {
    out += "\n" + field.name + " dtype " + std::to_string(field.dtype) + " (";
    for (const int64_t size : field.shape) out += std::to_string(size) + ",";
    out += ")";
    const auto* bytes = static_cast<const unsigned char*>(field.data.get());
    for (uint64_t i = 0; i < field.bytes; ++i) out += " " + std::to_string(bytes[i]);
  }
  return out;
}

/// Without the place, which tells cursors: they depend on how much is read at a time.
inline std::string print_content(const Batch& batch) {
  const std::string all = print(batch);
  const size_t from = all.find(", from cursor"), to = all.find(" rows ");
  return from == std::string::npos ? all : all.substr(0, from) + all.substr(to);
}

inline std::vector<std::string> trace(Loader& loader, size_t n) {
  std::vector<std::string> out;
  for (size_t i = 0; i < n; ++i) out.push_back(print_content(*loader.next()));
  return out;
}

/* ---- datasets -------------------------------------------------------------------------------- */

/// Documents in memory; cut into rows of at most piece_bytes when that is given.
struct Documents {
  struct Params {
    template <class V>
    static void describe(V&) {}
  };
  // What the next instance holds: tests run one after the other.
  inline static std::vector<std::string> content;
  inline static size_t piece_bytes = 0;
  inline static bool ends_open = false;  // the last row promises another

  struct Stream {
    std::vector<std::string> rows;
    std::vector<uint32_t> flags;
    size_t at = 0;
    bool next(uint32_t n, Rows& out) {
      while (out.size() < n && at < rows.size()) {
        if (!out.add_text(rows[at], at, flags[at])) return true;
        ++at;
      }
      return at < rows.size();
    }
    void seek(uint64_t cursor) { at = cursor; }
  };

  std::vector<Split> splits() const { return {{"train", -1, 0}}; }
  std::vector<Field> fields() const { return {Field::text()}; }
  std::string fingerprint() const { return "documents"; }
  Stream open(std::string_view, uint32_t, uint32_t) const {
    Stream stream;
    for (const std::string& document : content) {
      const size_t piece = piece_bytes == 0 ? std::max<size_t>(document.size(), 1) : piece_bytes;
      for (size_t at = 0; at == 0 || at < document.size(); at += piece) {
        stream.rows.push_back(document.substr(at, piece));
        stream.flags.push_back(at + piece < document.size() ? STC_ROW_CONTINUES : 0);
      }
    }
    if (ends_open) stream.flags.back() = STC_ROW_CONTINUES;
    return stream;
  }
};

/// Documents of token ids by index: document d holds d*100, d*100+1, ...
struct IdDocuments {
  inline static std::vector<int64_t> lengths;
  inline static int64_t first = 0;  // id of the first document
  struct Stream {
    void get(std::span<const int64_t> rows, Rows& out) const {
      for (const int64_t row : rows) {
        std::vector<int32_t> ids(static_cast<size_t>(lengths[static_cast<size_t>(row)]));
        for (size_t i = 0; i < ids.size(); ++i)
          ids[i] = static_cast<int32_t>(first + row * 100 + static_cast<int64_t>(i));
        out.add(std::span<const int32_t>(ids));
      }
    }
  };
  std::vector<Split> splits() const { return {{"train", static_cast<int64_t>(lengths.size()), 0}}; }
  std::vector<Field> fields() const { return {Field::ids()}; }
  std::string fingerprint() const { return "ids"; }
  Stream open(std::string_view, uint32_t, uint32_t) const { return {}; }
};

/// Ready rows as a stream: row i is (i, i + 1, i + 2), its labels are -100 but for every third row.
struct RowStream {
  inline static int64_t num_rows = 0;
  struct Stream {
    int64_t at = 0;
    bool next(uint32_t n, Rows& out) {
      const uint32_t most = std::min(n, 2u);  // fewer than asked for
      while (out.size() < most && at < num_rows) {
        out.put(0, std::vector<int64_t>{at, at + 1, at + 2});
        out.put(1, at % 3 == 0 ? std::vector<int64_t>{at + 1, at + 2, -100} : std::vector<int64_t>(3, -100));
        out.put(2, std::vector<float>{0.5f * static_cast<float>(at)});
        out.commit(static_cast<uint64_t>(at));
        ++at;
      }
      return at < num_rows;
    }
    void seek(uint64_t cursor) { at = static_cast<int64_t>(cursor); }
  };
  std::vector<Split> splits() const { return {{"train", -1, 0}}; }
  std::vector<Field> fields() const {
    return {Field::ready<int64_t>("input_ids", {3}), Field::ready<int64_t>("labels", {3}),
            Field::ready<float>("weight", {1})};
  }
  std::string fingerprint() const { return "rows"; }
  Stream open(std::string_view, uint32_t, uint32_t) const { return {}; }
};

/// One token a byte, but "ab" is 256 and "abc" is 257: ids depend on where the text is cut.
template <bool kSafeCut>
struct Merging {
  static std::vector<int32_t> ids_of(std::string_view text) {
    std::vector<int32_t> ids;
    for (size_t i = 0; i < text.size();) {
      const std::string_view rest = text.substr(i);
      const size_t n = rest.starts_with("abc") ? 3 : rest.starts_with("ab") ? 2 : 1;
      ids.push_back(n == 1 ? static_cast<unsigned char>(rest[0]) : static_cast<int32_t>(254 + n));
      i += n;
    }
    return ids;
  }
  void encode(std::string_view text, std::vector<int32_t>& ids) const {
    const auto made = ids_of(text);
    ids.insert(ids.end(), made.begin(), made.end());
  }
  void decode(std::span<const int32_t>, std::string&) const {}
  uint64_t size() const { return 258; }
  uint64_t safe_cut(std::string_view text) const requires kSafeCut {
    size_t cut = text.size();
    if (text.ends_with("ab")) {
      cut -= 2;
    } else if (text.ends_with("a")) {
      cut -= 1;
    }
    return cut;
  }
};

template <class T>
std::unique_ptr<Data> table_data(const std::string& name) {
  static const LoadedPlugin plugin = table_plugin(STC_KIND_DATASET, name, stc::detail::dataset_table<T>());
  auto data = std::make_unique<Data>();
  data->dataset = std::make_unique<Dataset>(spec_of(plugin, Value::object(), data->context));
  return data;
}

template <class T>
void use_tokenizer(Data& data, const std::string& name) {
  static const LoadedPlugin plugin = table_plugin(STC_KIND_TOKENIZER, name, stc::detail::tokenizer_table<T>());
  data.tokenizer = std::make_unique<Tokenizer>(spec_of(plugin, Value::object(), data.context));
}

inline DataSettings settings_of(int64_t block_size, int64_t micro_batch_size) {
  DataSettings settings;
  settings.block_size = block_size;
  settings.micro_batch_size = micro_batch_size;
  settings.vocab_size = 1 << 20;
  return settings;
}

/* ---- the sources that order and resume are tried on ---------------------------------------- */

struct Source {
  std::string name;
  std::function<std::unique_ptr<Data>(const stc::testing::Folder&)> make;
  DataSettings settings;
};
inline std::ostream& operator<<(std::ostream& out, const Source& source) {
  return out << source.name << (source.settings.drop_last ? ", drop_last" : "");
}

inline std::vector<Source> all_sources() {
  std::vector<Source> sources;
  for (const bool drop_last : {true, false}) {
    const auto add = [&](std::string name, int64_t block, int64_t micro, bool shuffle, auto make) {
      DataSettings settings = settings_of(block, micro);
      settings.drop_last = drop_last;
      settings.shuffle = shuffle;
      settings.seed = 77;
      sources.push_back({std::move(name), make, settings});
    };
    add("text", 16, 3, false,
        [](const auto& folder) { return text_data(write_file(folder, "a.txt", random_text(11, 400))); });
    add("text of whole blocks", 15, 4, true,
        [](const auto& folder) { return text_data(write_file(folder, "a.txt", std::string(16 * 12, 'k'))); });
    add("merging tokenizer", 6, 2, false, [](const auto&) {
      Documents::content = {"abcabababc", "", "xabcab", "a", "b", "aabbcc abcabc abab ab abc a"};
      Documents::piece_bytes = 3;
      Documents::ends_open = true;
      auto data = table_data<Documents>("documents");
      use_tokenizer<Merging<true>>(*data, "merging");
      return data;
    });
    add("whole documents", 6, 2, false, [](const auto&) {
      Documents::content = {"abcabababc", "xabcab", "aabbcc abcabc abab ab abc a"};
      Documents::piece_bytes = 4;
      Documents::ends_open = false;
      auto data = table_data<Documents>("documents");
      use_tokenizer<Merging<false>>(*data, "merging_whole");
      return data;
    });
    add("documents of ids by index, shuffled", 4, 2, true, [](const auto&) {
      IdDocuments::lengths = {7, 1, 12, 5, 5, 20, 3, 9};
      return table_data<IdDocuments>("id_documents");
    });
    add("synthetic, shuffled", 5, 4, true, [](const auto&) { return synthetic_data(22, 5, 100, 3); });
    add("synthetic in order", 5, 5, false, [](const auto&) { return synthetic_data(20, 5, 100, 3); });
    add("stream of rows", 3, 4, true, [](const auto&) {
      RowStream::num_rows = 18;
      return table_data<RowStream>("row_stream");
    });
  }
  return sources;
}

}  // namespace stc::host::test
