/* tickwheel/version.h - the version of these headers. tw_version() returns that of the linked library. */
#ifndef TICKWHEEL_VERSION_H
#define TICKWHEEL_VERSION_H

#define TW_VERSION_MAJOR 0
#define TW_VERSION_MINOR 1
#define TW_VERSION_PATCH 0
#define TW_VERSION (TW_VERSION_MAJOR * 10000 + TW_VERSION_MINOR * 100 + TW_VERSION_PATCH)

#endif
