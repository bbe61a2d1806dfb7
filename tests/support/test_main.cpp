// The main function of every Boost.Test executable; the suite is named after the program.
#define BOOST_TEST_MODULE stc
#include <boost/test/unit_test.hpp>
