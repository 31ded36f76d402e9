/* Replays the fuzzer's inputs without libFuzzer: replay DIRECTORY */
#include "bytes.h"
#include "model/modes.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

enum { INPUT_MAX = 1 << 16, PATH_LENGTH_MAX = 4096 };

static void replay(const char *path) {
    static uint8_t bytes[INPUT_MAX];
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        perror(path);
        exit(EXIT_FAILURE);
    }
    size_t size = fread(bytes, 1, sizeof bytes, file);
    fclose(file);
    replay_bytes(bytes, size);
}

static unsigned replay_all(const char *directory, DIR *entries) {
    unsigned inputs = 0;
    for (const struct dirent *entry; (entry = readdir(entries)) != NULL;) {
        char path[PATH_LENGTH_MAX];
        if (entry->d_name[0] == '.')
            continue;
        snprintf(path, sizeof path, "%s/%s", directory, entry->d_name);
        replay(path);
        ++inputs;
    }
    return inputs;
}

int replay_main(int argc, char **argv) {
    DIR *entries = argc == 2 ? opendir(argv[1]) : NULL;
    if (entries == NULL) {
        fprintf(stderr, "usage: %s DIRECTORY\n", argv[0]);
        return 2;
    }
    unsigned inputs = replay_all(argv[1], entries);
    closedir(entries);
    printf("%u inputs passed\n", inputs);
    return inputs > 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
