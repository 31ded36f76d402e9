// tickwheel/durable/handler.hpp - how the library keeps and calls C++ handlers. See durable.hpp.
#include <tickwheel/cplusplus.hpp>
#if defined(TICKWHEEL_CPLUSPLUS_20) && !defined(TICKWHEEL_DURABLE_HANDLER_HPP)
#define TICKWHEEL_DURABLE_HANDLER_HPP

#include <concepts>
#include <exception>
#include <functional>
#include <string>
#include <type_traits>
#include <utility>

#include <tickwheel/durable/fire.hpp>
#include <tickwheel/durable/kinds.hpp>

namespace tickwheel {

// The callables that handle a kind: f(fire), or f(value, fire) for a typed kind, returns an answer, or
// nothing, which stands for `done`. Several workers may call f at the same time.
template <class F, class... Value>
concept durable_handler = std::move_constructible<F> &&
    (std::is_invocable_r_v<durable_answer, F &, const Value &..., durable_fire &> ||
     std::is_void_v<std::invoke_result_t<F &, const Value &..., durable_fire &>>);

namespace detail {

// A callable that handles a kind. Its exception counts as a failure, and the text of the exception
// as the reason.
struct durable_callable {
    virtual ~durable_callable() = default;
    virtual tw_durable_answer call(durable_fire &fire) = 0;

    static tw_durable_answer call_stored(tw_durable_fire *native, void *self) noexcept {
        durable_fire fire(*native);
        try {
            return static_cast<durable_callable *>(self)->call(fire);
        } catch (const std::exception &thrown) {
            return fire.failed(thrown.what()).native();
        } catch (...) {
            return fire.failed("the handler has thrown something unknown").native();
        }
    }
};

template <class F> struct stored_durable_callable final : durable_callable {
    explicit stored_durable_callable(F &&from) : f(std::move(from)) {}

    tw_durable_answer call(durable_fire &fire) override {
        if constexpr (std::is_void_v<std::invoke_result_t<F &, durable_fire &>>) {
            std::invoke(f, fire);
            return TW_DURABLE_DONE;
        } else {
            return durable_answer(std::invoke(f, fire)).native();
        }
    }

    F f;
};

// Calls a handler of a typed kind.
template <class T, class F> struct typed_handler {
    std::string kind;
    F f;

    auto operator()(durable_fire &fire) {
        const T value = durable_kind<T>{kind}.decode(fire.bytes());
        return std::invoke(f, value, fire);
    }
};

}  // namespace detail
}  // namespace tickwheel

#endif
