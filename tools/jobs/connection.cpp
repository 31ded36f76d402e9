// See connection.hpp.
#include "connection.hpp"

namespace tickwheel::jobs {

connection::connection(const options &o) {
    tw_durable_options c = {};
    c.must_exist = o.what != verb::put ? 1 : 0;  // a misspelt name is not a database without jobs
    c.schema = o.schema ? o.schema->c_str() : nullptr;
    check(tw_durable_open(&durable_, nullptr, o.database->c_str(), &c));
}

}  // namespace tickwheel::jobs
