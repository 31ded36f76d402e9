// tickwheel/durable/typed.hpp - kinds of jobs whose payloads have a type. See durable.hpp.
#include <tickwheel/cplusplus.hpp>
#if defined(TICKWHEEL_CPLUSPLUS_20) && !defined(TICKWHEEL_DURABLE_TYPED_HPP)
#define TICKWHEEL_DURABLE_TYPED_HPP

#include <concepts>
#include <cstddef>
#include <exception>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include <tickwheel/durable/jobs.hpp>

namespace tickwheel {

// How values of a type become payloads, and payloads become values. Specialise it for your type:
//
//     template <> struct tickwheel::durable_codec<order> {
//         static std::string encode(const order &from);             // or a vector of std::byte
//         static order decode(std::span<const std::byte> payload);  // throws if it is not an order;
//     };                                                            // or returns a std::optional
template <class T> struct durable_codec;

// The types that have a codec.
template <class T>
concept durable_value = requires(const T &value, std::span<const std::byte> payload) {
    durable_payload(durable_codec<T>::encode(value));
    { durable_codec<T>::decode(payload) } -> std::convertible_to<std::optional<T>>;
};

// A kind of jobs whose payloads are values of type T. The text of its name belongs to the caller:
//
//     constexpr tickwheel::durable_kind<order> unpaid{"unpaid"};
template <durable_value T> struct durable_kind {
    std::string_view name;

    // Returns the value of a payload. Throws std::runtime_error if the codec refuses the payload.
    [[nodiscard]] T decode(std::span<const std::byte> payload) const {
        std::optional<T> value;
        try {
            value = durable_codec<T>::decode(payload);
        } catch (const std::exception &thrown) {
            refuse_payload(thrown.what());
        }
        if (!value)
            refuse_payload("its codec returned nothing");
        return *std::move(value);
    }

  private:
    [[noreturn]] void refuse_payload(const char *why) const {
        throw std::runtime_error("the payload is not one of the kind " + std::string(name) + ": " + why);
    }
};

namespace detail {

// The job with a kind and an encoded value.
template <class T, class Encoded>
durable_job typed_job(const durable_kind<T> &kind, durable_job job, const Encoded &payload) {
    if (!job.kind.empty() || !job.payload.text().empty())
        refuse("the job has a kind or a payload of its own");
    job.kind = kind.name;
    job.payload = durable_payload(payload);
    return job;
}

// Puts jobs of typed kinds by put(job, existing) and add(job) of the class `To`, which derives from this one.
template <class To> class typed_puts {
  public:
    // As put and add for a job. The kind and the value stand for the job's kind and payload, which must be
    // empty.
    template <durable_value T>
    void put(const durable_kind<T> &kind, const std::type_identity_t<T> &value, const durable_job &job,
             durable_existing existing = durable_existing::replace) {
        const auto payload = durable_codec<T>::encode(value);
        static_cast<To &>(*this).put(typed_job(kind, job, payload), existing);
    }
    template <durable_value T>
    bool add(const durable_kind<T> &kind, const std::type_identity_t<T> &value, const durable_job &job) {
        const auto payload = durable_codec<T>::encode(value);
        return static_cast<To &>(*this).add(typed_job(kind, job, payload));
    }
};

}  // namespace detail
}  // namespace tickwheel

#endif
