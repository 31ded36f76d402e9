// A connection with the database. Its functions throw bad_usage if the address is wrong, and database_error
// if the database has failed.
#pragma once

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include <tickwheel/durable.h>

#include "bad_usage.hpp"
#include "command_line.hpp"
#include "plain.hpp"

namespace tickwheel::jobs {

class database_error : public std::runtime_error {
  public:
    explicit database_error(std::int64_t error)
        : std::runtime_error(tw_durable_explain(static_cast<int>(error))) {}
};

inline std::int64_t check(std::int64_t result) {
    if (result < 0)
        throw database_error(result);
    return result;
}

// Keeps the database open during its lifetime. Only put and setup create a missing database.
class connection {
  public:
    explicit connection(const options &o) {
        tw_durable_options c = {};
        c.must_exist =
            o.what != verb::put && o.what != verb::setup ? 1 : 0;  // so that a misspelt name is an error
        c.grant_to = o.role ? o.role->c_str() : nullptr;
        c.schema = o.schema ? o.schema->c_str() : nullptr;
        const int error = tw_durable_open(&durable_, nullptr, o.database->c_str(), &c);
        if (error == -EINVAL || error == -EOPNOTSUPP)  // the address is wrong
            throw bad_usage(plain(tw_durable_explain(error)));
        check(error);
    }
    ~connection() { tw_durable_close(durable_); }
    connection(const connection &) = delete;
    connection &operator=(const connection &) = delete;

    tw_durable *get() const { return durable_; }
    std::int64_t now() const { return check(tw_durable_now(durable_)); }

    // Calls each(entry) for the jobs that the filter selects.
    template <class Each> void list(const tw_durable_filter &filter, Each each) const {
        check(tw_durable_list(durable_, &filter, visit<Each>, &each));
    }
    // The same in pages, each a query of its own: a reader of the output who waits keeps nothing locked.
    // Calls end_page() after each. `most` bounds the number of all jobs.
    template <class Each, class EndPage>
    void list_in_pages(tw_durable_filter filter, std::size_t most, Each each, EndPage end_page) const {
        constexpr std::size_t page = 1000;
        std::string kind, key;
        std::int64_t ready = 0;
        std::size_t seen = page;
        for (std::size_t left = most; left > 0 && seen == page; left -= seen) {
            filter.limit = std::min(left, page);
            seen = 0;
            list(filter, [&](const tw_durable_entry &entry) {
                each(entry);
                if (++seen < page)
                    return;
                kind = entry.job.kind;
                key = entry.job.key;
                ready = entry.ready_ns;
            });
            end_page();
            filter.after_kind = filter.kind == nullptr ? kind.c_str() : nullptr;
            filter.after = key.c_str();
            filter.ready_from_ns = filter.ready_before_ns != 0 ? ready : 0;
        }
    }

    // The tallies of all kinds, and the members.
    template <class Each>
    void tallies(const std::vector<std::int64_t> &times, std::uint64_t most, Each each) const {
        const auto visitor = [](const tw_durable_tally *tally, void *arg) {
            (*static_cast<Each *>(arg))(*tally);
            return 0;
        };
        check(tw_durable_tallies(durable_, times.data(), times.size(), most, visitor, &each));
    }
    template <class Each> void members(Each each) const {
        const auto visitor = [](const tw_durable_member *member, void *arg) {
            (*static_cast<Each *>(arg))(*member);
            return 0;
        };
        check(tw_durable_members(durable_, visitor, &each));
    }

    // False if there are no jobs of this kind and no process handles it.
    bool knows_kind(const std::string &kind) const {
        tw_durable_filter any = {};
        any.kind = kind.c_str();
        any.limit = 1;
        bool is_known = check(tw_durable_count(durable_, &any)) != 0;
        members([&](const tw_durable_member &each) {
            is_known = is_known || each.knows_kinds == 0 ||
                       std::any_of(each.kinds, each.kinds + each.kinds_count,
                                   [&](const char *handled) { return kind == handled; });
        });
        return is_known;
    }

    // Returns false if there is no such job.
    template <class Each> bool find(const std::string &kind, const std::string &key, Each each) const {
        const int result = tw_durable_get(durable_, kind.c_str(), key.c_str(), visit<Each>, &each);
        return result != -ENOENT && check(result) == 0;
    }

  private:
    template <class Each> static int visit(const tw_durable_entry *entry, void *each) {
        (*static_cast<Each *>(each))(*entry);
        return 0;
    }

    tw_durable *durable_ = nullptr;
};

}  // namespace tickwheel::jobs
