// Datasets that break their contract: the host says which plugin, which slot, and what is wrong.
#include <atomic>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include "host/errors/error.hpp"
#include "tests/host/data/data_support.hpp"

using namespace stc::host;
using namespace stc::host::test;

namespace {

/// A dataset as C structs and slots, which a test changes; by itself one split of unknown length with one text field.
struct Raw {
  stc_split_info split{sizeof(stc_split_info), 0, "train", -1, 0};
  int64_t size = -1;
  stc_field_info field{sizeof(stc_field_info), 0, "text", STC_FIELD_UTF8, STC_DTYPE_UINT8, 1, 0, nullptr};
  stc_dataset_info info{sizeof(stc_dataset_info), 0, nullptr, 1, sizeof split, nullptr, 1, sizeof field, "raw"};
  stc_dataset_api api{};
  bool describes = true;

  /// What the next calls of the stream write: one row of `bytes`, counted and offset as said; then nothing.
  uint32_t rows = 0;
  uint64_t offset = 0;
  bool ends = false;
  bool cancels = false;  // the run ends in the first call
  int calls = 0;
  std::atomic<bool>* cancelled = nullptr;

  inline static Raw* current = nullptr;
  Raw() {
    current = this;
    field.sizes = &size;
    info.splits = &split;
    info.fields = &field;
    api.struct_size = sizeof api;
    api.create = [](const stc_host*, const stc_config*, stc_dataset** out) -> stc_error* {
      *out = reinterpret_cast<stc_dataset*>(current);
      return nullptr;
    };
    api.destroy = [](stc_dataset*) {};
    api.describe = [](stc_dataset*, const stc_dataset_info** out) -> stc_error* {
      if (current->describes) *out = &current->info;
      return nullptr;
    };
    api.open = [](stc_dataset*, const char*, uint32_t, uint32_t, stc_stream** out) -> stc_error* {
      *out = reinterpret_cast<stc_stream*>(current);
      return nullptr;
    };
    api.close = [](stc_stream*) {};
    api.next = &next;
    api.seek = [](stc_stream*, uint64_t) -> stc_error* { return nullptr; };
  }
  static stc_error* next(stc_stream*, uint32_t, stc_row_buffer* buffers, uint64_t* cursors, uint32_t* flags,
                         uint32_t* num_rows, int32_t* end) {
    Raw& self = *current;
    if (self.cancels && self.calls++ == 0) *self.cancelled = true;
    if (buffers->offsets != nullptr) {
      buffers->offsets[0] = 0;
      buffers->offsets[1] = self.offset;
    }
    cursors[0] = 0;
    flags[0] = 0;
    *num_rows = self.rows;
    *end = self.ends ? 1 : 0;
    return nullptr;
  }
  void ready_rows() {
    field = {sizeof(stc_field_info), 0, "inputs", STC_FIELD_READY, STC_DTYPE_INT64, 1, 0, &size};
    size = 1;
  }
};

struct Parts {
  Data data;
  LoadedPlugin plugin;
  explicit Parts(Raw& raw) : plugin(table_plugin(STC_KIND_DATASET, "raw", &raw.api)) {
    raw.cancelled = &data.context.cancelled;
    data.dataset = std::make_unique<Dataset>(spec_of(plugin, Value::object(), data.context));
  }
};

template <class E>
std::string thrown_text(const std::function<void()>& use) {
  try {
    use();
  } catch (const E& error) {
    return error.what();
  }
  return "none";
}

struct Case {
  const char* name;
  void (*break_it)(Raw&);
  const char* message;
  friend std::ostream& operator<<(std::ostream& out, const Case& item) { return out << item.name; }
};

const Case kDescriptions[] = {
    {"nothing", [](Raw& raw) { raw.describes = false; }, "no description"},
    {"a split without a name", [](Raw& raw) { raw.split.name = nullptr; }, "split 0"},
    {"a negative number of rows", [](Raw& raw) { raw.split.num_rows = -2; }, "split 0"},
    {"a field without a name", [](Raw& raw) { raw.field.name = nullptr; }, "field 0 without a name"},
    {"an unknown form", [](Raw& raw) { raw.field.form = 9; }, "field text: form 9"},
    {"an unknown dtype", [](Raw& raw) { raw.field.dtype = 77; }, "field text: dtype 77"},
    {"dimensions without sizes", [](Raw& raw) { raw.field.sizes = nullptr; }, "field text: no sizes"},
    {"a negative number of dimensions", [](Raw& raw) { raw.field.ndim = -1; }, "field text: no sizes"},
    {"a size below -1", [](Raw& raw) { raw.size = -3; }, "field text: size -3"},
    {"no split", [](Raw& raw) { raw.info.num_splits = 0; }, "no splits"},
    {"no field", [](Raw& raw) { raw.info.num_fields = 0; }, "no fields"},
    {"no way to read",
     [](Raw& raw) {
       raw.api.next = nullptr;
       raw.api.get = [](stc_stream*, const int64_t*, uint32_t, stc_row_buffer*) -> stc_error* { return nullptr; };
     },
     "neither rows by index of a known number nor a stream"},
    {"a stream that cannot be placed", [](Raw& raw) { raw.api.seek = nullptr; }, "next without seek"},
};

const Case kStreams[] = {
    {"more rows than asked for", [](Raw& raw) { raw.rows = 65; },
     "plugin raw (dataset): next: returned 65 rows, asked for at most 64"},
    {"nothing for ever", [](Raw&) {}, "plugin raw (dataset): next: neither rows nor the end"},
    {"nothing for ever, of ready rows", [](Raw& raw) { raw.ready_rows(); },
     "plugin raw (dataset): next: neither rows nor the end"},
    {"a row beyond the buffer",
     [](Raw& raw) {
       raw.rows = 1;
       raw.offset = 4097;
     },
     "plugin raw (dataset): row offsets 0..4097 leave the buffer of 4096 bytes"},
};

}  // namespace

