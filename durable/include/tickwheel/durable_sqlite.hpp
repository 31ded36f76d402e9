// tickwheel/durable_sqlite.hpp - durable jobs in your own transaction with SQLite, in C++. durable_sqlite.h
// says what they promise.
//
//     begin(db);                                      // BEGIN IMMEDIATE
//     insert(db, new_order);
//     tickwheel::durable_sqlite(db).put(unpaid, new_order, {.key = "17", .after = 3min});
//     commit(db);                                     // now there are both
//
// Conventions are those of durable.hpp and durable_sqlite.h.
#include <tickwheel/cplusplus.hpp>
#if defined(TICKWHEEL_CPLUSPLUS_20) && !defined(TICKWHEEL_DURABLE_SQLITE_HPP)
#define TICKWHEEL_DURABLE_SQLITE_HPP

#include <cerrno>
#include <string>
#include <string_view>
#include <utility>

#include <tickwheel/durable/jobs.hpp>
#include <tickwheel/durable/typed.hpp>
#include <tickwheel/durable_sqlite.h>

namespace tickwheel {

// Puts and removes jobs on the caller's connection, which must outlive the object. `schema` is the one in the
// options of `durable`.
class durable_sqlite : public detail::typed_puts<durable_sqlite> {
  public:
    using typed_puts::add;
    using typed_puts::put;

    explicit durable_sqlite(sqlite3 *db, std::string schema = "tickwheel")
        : db_(db), schema_(std::move(schema)) {}

    void put(const durable_job &job, durable_existing existing = durable_existing::replace) {
        detail::check_durable(put_native(job, static_cast<tw_durable_existing>(existing)));
    }

    // Puts a job, unless there is one of this name. Returns false if there is one.
    bool add(const durable_job &job) {
        const int result = put_native(job, TW_DURABLE_ADD);
        return result != -EEXIST && detail::check_durable(result) == 0;
    }

    // Removes a job. Returns true if the removal, once committed, prevents a fire; false if the handler was
    // started, or there is no such job.
    bool cancel(std::string_view kind, std::string_view key) {
        const int result = tw_durable_cancel_sqlite(db_, schema_.c_str(), detail::durable_text(kind).c_str(),
                                                    detail::durable_text(key).c_str());
        return result != -ENOENT && detail::check_durable(result) != 0;
    }

  private:
    int put_native(const durable_job &job, tw_durable_existing existing) {
        detail::native_job c(job);
        return tw_durable_put_sqlite(db_, schema_.c_str(), c.native(), existing);
    }

    sqlite3 *db_;
    std::string schema_;
};

}  // namespace tickwheel

#endif
