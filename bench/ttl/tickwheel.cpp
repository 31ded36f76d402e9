// ttl.h with this library's ttl_map.hpp.
#include <tickwheel/tickwheel.hpp>
#include <tickwheel/ttl_map.hpp>

#include "ttl.h"

namespace {

class Map {
  public:
    explicit Map(std::size_t bound) : map_(runtime_, {.ttl = std::chrono::hours(1), .max_size = bound}) {}

    void set(const bench::Name &name, const bench::Value &value, std::chrono::nanoseconds ttl) {
        map_.set(name, value, ttl);
    }
    std::optional<bench::Value> get(const bench::Name &name) { return map_.get(name); }
    std::size_t size() const { return map_.size(); }

  private:
    tickwheel::runtime runtime_;
    tickwheel::ttl_map<bench::Name, bench::Value> map_;
};

const bench::Module module{"this tree", "ttl_map, one shard", false, bench::run_ttl<Map>};

}  // namespace

const bench::Module *bench::tickwheel_bench_module() { return &module; }
