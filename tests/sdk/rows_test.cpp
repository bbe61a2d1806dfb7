#include "stc/plain/rows.hpp"

#include <boost/test/unit_test.hpp>

using stc::Fault;
using stc::Rows;
using stc::detail::RowShape;

namespace {

/// One ragged text field and one fixed field of two int32, with the room given.
struct Buffers {
  std::vector<RowShape> shapes{RowShape::of("text", STC_DTYPE_UINT8, {-1}), RowShape::of("pair", STC_DTYPE_INT32, {2})};
  std::string text;
  std::vector<int32_t> pairs;
  std::vector<uint64_t> offsets;
  std::vector<uint64_t> cursors;
  std::vector<uint32_t> flags;
  stc_row_buffer raw[2];
  uint32_t capacity;

  Buffers(uint32_t rows, uint64_t text_bytes)
      : text(text_bytes, '.'), pairs(2 * rows), offsets(rows + 1, 99), cursors(rows), flags(rows), capacity(rows) {
    raw[0] = {sizeof(stc_row_buffer), 0, text.data(), text.size(), offsets.data(), 77};
    raw[1] = {sizeof(stc_row_buffer), 0, pairs.data(), pairs.size() * sizeof(int32_t), nullptr, 77};
  }
  Rows next() { return Rows(shapes, raw, capacity, cursors.data(), flags.data()); }
  Rows get() { return Rows(shapes, raw, capacity); }
};

bool add(Rows& rows, std::string_view text, int32_t number, uint64_t cursor = 0) {
  rows.put(0, text);
  rows.put(1, std::vector<int32_t>{number, -number});
  return rows.commit(cursor, number == 2 ? STC_ROW_CONTINUES : 0);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(rows)

BOOST_AUTO_TEST_CASE(ragged_and_fixed_fields_are_dense) {
  Buffers buffers(3, 6);
  Rows rows = buffers.next();
  BOOST_TEST(add(rows, "abc", 1, 10));
  BOOST_TEST(add(rows, "", 2, 11));
  BOOST_TEST(add(rows, "def", 3, 12));
  BOOST_TEST(rows.size() == 3u);
  BOOST_TEST(buffers.text == "abcdef");
  BOOST_TEST(buffers.offsets == (std::vector<uint64_t>{0, 3, 3, 6}), boost::test_tools::per_element());
  BOOST_TEST(buffers.pairs == (std::vector<int32_t>{1, -1, 2, -2, 3, -3}), boost::test_tools::per_element());
  BOOST_TEST(buffers.cursors == (std::vector<uint64_t>{10, 11, 12}), boost::test_tools::per_element());
  BOOST_TEST(buffers.flags == (std::vector<uint32_t>{0, STC_ROW_CONTINUES, 0}), boost::test_tools::per_element());
  BOOST_TEST(buffers.raw[0].needed_bytes == 0u);
}

BOOST_AUTO_TEST_CASE(next_undoes_a_row_that_does_not_fit) {
  Buffers buffers(3, 5);
  Rows rows = buffers.next();
  BOOST_TEST(add(rows, "abc", 1));
  BOOST_TEST(!add(rows, "def", 2));
  BOOST_TEST(rows.size() == 1u);
  BOOST_TEST(buffers.raw[0].needed_bytes == 0u);  // only when it is the first row
  BOOST_TEST(buffers.text == "abc..");
  BOOST_TEST(add(rows, "gh", 3));
  BOOST_TEST(buffers.text == "abcgh");
  BOOST_TEST(buffers.pairs[2] == 3);
  BOOST_TEST(buffers.offsets[2] == 5u);
}

BOOST_AUTO_TEST_CASE(next_asks_for_room_when_the_first_row_does_not_fit) {
  Buffers buffers(3, 2);
  Rows rows = buffers.next();
  BOOST_TEST(!add(rows, "abcdef", 1));
  BOOST_TEST(rows.size() == 0u);
  BOOST_TEST(buffers.raw[0].needed_bytes == 6u);
  BOOST_TEST(buffers.text == "..");
}

BOOST_AUTO_TEST_CASE(get_asks_for_room_for_all_rows) {
  Buffers buffers(3, 4);
  Rows rows = buffers.get();
  BOOST_TEST(add(rows, "abc", 1));
  BOOST_TEST(add(rows, "defgh", 2));
  BOOST_TEST(add(rows, "i", 3));
  rows.finish_get();
  BOOST_TEST(buffers.raw[0].needed_bytes == 9u);
}

BOOST_AUTO_TEST_CASE(get_must_write_every_row) {
  Buffers buffers(2, 10);
  Rows rows = buffers.get();
  add(rows, "abc", 1);
  BOOST_CHECK_EXCEPTION(rows.finish_get(), Fault, [](const Fault& fault) {
    return std::string(fault.what()) == "rows: got 1 rows, asked for 2";
  });
}

BOOST_AUTO_TEST_CASE(faults_of_the_author_are_named) {
  Buffers buffers(1, 10);
  Rows rows = buffers.next();
  BOOST_CHECK_EXCEPTION(rows.put(1, std::vector<int64_t>{1, 2}), Fault, [](const Fault& fault) {
    return std::string(fault.what()) == "rows: field 1: got int64, the field is int32";
  });
  BOOST_CHECK_THROW(rows.put(2, "x"), Fault);
  rows.put(0, "x");
  rows.put(1, std::vector<int32_t>{1});
  BOOST_CHECK_EXCEPTION(rows.commit(), Fault, [](const Fault& fault) {
    return std::string(fault.what()) == "rows: field 1: got 4 bytes, a row has 8";
  });
}

BOOST_AUTO_TEST_CASE(more_rows_than_asked_for_are_refused) {
  Buffers buffers(1, 10);
  Rows rows = buffers.next();
  BOOST_TEST(add(rows, "a", 1));
  BOOST_CHECK_EXCEPTION(add(rows, "b", 2), Fault, [](const Fault& fault) {
    return std::string(fault.what()) == "rows: more rows written than the 1 asked for";
  });
}

BOOST_AUTO_TEST_SUITE_END()
