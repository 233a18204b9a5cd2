// Runs a fuzz target over the files of the folders (or the files) given, for builds without libFuzzer.
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static unsigned long replay_file(const char *path) {
    FILE *f = fopen(path, "rb");
    if (!f) return 0;
    size_t size = 0, cap = 1 << 16;
    uint8_t *data = malloc(cap);
    for (size_t n; data && (n = fread(data + size, 1, cap - size, f)) > 0;) {
        size += n;
        if (size == cap) data = realloc(data, cap *= 2);
    }
    fclose(f);
    if (!data) return 0;
    LLVMFuzzerTestOneInput(data, size);
    free(data);
    return 1;
}

static unsigned long replay_path(const char *path) {
    struct stat st;
    if (stat(path, &st) != 0) return 0;
    if (!S_ISDIR(st.st_mode)) return replay_file(path);
    unsigned long done = 0;
    DIR *dir = opendir(path);
    for (struct dirent *e; dir && (e = readdir(dir));) {
        if (e->d_name[0] == '.') continue;
        char full[4096];
        if (snprintf(full, sizeof full, "%s/%s", path, e->d_name) < (int)sizeof full)
            done += replay_path(full);
    }
    if (dir) closedir(dir);
    return done;
}

int main(int argc, char **argv) {
    unsigned long done = 0;
    for (int i = 1; i < argc; i++)
        done += replay_path(argv[i]);
    printf("%lu inputs\n", done);
    return done ? 0 : 1; // a replay of nothing is a failure
}
