// The hub of test/file/hub_server.h as a program: hub_server FOLDER ID ENDPOINT_FILE [DELAY_MS]
// Serves the files of a folder until its parent ends; files of 4,096 bytes or more come from the store, DELAY_MS a chunk.
#include "file/hub_server.h"

#include <ftw.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>

#define LINKED_FROM 4096

static struct hub_server server;
static size_t folder_length;

static int serve_entry(const char *path, const struct stat *st, int kind, struct FTW *where) {
    (void)where;
    if (kind != FTW_F) return 0;
    char *data;
    size_t n;
    sabok_error err = {0};
    if (file_read(path, (size_t)1 << 30, &data, &n, &err) != SABOK_OK) {
        fprintf(stderr, "%s\n", err.message);
        return 1;
    }
    server_put(&server, path + folder_length + 1, data, n, st->st_size >= LINKED_FROM);
    mem_free(data);
    return 0;
}

int main(int argc, char **argv) {
    if (argc < 4) {
        fputs("usage: hub_server FOLDER ID ENDPOINT_FILE [DELAY_MS]\n", stderr);
        return 2;
    }
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    server_start(&server, argv[2], "0123456789abcdef0123456789abcdef01234567");
    folder_length = strlen(argv[1]);
    if (nftw(argv[1], serve_entry, 16, 0) != 0) return 1;
    server.faults[0] = (struct fault){.on = "GET /store/",
                                      .times = UINT32_MAX,
                                      .delay_ms = argc > 4 ? (unsigned)strtoul(argv[4], NULL, 10) : 0};
    char other[4096];
    snprintf(other, sizeof other, "%s.new", argv[3]);
    FILE *f = fopen(other, "w");
    if (!f || fprintf(f, "http://127.0.0.1:%u\n", server.ports[0]) < 0 || fclose(f) != 0 ||
        rename(other, argv[3]) != 0)
        server_die(argv[3]);
    for (;;)
        pause();
}
