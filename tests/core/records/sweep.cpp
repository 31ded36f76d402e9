// src/core/sweep.hpp: a sweep drops stale entries and no others, and fills up chunks.
#include "core/sweep.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include "support/random.h"
#include "support/test.h"

namespace {

using namespace tickwheel::core;

std::uint64_t seed = 1;

// A log from a picture: a letter for an entry that is not stale, '.' for a stale one, and '/' where a chunk
// ends.
class fixture {
  public:
    log swept = {};
    sweep at = {};
    chunk_pool *chunks = &pool_;
    std::size_t entries = 0;

    explicit fixture(const std::string &picture) : records_(picture.size()), chunks_(2 * picture.size() + 2) {
        pool_.add(chunks_.data(), chunks_.size());
        bool ends_chunk = false;
        for (std::size_t i = 0; i < picture.size(); ++i) {
            if (picture[i] == '/')
                ends_chunk = true;
            else
                append(picture[i], records_[i], ends_chunk), ends_chunk = false;
        }
    }
    fixture(const fixture &) = delete;
    fixture &operator=(const fixture &) = delete;

    // Sweeps at most so many chunks, and not beyond the end of the log. Returns how many entries the sweep
    // looked at.
    unsigned sweep_chunks(unsigned most = ~0u) {
        if (!at.is_under_way())
            at.begin(0, swept);
        unsigned looks = 0;
        for (; most != 0 && at.is_in_log(); --most) {
            looks += at.go_on(*this);
            assert_chunks_are_sound();
        }
        return looks;
    }

    // The picture of the log; with '/' between chunks if wanted.
    std::string picture(bool with_chunks = false) {
        std::string made;
        std::size_t found = 0;
        for (const log_chunk *chunk = swept.head; chunk != nullptr; chunk = chunk->next) {
            for (unsigned i = chunk->first; i != chunk->end; ++i) {
                const entry &e = chunk->entries[i];
                ++found;
                made += e.is_current() ? static_cast<char>(e.low) : '.';
            }
            if (with_chunks && chunk->next != nullptr)
                made += '/';
        }
        assert_int_equal(found, entries);
        return made;
    }

    // Takes off the first entry, as its owner does.
    void pop() {
        --entries;
        const log_chunk *const emptied = swept.pop(pool_);
        if (emptied != nullptr)
            at.note_emptied(*emptied, swept);
    }

  private:
    void append(char what, timing &record, bool begins_chunk) {
        record.stamp = what == '.' ? 0 : unsigned{stamps::armed};
        const entry e = {&record, static_cast<unsigned char>(what), stamps::armed};
        ++entries;
        if (begins_chunk) {
            log other = {};
            other.append(pool_, e);
            swept.append_all(other);
        } else {
            swept.append(pool_, e);
        }
    }

    void assert_chunks_are_sound() {
        const log_chunk *last = nullptr;
        for (const log_chunk *chunk = swept.head; chunk != nullptr; chunk = chunk->next) {
            assert_true(chunk->first < chunk->end && chunk->end <= log_chunk::size);
            last = chunk;
        }
        assert_ptr_equal(swept.tail, last);
    }

