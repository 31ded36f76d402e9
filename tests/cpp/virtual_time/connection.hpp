// Production code that knows nothing of virtual time: a connection that is kept alive, is closed when its
// peer falls silent, and ends in any case when its lease is over.
#pragma once

#include <atomic>
#include <chrono>

#include <tickwheel/tickwheel.hpp>

struct connection_options {
    std::chrono::milliseconds ping;   // how often the peer is asked for a sign of life
    std::chrono::milliseconds quiet;  // how long it may be silent
    std::chrono::milliseconds lease;  // how long the connection may last
};

class connection {
  public:
    enum class state { open, silent, expired };

    connection(tickwheel::runtime &rt, const connection_options &o);
    ~connection();

    // The peer has said something.
    void on_packet();

    state now_in() const { return state_; }
    int pings() const { return pings_; }
    tickwheel::runtime::time_point ended() const { return ended_; }

  private:
    void on_silence() { end(state::silent); }
    void on_end_of_lease() { end(state::expired); }
    void end(state how);

    tickwheel::runtime &rt_;
    const connection_options options_;
    std::atomic<state> state_{state::open};
    std::atomic<int> pings_{0};
    tickwheel::runtime::time_point ended_{};
    tickwheel::pinned_timer<tickwheel::calls<&connection::on_silence>> silence_{rt_, {this}};
    tickwheel::pinned_timer<tickwheel::calls<&connection::on_end_of_lease>> lease_{rt_, {this}};
    tickwheel::timer pinging_;
};
