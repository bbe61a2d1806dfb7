// Text and ids in blocks: edges, padding, line ends, and tokenizers that merge.
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include "host/errors/error.hpp"
#include "tests/host/data/data_support.hpp"

using namespace stc::host;
using namespace stc::host::test;
using stc::testing::Folder;
namespace data = boost::unit_test::data;
using namespace std::string_literals;

namespace {

struct Edge {
  size_t bytes;
  std::vector<int64_t> lengths;  // of the samples of a pass, block 16; empty: an error
};
std::ostream& operator<<(std::ostream& out, const Edge& edge) { return out << edge.bytes << " bytes"; }

const std::vector<Edge> kEdges{{1, {}},        {2, {1}},          {16, {15}},        {17, {16}},
                               {18, {16}},     {19, {16, 1}},     {33, {16, 15}},    {34, {16, 16}},
                               {35, {16, 16}}, {36, {16, 16, 1}}, {51, {16, 16, 16}}};

std::string letters(size_t n) {
  std::string text;
  for (size_t i = 0; i < n; ++i) text += static_cast<char>('A' + i % 50);
  return text;
}

/// The tokens of one pass, put together again from the blocks.
std::vector<int64_t> tokens_of_pass(Loader& loader) {
  std::vector<int64_t> out;
  while (loader.position().pass == 0) {
    const auto batch = loader.next();
    const auto ids = values<int64_t>(*batch->find("input_ids"));
    const auto labels = values<int64_t>(*batch->find("labels"));
    BOOST_REQUIRE_EQUAL(batch->rows, 1);
    BOOST_REQUIRE(std::equal(ids.begin() + 1, ids.end(), labels.begin()));
    out.insert(out.end(), ids.begin(), ids.end());
    out.push_back(labels.back());
  }
  return out;
}

DataSettings one_by_one(int64_t block_size) {
  DataSettings settings = settings_of(block_size, 1);
  settings.drop_last = false;
  return settings;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(blocks)

BOOST_DATA_TEST_CASE(of_short_and_exact_texts, data::make(kEdges), edge) {
  const Folder folder;
  const std::string text = letters(edge.bytes);
  const auto parts = text_data(write_file(folder, "a.txt", text));
  const auto loader = parts->loader(settings_of(16, 1));
  if (edge.lengths.empty()) {
    BOOST_CHECK_EXCEPTION(loader->next(), DataError, [](const DataError& error) {
      BOOST_CHECK_EQUAL(error.what(), "data loader produced no batches");
      BOOST_CHECK_NE(error.hint().find("a.txt gave 1 tokens; a sample needs 2 tokens"), std::string::npos);
      return true;
    });
    return;
  }
  for (int pass = 0; pass < 2; ++pass) {
    size_t at = 0;
    for (const int64_t length : edge.lengths) {
      const auto batch = loader->next();
      BOOST_TEST(batch->find("input_ids")->shape == (std::vector<int64_t>{1, length}),
                 boost::test_tools::per_element());
      BOOST_CHECK(batch->find("attention_mask") == nullptr);
      BOOST_CHECK_EQUAL(batch->tokens, length);
      BOOST_CHECK_EQUAL(batch->valid_labels, length);
      const auto ids = values<int64_t>(*batch->find("input_ids"));
      const auto labels = values<int64_t>(*batch->find("labels"));
      for (size_t i = 0; i < ids.size(); ++i) {
        BOOST_REQUIRE_EQUAL(ids[i], text[at + i]);
        BOOST_REQUIRE_EQUAL(labels[i], text[at + i + 1]);
      }
      at += ids.size() + 1;
    }
    BOOST_CHECK_EQUAL(loader->position().pass, static_cast<uint64_t>(pass + 1));
  }
}

BOOST_AUTO_TEST_CASE(a_short_row_is_padded_to_the_longest) {
  const Folder folder;
  const auto parts = text_data(write_file(folder, "a.txt", letters(5 + 4)));
  DataSettings settings = settings_of(4, 2);
  const auto batch = parts->loader(settings)->next();
  BOOST_CHECK_EQUAL(batch->rows, 2);
  BOOST_CHECK_EQUAL(batch->tokens, 7);
  BOOST_CHECK_EQUAL(batch->valid_labels, 7);
  BOOST_REQUIRE_EQUAL(batch->fields.size(), 3u);
  BOOST_TEST(values<int64_t>(*batch->find("input_ids")) == (std::vector<int64_t>{65, 66, 67, 68, 70, 71, 72, 0}),
             boost::test_tools::per_element());
  BOOST_TEST(values<int64_t>(*batch->find("labels")) == (std::vector<int64_t>{66, 67, 68, 69, 71, 72, 73, -100}),
             boost::test_tools::per_element());
  const BatchField& mask = *batch->find("attention_mask");
  BOOST_CHECK_EQUAL(mask.dtype, STC_DTYPE_BOOL);
  BOOST_TEST(mask.shape == (std::vector<int64_t>{2, 4}), boost::test_tools::per_element());
  BOOST_TEST(values<uint8_t>(mask) == (std::vector<uint8_t>{1, 1, 1, 1, 1, 1, 1, 0}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(drop_last_decides_about_the_rest_of_a_pass) {
  const Folder folder;
  const auto parts = text_data(write_file(folder, "a.txt", letters(5 * 5)));
  DataSettings settings = settings_of(4, 2);
  const auto dropping = parts->loader(settings);
  for (int i = 0; i < 4; ++i) BOOST_CHECK_EQUAL(dropping->next()->rows, 2);
  BOOST_CHECK_EQUAL(dropping->position().pass, 2u);
  settings.drop_last = false;
  const auto keeping = parts->loader(settings);
  for (const int rows : {2, 2, 1, 2, 2, 1}) BOOST_CHECK_EQUAL(keeping->next()->rows, rows);
  settings.drop_last = true;
  settings.micro_batch_size = 6;
  for (const int64_t workers : {0, 2}) {
    settings.num_workers = workers;
    const auto none = parts->loader(settings);
    for (int again = 0; again < 2; ++again) {
      BOOST_CHECK_EXCEPTION(none->next(), DataError, [](const DataError& error) {
        return std::string(error.what()) == "data loader produced no batches" &&
               error.hint().find("gave 5 samples; a sample needs 2 tokens, a batch 6 samples") != std::string::npos;
      });
    }
  }
}

BOOST_AUTO_TEST_CASE(line_ends_of_every_kind_give_the_same_tokens) {
  const Folder folder;
  std::vector<int64_t> expected;
  for (const std::string end : {"\n", "\r\n", "\r"}) {
    std::string text;
    for (int line = 0; line < 40; ++line)
      text += "line " + std::to_string(line) + " \xc3\xa9" + end + (line % 5 == 0 ? end : "");
    const auto parts = text_data(write_file(folder, "a.txt", text));
    for (uint64_t piece = 1; piece < 9; ++piece) {
      const auto loader = parts->loader(one_by_one(16), {piece});
      const auto tokens = tokens_of_pass(*loader);
      if (expected.empty()) expected = tokens;
      BOOST_REQUIRE(tokens == expected);
    }
  }
  BOOST_CHECK_EQUAL(std::count(expected.begin(), expected.end(), '\n'), 48);
  BOOST_CHECK_EQUAL(std::count(expected.begin(), expected.end(), '\r'), 0);
}

BOOST_AUTO_TEST_CASE(bytes_without_meaning_to_c_are_kept) {
  const Folder folder;
  const auto zeros = text_data(write_file(folder, "a.txt", "ab\0cd\0"s));
  BOOST_TEST(tokens_of_pass(*zeros->loader(one_by_one(16))) == (std::vector<int64_t>{97, 98, 0, 99, 100, 0}),
             boost::test_tools::per_element());
  const auto lines = text_data(write_file(folder, "b.txt", "\n\n\n\n"));
  BOOST_CHECK_EQUAL(lines->loader(one_by_one(16))->next()->valid_labels, 3);
}

// Tokens are those of the whole text, however it is cut into pieces, blocks and batches.
BOOST_AUTO_TEST_CASE(merging_tokenizers_see_no_edges) {
  std::string text = "ab abc aab ";
  std::mt19937 random(3);
  for (int i = 0; i < 400; ++i) text += "abc"[random() % 3];
  const std::vector<int32_t> whole = Merging<true>::ids_of(text);
  for (const bool safe_cut : {true, false}) {
    for (const size_t piece : {1u, 2u, 3u, 7u, 64u, 1000u}) {
      for (const int64_t block : {8, 16, 1024}) {
        for (const int64_t workers : {0, 1, 4}) {
          Documents::content = {text};
          Documents::piece_bytes = piece;
          Documents::ends_open = false;
          const auto parts = table_data<Documents>("documents");
          if (safe_cut) {
            use_tokenizer<Merging<true>>(*parts, "merging");
          } else {
            use_tokenizer<Merging<false>>(*parts, "merging_whole");
          }
          DataSettings settings = one_by_one(block);
          settings.num_workers = workers;
          const auto tokens = tokens_of_pass(*parts->loader(settings));
          const size_t left = whole.size() - tokens.size();
          BOOST_REQUIRE_LE(left, 1u);  // a last token has nothing to predict
          BOOST_REQUIRE(std::equal(tokens.begin(), tokens.end(), whole.begin()));
        }
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(documents_follow_each_other_and_empty_ones_vanish) {
  Documents::content = {"", "ab", "", "", "c", "abc", ""};
  Documents::piece_bytes = 0;
  Documents::ends_open = false;
  const auto parts = table_data<Documents>("documents");
  use_tokenizer<Merging<true>>(*parts, "merging");
  BOOST_TEST(tokens_of_pass(*parts->loader(one_by_one(16))) == (std::vector<int64_t>{256, 'c', 257}),
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_long_document_of_ids_gives_all_its_blocks) {
  IdDocuments::lengths = {70000};
  const auto parts = table_data<IdDocuments>("id_documents");
  DataSettings settings = one_by_one(128);
  const auto tokens = tokens_of_pass(*parts->loader(settings));
  BOOST_REQUIRE_EQUAL(tokens.size(), 70000u);
  for (size_t i = 0; i < tokens.size(); ++i) BOOST_REQUIRE_EQUAL(tokens[i], static_cast<int64_t>(i));
}

BOOST_AUTO_TEST_CASE(every_shuffled_pass_holds_each_document_once) {
  IdDocuments::lengths.assign(40, 5);
  const auto parts = table_data<IdDocuments>("id_documents");
  DataSettings settings = settings_of(4, 1);
  settings.shuffle = true;
  const auto loader = parts->loader(settings);
  std::vector<std::vector<int64_t>> passes(3);
  for (auto& pass : passes) {
    for (int i = 0; i < 40; ++i) pass.push_back(values<int64_t>(loader->next()->fields[0])[0] / 100);
  }
  BOOST_CHECK(passes[0] != passes[1]);
  BOOST_CHECK(passes[1] != passes[2]);
  for (auto& pass : passes) {
    std::sort(pass.begin(), pass.end());
    for (int64_t i = 0; i < 40; ++i) BOOST_REQUIRE_EQUAL(pass[static_cast<size_t>(i)], i);
  }
}

BOOST_AUTO_TEST_CASE(a_batch_says_where_it_comes_from) {
  const Folder folder;
  const std::string path = write_file(folder, "a.txt", letters(100));
  const auto loader = text_data(path);
  const auto batches = loader->loader(settings_of(9, 2));
  BOOST_CHECK_EQUAL(batches->next()->where, path + ", samples 1..2 of pass 1, from cursor 0, token 0");
  BOOST_CHECK_EQUAL(batches->next()->where, path + ", samples 3..4 of pass 1, from cursor 0, token 20");
}

BOOST_AUTO_TEST_SUITE_END()