    std::vector<timing> records_;
    std::vector<log_chunk> chunks_;
    chunk_pool pool_{};
};

void assert_swept(const std::string &before, const std::string &after) {
    fixture test(before);
    test.sweep_chunks();
    assert_string_equal(test.picture(true).c_str(), after.c_str());
    assert_false(test.at.is_in_log());
}

TEST(sweep_drops_what_is_stale_and_says_how_many_entries_it_looked_at) {
    fixture test("a.b..c/d./.e");
    assert_int_equal(test.sweep_chunks(1), 6);
    assert_string_equal(test.picture(true).c_str(), "abc/d./.e");
    assert_int_equal(test.sweep_chunks(1), 2);
    assert_string_equal(test.picture(true).c_str(), "abcd/.e");
    assert_int_equal(test.sweep_chunks(1), 2);
    assert_string_equal(test.picture(true).c_str(), "abcde");
    assert_false(test.at.is_in_log());
    assert_true(test.at.is_under_way());
    assert_int_equal(test.entries, 5);
}

TEST(sweep_empties_a_log_of_stale_entries) {
    for (const char *const all : {".", "...", "../..", "./....................../."}) {
        fixture test(all);
        test.sweep_chunks();
        assert_true(test.swept.is_empty());
        assert_null(test.swept.tail);
    }
}

TEST(sweep_fills_chunks_up) {
    assert_swept("abcdefghijklmno/p", "abcdefghijklmno/p");
    assert_swept("abcdefghijklmn./op", "abcdefghijklmno/p");
    assert_swept(".bcdefghijklmn./opqrstuvwxyzABC/DEFG", "bcdefghijklmnop/qrstuvwxyzABCDE/FG");
    assert_swept("a............../b............../c", "abc");
    assert_swept("............../a.", "a");
}

TEST(sweep_finds_what_joins_the_log_behind_it) {
    fixture test("a.c/.");
    test.sweep_chunks(1);
    timing record = {};
    record.stamp = stamps::armed;
    test.swept.append(*test.chunks, {&record, 'x', stamps::armed});
    ++test.entries;
    test.sweep_chunks();
    assert_string_equal(test.picture().c_str(), "acx");
}

// However many entries the owner takes off the front meanwhile.
TEST(sweep_begins_again_at_the_front_if_its_chunk_has_left) {
    for (unsigned chunks = 0; chunks < 4; ++chunks)
        for (unsigned pops = 0; pops <= 12; ++pops) {
            fixture test("a../bc./d./..e");
            const std::string all = "abcde";
            test.sweep_chunks(chunks);
            for (unsigned i = 0; i < pops && !test.swept.is_empty(); ++i)
                test.pop();
            test.sweep_chunks();
            const std::string left = test.picture();
            assert_true(left.size() <= all.size() &&
                        all.compare(all.size() - left.size(), left.size(), left) == 0);
            assert_false(test.at.is_in_log());
        }
}

TEST(sweep_leaves_a_log_whose_only_entry_was_taken_back) {
    for (const unsigned chunks : {0u, 1u}) {
        fixture test(chunks == 0 ? "a" : "a/.");
        test.sweep_chunks(chunks);
        if (chunks == 1)
            test.sweep_chunks();
        const log_chunk *const last = test.swept.tail;
        assert_true(test.swept.take_back(*test.chunks));
        test.at.note_taken_back(*last);
        assert_false(test.at.is_in_log());
    }
}

TEST(sweep_does_not_care_for_chunks_of_other_logs) {
    fixture test("a./b.");
    test.sweep_chunks(1);
    log_chunk other = {};
    const log_chunk *const stands_at = test.at.at();
    test.at.note_emptied(other, {});
    test.at.note_taken_back(other);
    assert_ptr_equal(test.at.at(), stands_at);
}

// The picture after a sweep.
std::string swept(std::string picture) {
    for (const char dropped : {'.', '/'})
        picture.erase(std::remove(picture.begin(), picture.end(), dropped), picture.end());
    return picture;
}

TEST(sweep_leaves_the_same_of_a_log_whatever_its_chunks_are) {
    for (unsigned life = 0; life < 20000; ++life) {
        std::string picture;
        const std::uint64_t length = 1 + random_below(&seed, 80), kinds = 1 + random_below(&seed, 8);
        unsigned in_chunk = 0;
        for (std::uint64_t i = 0; i < length; ++i) {
            const std::uint64_t kind = random_below(&seed, 1 + kinds);
            picture += kind == 0 ? '.' : static_cast<char>('a' + i % 26);
            if (++in_chunk == log_chunk::size || (i < log_chunk::size && random_below(&seed, 10) == 0)) {
                picture += i + 1 == length ? "" : "/";
                in_chunk = 0;
            }
        }
        fixture test(picture);
        test.sweep_chunks();
        assert_string_equal(test.picture().c_str(), swept(picture).c_str());
        for (const log_chunk *chunk = test.swept.head; chunk != nullptr && chunk->next != nullptr;
             chunk = chunk->next)
            assert_int_equal(chunk->count(), log_chunk::size);
    }
}

}  // namespace
