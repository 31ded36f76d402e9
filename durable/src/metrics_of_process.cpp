// The statistics of this process in the text format of Prometheus.
#include <cerrno>
#include <iterator>

#include "check_job.hpp"
#include "explain.hpp"
#include "guard.hpp"
#include "prometheus_text.hpp"
#include "tw_durable.hpp"
#include "utf8_text.hpp"

namespace tickwheel::durable {

namespace {

class metrics {
  public:
    metrics(const tw_durable_counts &now, const char *name)
        : now_(now), labels_(name != nullptr ? "{name=" + label_text(made_utf8(name)) + "}" : "") {}

    std::string text() {
        add("tickwheel_durable_claims_total", "counter", "Jobs that this process has claimed.", now_.claimed);
        add("tickwheel_durable_calls_total", "counter", "Calls of handlers.", now_.started);
        add("tickwheel_durable_done_total", "counter", "Jobs that were done.", now_.done);
        add("tickwheel_durable_again_total", "counter", "Answers that a job fires again.", now_.again);
        add("tickwheel_durable_retries_total", "counter", "Tries that failed and have another.",
            now_.retried);
        add("tickwheel_durable_failures_total", "counter", "Last tries that failed.", now_.failed);
        add("tickwheel_durable_lost_leases_total", "counter", "Leases that ended.", now_.lost_leases);
        add("tickwheel_durable_errors_total", "counter", "Requests that the database did not carry out.",
            now_.errors);
        add("tickwheel_durable_held", "gauge", "Jobs that this process holds.", now_.held);
        add("tickwheel_durable_running", "gauge", "Jobs whose handlers run or wait for a worker.",
            now_.running);
        add("tickwheel_durable_connected", "gauge", "1 if the database carries out requests.",
            now_.connected != 0 && now_.error == 0 ? 1 : 0);
        if (now_.why[0] != 0)
            all_ +=
                head_text("tickwheel_durable_last_error", "gauge", "The last error; 1 as long as it lasts.") +
                "tickwheel_durable_last_error" + with("why", now_.why) + (now_.error != 0 ? " 1\n" : " 0\n");
        add_lateness();
        return std::move(all_);
    }

  private:
    std::string with(const char *key, const std::string &value) const {
        return (labels_.empty() ? "{" : labels_.substr(0, labels_.size() - 1) + ",") + key + "=" +
               label_text(made_utf8(value.c_str())) + "}";
    }

    void add(const char *metric, const char *type, const char *help, std::uint64_t value) {
        all_ += head_text(metric, type, help) + metric + labels_ + " " + std::to_string(value) + "\n";
    }

    void add_lateness() {
        const std::string metric = "tickwheel_durable_late_seconds";
        all_ += head_text(metric.c_str(), "histogram", "How late handlers were called.");
        std::uint64_t sum = 0;
        for (std::size_t i = 0; i < std::size(job_counters::late_limits); ++i) {
            sum += now_.late_by[i];
            all_ += metric + "_bucket" + with("le", seconds_text(job_counters::late_limits[i])) + " " +
                    std::to_string(sum) + "\n";
        }
        sum += now_.late_by[std::size(job_counters::late_limits)];
        all_ += metric + "_bucket" + with("le", "+Inf") + " " + std::to_string(sum) + "\n" + metric + "_sum" +
                labels_ + " " + seconds_text(now_.late_sum_ns) + "\n" + metric + "_count" + labels_ + " " +
                std::to_string(sum) + "\n";
    }

    const tw_durable_counts &now_;
    const std::string labels_;
    std::string all_;
};

}  // namespace

}  // namespace tickwheel::durable

using namespace tickwheel::durable;

TW_API int tw_durable_metrics(tw_durable *durable, const char *name, tw_text *write, void *arg) {
    tw_durable_counts now = {};
    if (const int error = tw_durable_stats(durable, &now); error != 0)
        return error;
    if (write == nullptr)
        return refuse(-EINVAL, "the function to write with is null");
    return guarded([&] {
        const std::string text = metrics(now, name).text();
        write(text.data(), text.size(), arg);
        return 0;
    });
}
