// The part of a statement that selects the jobs of a filter, for stores with SQL. Its text has only the
// conditions that the filter has, so that the database can find the jobs by an index:
//
//     pending, by ready time   the index of pending jobs, for each kind (`each_kind` finds the kinds, each by
//                              one look into the index)
//     held, failed, given up   their indexes, which are small
//     waiting, or of a group   the indexes of groups
//     others                   the names, in their order
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include <tickwheel/durable_store.h>

namespace tickwheel::durable {

inline constexpr unsigned states_of_members = TW_DURABLE_HELD | TW_DURABLE_STARTED;
inline constexpr unsigned any_state =
    TW_DURABLE_PENDING | states_of_members | TW_DURABLE_FAILED | TW_DURABLE_GIVEN_UP | TW_DURABLE_WAITING;

// The state of a job that has no holder and has not failed.
inline tw_durable_state state_at_rest(const tw_durable_entry &entry) {
    if (entry.job.waits_for != nullptr)
        return TW_DURABLE_WAITING;
    const bool is_given_up = entry.error != nullptr && entry.attempts == 0 &&
                             entry.ready_ns == entry.job.due_ns &&
                             (entry.job.period_ns != 0 || entry.job.cron != nullptr);
    return is_given_up ? TW_DURABLE_GIVEN_UP : TW_DURABLE_PENDING;
}

// A Dialect has the texts of a database, and stores the values: text, number and time return the placeholder
// of a value.
template <class Dialect> class selection {
  public:
    selection(const tw_durable_filter &filter, const char *key)
        : filter_(filter), states_(filter.states != 0 ? filter.states : any_state),
          by_ready_(filter.ready_before_ns != 0) {
        if (filter.kind != nullptr)
            kind_ = values_.text(filter.kind);
        if (key != nullptr)
            common_ += " and key = " + values_.text(key);
        if (filter.group != nullptr)
            common_ += " and of_group = " + values_.text(filter.group);
        if (filter.limit != 0)
            limit_ = " limit " + values_.number(std::min<std::uint64_t>(filter.limit, INT64_MAX));
        if (by_ready_)
            add_times();
        else if (filter.after != nullptr)
            common_ += " and " + is_after();
    }

    // A table `job` with these columns of the selected jobs. They include kind, key and ready.
    std::string from(const std::string &wanted) {
        std::vector<std::string> parts;
        if ((states_ & TW_DURABLE_PENDING) != 0 && !by_ready_) {
            parts.push_back(part(wanted, states_ == any_state ? "true" : "(" + each_state() + ")"));
        } else {
            if ((states_ & TW_DURABLE_PENDING) != 0)
                parts.push_back(pending_part(wanted));
            else if ((states_ & TW_DURABLE_GIVEN_UP) != 0)
                parts.push_back(part(wanted, Dialect::given_up));
            if ((states_ & states_of_members) != 0)
                parts.push_back(part(wanted, of_members()));
            if ((states_ & TW_DURABLE_FAILED) != 0)
                parts.push_back(part(wanted, Dialect::failed));
            if ((states_ & TW_DURABLE_WAITING) != 0)
                parts.push_back(part(wanted, Dialect::waiting));
        }
        std::string all = parts[0];
        for (std::size_t i = 1; i < parts.size(); ++i)
            all += " union all " + parts[i];
        return "(" + all + ") as job";
    }

    // Stands before the statement; call it after `from`.
    std::string with() const {
        return needs_kinds_ ? "with recursive " + each_kind("each_kind", Dialect::idle) : "";
    }

    // A table expression with all kinds of the jobs with this condition, and a null at its end.
    static std::string each_kind(const std::string &name, const char *condition) {
        const std::string least =
            std::string("select min(kind) from ") + Dialect::table + " where " + condition;
        return name + "(name) as (" + least + " union all select (" + least + " and kind > " + name +
               ".name) from " + name + " where name is not null) ";
    }

    const char *order() const { return by_ready_ ? " order by ready, kind, key" : " order by kind, key"; }
    const std::string &limit() const { return limit_; }
    Dialect &values() { return values_; }

    // For a database that cannot take the first jobs of each kind before it sorts them: true if that would
    // help.
    bool needs_bound() const {
        return by_ready_ && is_by_kinds() && !limit_.empty() && (states_ & TW_DURABLE_PENDING) != 0;
    }
    // The ready time of the last job of one kind that the limit lets in; none if the kind has fewer jobs.
    std::string last_of(const char *kind) {
        return std::string("select ready from ") + Dialect::table + " where kind = " + values_.text(kind) +
               " and " + pending() + common_ + " order by ready limit 1 offset " +
               values_.number(std::min<std::uint64_t>(filter_.limit, INT64_MAX) - 1);
    }
    void bound(std::int64_t last_ready) { common_ += " and ready <= " + values_.time(last_ready); }

  private:
    std::string is_after() {
        if (!kind_.empty())
            return "key > " + values_.text(filter_.after);
        const std::string kind = values_.text(filter_.after_kind);
        return "(kind, key) > (" + kind + ", " + values_.text(filter_.after) + ")";
    }

    void add_times() {
        if (filter_.ready_before_ns != TW_NO_DEADLINE)
            common_ += " and ready < " + values_.time(filter_.ready_before_ns);
        if (filter_.ready_from_ns == 0)
            return;
        const std::string from = values_.time(filter_.ready_from_ns);
        common_ += " and ready >= " + from;
        if (filter_.after != nullptr)
            common_ += " and (ready > " + from + " or " + is_after() + ")";
    }

    std::string pending() const {
        return (states_ & TW_DURABLE_GIVEN_UP) != 0
                   ? std::string(Dialect::pending)
                   : std::string(Dialect::pending) + " and not (" + Dialect::given_up + ")";
    }

    std::string of_members() const {
        const unsigned which = states_ & states_of_members;
        std::string all = Dialect::held();
        if (which != states_of_members)
            all +=
                std::string(" and ") + (which == TW_DURABLE_HELD ? Dialect::not_started : Dialect::started);
        return all;
    }

    std::string each_state() const {
        std::string all = pending();
        if ((states_ & states_of_members) != 0)
            all += " or " + of_members();
        if ((states_ & TW_DURABLE_WAITING) != 0)
            all += std::string(" or ") + Dialect::waiting;
        return (states_ & TW_DURABLE_FAILED) != 0 ? all + " or " + Dialect::failed : all;
    }

    // Whether the search for pending jobs by ready time takes them from the index kind by kind. A group is
    // small.
    bool is_by_kinds() const { return kind_.empty() && filter_.group == nullptr; }

    std::string part(const std::string &wanted, const std::string &condition) const {
        const std::string all = "select " + wanted + " from " + Dialect::table + " where " + condition +
                                common_ + (kind_.empty() ? "" : " and kind = " + kind_);
        return by_ready_ && !limit_.empty() ? "select * from (" + all + order() + limit_ + ") as first" : all;
    }

    std::string pending_part(const std::string &wanted) {
        if (!is_by_kinds())
            return part(wanted, pending());
        needs_kinds_ = true;
        return Dialect::of_each_kind(wanted, pending() + common_,
                                     limit_.empty() ? "" : " order by ready, key" + limit_);
    }

    const tw_durable_filter &filter_;
    const unsigned states_;
    const bool by_ready_;
    Dialect values_;
    std::string kind_, common_, limit_;
    bool needs_kinds_ = false;
};

}  // namespace tickwheel::durable
