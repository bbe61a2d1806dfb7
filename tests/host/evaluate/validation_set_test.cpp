#include "host/evaluate/validation_set.hpp"

#include <ostream>

#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include "host/errors/error.hpp"
#include "tests/host/data/data_support.hpp"

namespace stc::host::test {
namespace {

constexpr uint64_t kBlock = 8;

DataSettings settings_for(int64_t micro_batch_size) {
  DataSettings settings;
  settings.micro_batch_size = micro_batch_size;
  settings.block_size = kBlock;
  settings.vocab_size = 256;
  settings.shuffle = true;  // none of these three is followed
  settings.drop_last = true;
  settings.num_workers = 3;
  settings.seed = 5;
  return settings;
}

struct Scene {
  stc::testing::Folder folder;
  RunContext context;
  std::unique_ptr<Tokenizer> tokenizer;

  ValidationSet set(const std::string& text, int64_t micro_batch_size) {
    const std::string path = write_file(folder, "v.txt", text);
    tokenizer =
        std::make_unique<Tokenizer>(spec_of(built_plugin(STC_KIND_TOKENIZER, "byte"), {{"vocab_size", 256}}, context));
    return ValidationSet(
        "v", std::make_unique<Dataset>(spec_of(built_plugin(STC_KIND_DATASET, "text"), {{"text_path", path}}, context)),
        tokenizer.get(), settings_for(micro_batch_size), {});
  }
};

/// Labels of one walk, and bytes behind them.
struct Walk {
  std::string labels;
  uint64_t bytes = 0;
  int64_t valid = 0;
  size_t batches = 0;
};

Walk walk(ValidationSet& set) {
  Walk result;
  while (const auto batch = set.next()) {
    for (const int64_t label : values<int64_t>(*batch->find("labels"))) {
      if (label != -100) result.labels += static_cast<char>(label);
    }
    result.bytes += set.text_bytes(*batch).value();
    result.valid += batch->valid_labels;
    ++result.batches;
  }
  return result;
}

/// Blocks of kBlock + 1 bytes, each without its first; a rest of one byte has no label.
std::string expected_labels(const std::string& text) {
  std::string labels;
  for (size_t begin = 0; begin < text.size(); begin += kBlock + 1) {
    labels += text.substr(begin, kBlock + 1).substr(1);
  }
  return labels;
}

std::string letters(size_t n) {
  std::string text;
  for (size_t i = 0; i < n; ++i) text += static_cast<char>('!' + i % 90);
  return text;
}

/// One document, whose stream tells that it was the last one only when it is asked for another.
struct LateEnd {
  struct Params {
    template <class V>
    static void describe(V&) {}
  };
  inline static std::string content;
  struct Stream {
    uint64_t at = 0;
    bool next(uint32_t, Rows& out) {
      if (at > 0 || !out.add_text(content, 0, 0)) return at == 0;
      ++at;
      return true;
    }
    void seek(uint64_t cursor) { at = cursor; }
  };
  std::vector<Split> splits() const { return {{"train", -1, 0}}; }
  std::vector<Field> fields() const { return {Field::text()}; }
  std::string fingerprint() const { return "late end"; }
  Stream open(std::string_view, uint32_t, uint32_t) const { return {}; }
};

BOOST_AUTO_TEST_SUITE(validation_set)

// Ends inside, at, and one byte behind a block and a batch.
BOOST_DATA_TEST_CASE(is_walked_once_from_begin_to_end,
                     boost::unit_test::data::make({2, 8, 9, 10, 11, 18, 19, 20, 27, 28, 200, 1000}) *
                         boost::unit_test::data::make({1, 2, 3, 64}),
                     size, micro_batch) {
  Scene scene;
  const std::string text = letters(static_cast<size_t>(size));
  ValidationSet set = scene.set(text, micro_batch);
  for (int round = 0; round < 3; ++round) {
    const Walk found = walk(set);
    BOOST_TEST(found.labels == expected_labels(text));
    BOOST_TEST(found.bytes == found.labels.size());
    BOOST_TEST(found.valid == static_cast<int64_t>(found.labels.size()));
    BOOST_TEST(!set.next());  // it stays at its end
    set.rewind();
  }
}

// The loader is in its second pass before the end of the first one is known.
BOOST_DATA_TEST_CASE(an_end_that_is_told_late_is_the_end_all_the_same,
                     boost::unit_test::data::make({2, 9, 11, 18, 20, 100}) * boost::unit_test::data::make({1, 2, 64}),
                     size, micro_batch) {
  LateEnd::content = letters(static_cast<size_t>(size));
  auto data = table_data<LateEnd>("late_end");
  data->use_bytes();
  ValidationSet set("v", std::move(data->dataset), data->tokenizer.get(), settings_for(micro_batch), {});
  for (int round = 0; round < 2; ++round) {
    BOOST_TEST(walk(set).labels == expected_labels(LateEnd::content));
    set.rewind();
  }
}

BOOST_AUTO_TEST_CASE(a_walk_that_was_broken_off_is_forgotten) {
  Scene scene;
  const std::string text = letters(100);
  ValidationSet set = scene.set(text, 2);
  set.next();
  set.next();
  set.rewind();
  BOOST_TEST(walk(set).labels == expected_labels(text));
}

BOOST_AUTO_TEST_CASE(a_text_without_a_sample_is_refused_at_once) {
  Scene scene;
  BOOST_CHECK_EXCEPTION(scene.set("x", 2), DataError, [](const DataError& error) {
    return std::string(error.what()) == "data loader produced no batches" &&
           error.hint().find("v.txt gave 1 tokens") != std::string::npos;
  });
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace stc::host::test
