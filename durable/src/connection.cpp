#include "connection.hpp"

#include "explain.hpp"

namespace tickwheel::durable {

int connection::open() {
    if (is_open())
        return 0;
    char why[512] = "";
    const tw_store_place place = {.address = to_.address.c_str(),
                                  .schema = to_.schema.c_str(),
                                  .timeout_ns = to_.timeout_ns,
                                  .grant_to = to_.grant_to.empty() ? nullptr : to_.grant_to.c_str(),
                                  .must_exist = to_.must_exist ? 1 : 0,
                                  .local_now = to_.local_now,
                                  .local_now_arg = to_.local_now_arg,
                                  .local_is_virtual = to_.local_is_virtual ? 1 : 0};
    const int error = to_.store->open(&raw_, &place, why, sizeof why);
    if (error == 0)
        return 0;
    raw_ = nullptr;
    return refuse(error, *why != 0 ? std::string(why) : std::string());
}

void connection::close() {
    if (is_open())
        to_.store->close(raw_);
    raw_ = nullptr;
}

void connection::abandon() {
    if (is_open())
        to_.store->abandon(raw_);
    raw_ = nullptr;
}

// Notes an error, and closes the connection if it is of no more use. -EROFS: after a failover the former
// primary is read-only, and the address now leads to another server.
int connection::failed(int error) {
    if (error == -ESTALE || error == -ENOENT)
        return error;
    refuse(error, std::string(to_.store->explain(raw_)));
    if (is_loss(error) || error == -EROFS)
        close();
    return error;
}

}  // namespace tickwheel::durable
