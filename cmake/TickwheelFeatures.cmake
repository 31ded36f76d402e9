# The features that the library can be built without, for boards that pay for each; see config.h. Sets
# features_off. `./dev size` prints what each saves.
option(TW_VALIDATION "Return errors for bad input; OFF: bad input is undefined" ON)
option(TW_OWNER_CHECK "Refuse nodes that are pending on another wheel (64-bit ticks)" ON)
option(TW_WINDOWS "Have tw_arm_within and tw_choose" ON)
option(TW_PERIODIC "Have tw_arm_every" ON)
option(TW_POLICIES "Have TW_BURST and TW_DELAY, beside TW_SKIP" ON)
option(TW_OVERRUNS "Have tw_overruns" ON)
option(TW_BUDGET "Have tw_interrupt, and budgets other than TW_UNBOUNDED" ON)
option(TW_CLEAR "Have tw_clear" ON)
option(TW_LOCK_CHOICE "Have the flag TW_UNLOCKED" ON)

set(features_off)
foreach(feature IN LISTS tickwheel_features)
    string(TOUPPER TW_${feature} option)
    if(NOT ${option})
        list(APPEND features_off ${feature})
    endif()
endforeach()
if(TW_RUNTIME AND (features_off OR TW_ENGINE STREQUAL tree))
    list(JOIN features_off " " names)
    message(FATAL_ERROR "the runtime needs TW_ENGINE=wheel and all features; this is ${TW_ENGINE}, without: ${names}. "
        "Set TW_RUNTIME=OFF for the wheel alone")
endif()
