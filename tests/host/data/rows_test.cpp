// Ready rows: stacking, counts, checks, and the memory of batches.
#include <boost/test/unit_test.hpp>

#include "host/errors/error.hpp"
#include "tests/host/data/data_support.hpp"

using namespace stc::host;
using namespace stc::host::test;

namespace {

template <class Function>
std::string data_error(const Function& function) {
  try {
    function();
  } catch (const DataError& error) {
    return error.what();
  }
  return "none";
}

/// Rows of any fields: `inputs` with a mask, no ids, no labels.
struct MaskedRows {
  struct Stream {
    void get(std::span<const int64_t> rows, stc::Rows& out) const {
      for (const int64_t row : rows) {
        out.put(0, std::vector<float>{1, 2, 3, 4, 5, 6});
        out.put(1, std::vector<uint8_t>{1, static_cast<uint8_t>(row % 2), 0});
        out.commit();
      }
    }
  };
  std::vector<stc::Split> splits() const { return {{"train", 6, 0}}; }
  std::vector<stc::Field> fields() const {
    return {stc::Field::ready<float>("inputs", {3, 2}), {"attention_mask", STC_FIELD_READY, STC_DTYPE_BOOL, {3}}};
  }
  std::string fingerprint() const { return "masked"; }
  Stream open(std::string_view, uint32_t, uint32_t) const { return {}; }
};

/// A description that a test sets.
struct Described {
  inline static std::vector<stc::Field> given;
  struct Stream {
    bool next(uint32_t, stc::Rows&) { return false; }
    void seek(uint64_t) {}
  };
  std::vector<stc::Split> splits() const { return {{"train", -1, 0}}; }
  std::vector<stc::Field> fields() const { return given; }
  std::string fingerprint() const { return "described"; }
  Stream open(std::string_view, uint32_t, uint32_t) const { return {}; }
};

}  // namespace

BOOST_AUTO_TEST_SUITE(rows)

BOOST_AUTO_TEST_CASE(are_stacked_and_counted) {
  RowStream::num_rows = 18;
  const auto parts = table_data<RowStream>("row_stream");
  const auto batch = parts->loader(settings_of(3, 4))->next();
  BOOST_CHECK_EQUAL(batch->rows, 4);
  BOOST_CHECK_EQUAL(batch->tokens, 12);
  BOOST_CHECK_EQUAL(batch->valid_labels, 4);  // rows 0 and 3 have two each
  BOOST_TEST(batch->find("input_ids")->shape == (std::vector<int64_t>{4, 3}), boost::test_tools::per_element());
  BOOST_TEST(batch->find("weight")->shape == (std::vector<int64_t>{4, 1}), boost::test_tools::per_element());
  BOOST_TEST(values<int64_t>(*batch->find("input_ids")) == (std::vector<int64_t>{0, 1, 2, 1, 2, 3, 2, 3, 4, 3, 4, 5}),
             boost::test_tools::per_element());
  BOOST_TEST(values<float>(*batch->find("weight")) == (std::vector<float>{0, 0.5f, 1, 1.5f}),
             boost::test_tools::per_element());
  BOOST_CHECK(batch->find("attention_mask") == nullptr);
}

BOOST_AUTO_TEST_CASE(without_a_valid_label_are_counted_as_such) {
  RowStream::num_rows = 18;
  const auto parts = table_data<RowStream>("row_stream");
  const auto loader = parts->loader(settings_of(3, 1));
  loader->next();
  BOOST_CHECK_EQUAL(loader->next()->valid_labels, 0);
}