BOOST_AUTO_TEST_SUITE(dataset_errors)

BOOST_DATA_TEST_CASE(a_description_that_makes_no_sense_is_refused, kDescriptions, item) {
  Raw raw;
  item.break_it(raw);
  BOOST_TEST(thrown_text<PluginError>([&] { Parts parts(raw); }) ==
             std::string("plugin raw (dataset): describe: ") + item.message);
}

BOOST_DATA_TEST_CASE(a_stream_that_breaks_its_contract_is_named, kStreams, item) {
  Raw raw;
  item.break_it(raw);
  Parts parts(raw);
  parts.data.use_bytes();
  const auto loader = parts.data.loader(settings_of(2, 1), LoaderTuning{.piece_bytes = 4096});
  BOOST_TEST(thrown_text<PluginError>([&] { loader->next(); }) == item.message);
}

BOOST_AUTO_TEST_CASE(an_unknown_split_is_answered_with_those_there_are) {
  Raw raw;
  const Parts parts(raw);
  BOOST_TEST(thrown_text<DataError>([&] { parts.data.dataset->split("validation"); }) ==
             "raw: no split validation, it has train");
}

BOOST_AUTO_TEST_CASE(a_field_of_text_is_one_list_a_row_and_needs_a_tokenizer) {
  Raw raw;
  Parts parts(raw);
  BOOST_TEST(thrown_text<PluginError>([&] { parts.data.loader(settings_of(2, 1)); }) ==
             "plugin raw (dataset): text needs a tokenizer");
  raw.size = 7;
  Parts fixed(raw);
  fixed.data.use_bytes();
  BOOST_TEST(thrown_text<PluginError>([&] { fixed.data.loader(settings_of(2, 1)); }) ==
             "plugin raw (dataset): field text: expected sizes [-1]");
}

/// A call that comes back after the run was ended is the last one.
BOOST_AUTO_TEST_CASE(reading_ends_with_the_run) {
  for (const bool ready : {false, true}) {
    Raw raw;
    raw.rows = 1;  // empty documents, or one row of the two that a batch has
    raw.cancels = true;
    if (ready) raw.ready_rows();
    Parts parts(raw);
    parts.data.use_bytes();
    const auto loader = parts.data.loader(settings_of(2, 2));
    BOOST_TEST(thrown_text<Cancelled>([&] { loader->next(); }) == "data loading was interrupted");
  }
}

BOOST_AUTO_TEST_CASE(a_stream_shorter_than_the_saved_position_has_changed) {
  RowStream::num_rows = 6;
  const auto parts = table_data<RowStream>("row_stream");
  const auto loader = parts->loader(settings_of(3, 2));
  LoaderPosition saved;
  saved.sample = saved.samples_total = saved.cursor = 8;
  saved.skip = 1;
  loader->seek(saved);
  BOOST_CHECK_EXCEPTION(loader->next(), DataError, [](const DataError& error) {
    BOOST_TEST(std::string(error.what()) == "row_stream: ends before the saved position");
    BOOST_TEST(error.hint() == "the data changed since the checkpoint was written");
    return true;
  });
}

BOOST_AUTO_TEST_SUITE_END()
