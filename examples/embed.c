// Embeds the texts given as arguments and prints how alike each is to the first:
//
//     embed MODEL_FOLDER TEXT [TEXT...]
//
// It uses sabok.h alone: cc embed.c $(pkg-config --cflags --libs sabok)
#include <sabok.h>

#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv) {
    if (argc < 3) {
        fprintf(stderr, "usage: %s MODEL_FOLDER TEXT [TEXT...]\n", argv[0]);
        return 2;
    }
    const char *const *texts = (const char *const *)argv + 2;
    const size_t n = (size_t)argc - 2;

    sabok_error err = {0};
    sabok_model *model = sabok_open(argv[1], NULL, &err);
    if (!model) {
        fprintf(stderr, "%s\n", err.message);
        return 1;
    }
    const size_t width = sabok_embed_width(model);
    float *vectors = malloc(n * width * sizeof *vectors); // [n, width]
    float *scores = malloc(n * sizeof *scores);
    int status = 1;
    if (!vectors || !scores) {
        fprintf(stderr, "out of memory\n");
    } else if (sabok_embed(model, texts, n, NULL, vectors, &err) != SABOK_OK) {
        fprintf(stderr, "%s\n", err.message);
    } else {
        sabok_similarity(vectors, 1, vectors, n, width, SABOK_COSINE, scores);
        for (size_t i = 0; i < n; i++)
            printf("%7.4f  %s\n", (double)scores[i], texts[i]);
        status = 0;
    }
    free(vectors);
    free(scores);
    sabok_close(model);
    return status;
}