BOOST_AUTO_TEST_CASE(with_a_mask_count_the_tokens_that_it_keeps) {
  const auto parts = table_data<MaskedRows>("masked_rows");
  const auto batch = parts->loader(settings_of(1, 3))->next();
  BOOST_CHECK_EQUAL(batch->tokens, 4);
  BOOST_CHECK_EQUAL(batch->valid_labels, -1);
  BOOST_TEST(batch->find("inputs")->shape == (std::vector<int64_t>{3, 3, 2}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(ids_outside_the_vocabulary_name_their_place) {
  RowStream::num_rows = 18;
  const auto parts = table_data<RowStream>("row_stream");
  DataSettings settings = settings_of(3, 4);
  settings.vocab_size = 6;
  const auto loader = parts->loader(settings);
  loader->next();
  BOOST_CHECK_EQUAL(data_error([&] { loader->next(); }),
                    "row_stream, samples 5..8 of pass 1: input_ids: id 6 in row 0, place 2, expected 0 to 5");
  IdDocuments::lengths = {7, 3};
  const auto documents = table_data<IdDocuments>("id_documents");
  settings = settings_of(4, 1);
  settings.vocab_size = 101;
  const auto blocks = documents->loader(settings);
  blocks->next();
  BOOST_CHECK_EQUAL(data_error([&] { blocks->next(); }),
                    "id_documents: token id 101 in sample 2 (token 8 from cursor 0), expected 0 to 100");
  IdDocuments::first = -1;
  const auto negative = table_data<IdDocuments>("id_documents");
  BOOST_CHECK_EQUAL(data_error([&] { negative->loader(settings)->next(); }),
                    "id_documents: token id -1, expected 0 to 2147483647");
  IdDocuments::first = 0;
}

BOOST_AUTO_TEST_CASE(of_synthetic_data_equal_speedtronic_2_0_0) {
  // SyntheticTokenDataset(num_samples=100, block_size=8, vocab_size=512, seed=0)[0] of 2.0.0
  const auto parts = synthetic_data(100, 8, 512, 0);
  const auto batch = parts->loader(settings_of(8, 2))->next();
  const auto ids = values<int64_t>(*batch->find("input_ids"));
  const auto labels = values<int64_t>(*batch->find("labels"));
  BOOST_TEST(std::vector<int64_t>(ids.begin(), ids.begin() + 4) == (std::vector<int64_t>{172, 47, 117, 192}),
             boost::test_tools::per_element());
  BOOST_CHECK(std::equal(ids.begin() + 1, ids.begin() + 8, labels.begin()));
  BOOST_CHECK_EQUAL(labels[7], 9);
  BOOST_CHECK_EQUAL(batch->where, "synthetic, samples 1..2 of pass 1");
}

BOOST_AUTO_TEST_CASE(memory_is_aligned_and_stays_while_somebody_holds_it) {
  const auto parts = synthetic_data(1000, 33, 512, 0);
  DataSettings settings = settings_of(33, 3);
  settings.num_workers = 2;
  auto loader = parts->loader(settings);
  std::vector<std::shared_ptr<void>> held;
  std::vector<std::vector<int64_t>> expected;
  for (int i = 0; i < 60; ++i) {
    const auto batch = loader->next();
    for (const BatchField& field : batch->fields) {
      BOOST_REQUIRE_EQUAL(reinterpret_cast<uintptr_t>(field.data.get()) % 64, 0u);
    }
    if (i % 7 == 0) {
      held.push_back(batch->fields[0].data);  // as a tensor does; the batch itself is let go
      expected.push_back(values<int64_t>(batch->fields[0]));
    }
  }
  loader.reset();
  for (size_t i = 0; i < held.size(); ++i) {
    BOOST_REQUIRE(std::memcmp(held[i].get(), expected[i].data(), expected[i].size() * sizeof(int64_t)) == 0);
  }
}

BOOST_AUTO_TEST_CASE(descriptions_that_make_no_sense_are_refused) {
  const auto error_of = [](std::vector<stc::Field> fields) -> std::string {
    Described::given = std::move(fields);
    const auto parts = table_data<Described>("described");
    parts->use_bytes();
    try {
      parts->loader(settings_of(4, 1));
    } catch (const PluginError& error) {
      return error.what();
    }
    return "none";
  };
  BOOST_CHECK_EQUAL(error_of({stc::Field::text(), stc::Field::ids()}),
                    "plugin described (dataset): field text: text or ids are the only field");
  BOOST_CHECK_EQUAL(error_of({stc::Field::ids("input_ids", STC_DTYPE_FLOAT32)}),
                    "plugin described (dataset): field input_ids: dtype 8");
  BOOST_CHECK_EQUAL(error_of({stc::Field::ready<int64_t>("input_ids", {-1})}),
                    "plugin described (dataset): field input_ids: ready rows have a fixed shape, and all fields are "
                    "ready or there is one field");
  BOOST_CHECK_EQUAL(error_of({stc::Field::text()}), "none");
}

BOOST_AUTO_TEST_SUITE_END()
