// The memory of logs and seams. All wheels with one lock share it.
#pragma once

#include "log.hpp"
#include "seam.hpp"

namespace tickwheel::core {

// All zero is empty. If there is no free seam, take_seam cuts a chunk into seams, which stay seams.
class record_memory {
  public:
    static constexpr std::size_t seams_of_chunk = sizeof(log_chunk) / sizeof(seam);

    chunk_pool chunks;

    // REQUIRES: as chunk_pool::take
    seam &take_seam() {
        if (free_seams_ == nullptr)
            cut_chunk();
        seam &taken = *free_seams_;
        free_seams_ = taken.next_free();
        return taken;
    }
    void give_back(seam &of) {
        of.set_next_free(free_seams_);
        free_seams_ = &of;
    }

  private:
    void cut_chunk() {
        auto *const seams = reinterpret_cast<seam *>(chunks.take());
        for (std::size_t i = 0; i != seams_of_chunk; ++i)
            give_back(seams[i]);
    }

    seam *free_seams_;
};

}  // namespace tickwheel::core
