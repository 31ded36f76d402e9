// Compiled once; the production program and the test link the same object.
#include "connection.hpp"

connection::connection(tickwheel::runtime &rt, const connection_options &o) : rt_(rt), options_(o) {
    const auto now = rt_.now();
    pinging_ = rt_.every_from(now + options_.ping, options_.ping, [this] { ++pings_; });
    lease_.at(now + options_.lease);
    silence_.at(now + options_.quiet);
}

// Each timer's callback uses the others, so none may run when the first is destroyed.
connection::~connection() {
    silence_.cancel_wait();
    lease_.cancel_wait();
}

void connection::on_packet() { silence_.postpone(options_.quiet); }

void connection::end(state how) {
    ended_ = rt_.now();
    state_ = how;
    pinging_.cancel();
    silence_.cancel();
    lease_.cancel();
}
