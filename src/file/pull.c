// pull: a model of a hub into the cache, or into a folder.
#include "file/hub.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define STALL_S 10

// A number of seconds that the environment gives.
static unsigned seconds_of(const char *name, unsigned otherwise) {
    const char *text = getenv(name);
    const long n = text ? strtol(text, NULL, 10) : 0;
    return n > 0 && n < 86400 ? (unsigned)n : otherwise;
}

static sabok_status check_options(const struct hub_name *name, const sabok_pull_opts *opts,
                                  sabok_error *err) {
    if (!hub_revision_ok(name->revision))
        return error_set(err, SABOK_EINVAL, name->id,
                         "found the revision '%s', expected a branch, a tag or a commit", name->revision);
    if (opts->local_dir && !*opts->local_dir)
        return error_set(err, SABOK_EINVAL, "local_dir", "expected the name of a folder");
    return SABOK_OK;
}

static sabok_status name_read(const char *id, const sabok_pull_opts *opts, struct hub_name *out,
                              sabok_error *err) {
    char shown[QUOTE_TEXT];
    if (!id || !hub_name_parse(id, out))
        return error_set(err, SABOK_EINVAL, id ? quote_text(id, strlen(id), shown) : "sabok_pull",
                         "expected the name of a model, NAME, ORG/NAME or ORG/NAME@REVISION");
    if (opts->revision) {
        if (strlen(opts->revision) >= sizeof out->revision)
            return error_set(err, SABOK_EINVAL, out->id, "the revision is longer than %zu bytes",
                             sizeof out->revision - 1);
        strcpy(out->revision, opts->revision);
    }
    return check_options(out, opts, err);
}

// Written last: a revision that has a commit here has the files chosen, too.
static sabok_status ref_write(const struct pull *p, sabok_error *err) {
    if (strcmp(p->hub.name.revision, p->listing.commit) == 0) return SABOK_OK;
    char *path = hub_path("%s/refs/%s", p->storage, p->hub.name.revision);
    if (!path) return error_memory(err, p->storage);
    sabok_status status = pull_make_parents(path, err);
    struct out_file *f = status == SABOK_OK ? out_open(path, err) : NULL;
    if (status == SABOK_OK && !f) status = err->code;
    if (f) {
        status = out_write(f, p->listing.commit, strlen(p->listing.commit), err);
        const sabok_status closed = out_close(f, status == SABOK_OK, err);
        if (status == SABOK_OK) status = closed;
    }
    mem_free(path);
    return status;
}

static sabok_status pull_all(struct pull *p, const sabok_pull_opts *opts, sabok_error *err) {
    TRY(hub_list(&p->hub, &p->listing, err));
    TRY(pull_choose(&p->listing, opts, p->hub.name.id, err));
    for (size_t i = 0; i < p->listing.count; i++)
        if (p->listing.files[i].wanted && !add_ok(p->hub.total, p->listing.files[i].size, &p->hub.total))
            return error_set(err, SABOK_EFORMAT, p->hub.name.id,
                             "the sizes of its files do not fit together");
    for (size_t i = 0; i < p->listing.count; i++) {
        if (p->listing.files[i].wanted) TRY(pull_file(p, &p->listing.files[i], err));
        if (hub_stop(&p->hub)) return error_set(err, SABOK_ECANCELED, p->hub.name.id, "stopped");
    }
    return p->local_dir ? SABOK_OK : ref_write(p, err);
}

static sabok_status pull_online(struct pull *p, const sabok_pull_opts *opts, const struct hub_pace *pace,
                                char **folder, sabok_error *err) {
    p->cache = hub_cache();
    p->storage = p->cache ? hub_storage(p->cache, p->hub.name.id) : NULL;
    if (!p->storage) return error_memory(err, p->hub.name.id);
    TRY(hub_open(&p->hub, pace, err));
    TRY(pull_all(p, opts, err));
    *folder = p->local_dir ? mem_copy_string(p->local_dir)
                           : hub_path("%s/snapshots/%s", p->storage, p->listing.commit);
    return *folder ? SABOK_OK : error_memory(err, p->hub.name.id);
}

// Without a network the cache answers; what it holds of the revision cannot be compared with the hub's list.
static sabok_status pull_offline(const struct hub_name *name, const sabok_pull_opts *opts, char **folder,
                                 sabok_error *err) {
    if (opts->local_dir)
        return error_set(err, SABOK_EINVAL, "HF_HUB_OFFLINE",
                         "is set, and a folder cannot be filled from the cache");
    if (hub_find_snapshot(name, folder, err) == SABOK_OK) return SABOK_OK;
    if (err->code != SABOK_ENOTFOUND) return err->code;
    return error_set(err, SABOK_ENOTFOUND, name->id,
                     "HF_HUB_OFFLINE is set, and the cache has no revision '%s' of it", name->revision);
}

char *pull_model(const char *id, const sabok_pull_opts *opts, const struct hub_pace *pace, sabok_error *err) {
    struct pull p = {.local_dir = opts->local_dir, .hub.progress = opts->progress, .hub.ctx = opts->ctx};
    sabok_error ignored;
    char *folder = NULL;
    if (!err) err = &ignored;
    *err = (sabok_error){.offset = SABOK_NO_OFFSET};
    if (name_read(id, opts, &p.hub.name, err) != SABOK_OK) return NULL;
    if (hub_offline()) {
        (void)pull_offline(&p.hub.name, opts, &folder, err);
        return folder;
    }
    (void)pull_online(&p, opts, pace, &folder, err);
    hub_listing_free(&p.listing);
    hub_close(&p.hub);
    mem_free(p.storage);
    mem_free(p.cache);
    return folder;
}

char *sabok_pull(const char *id, const sabok_pull_opts *opts, sabok_error *err) {
    static const sabok_pull_opts defaults;
    const struct hub_pace pace = {.wait_ms = 1000, .stall_s = seconds_of("HF_HUB_DOWNLOAD_TIMEOUT", STALL_S)};
    return pull_model(id, opts ? opts : &defaults, &pace, err);
}
