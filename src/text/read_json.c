/* read_json: tokenizer.json of Hugging Face's tokenizers: models BPE and Unigram, added tokens,
 * normalisers, pre-tokenizers, what the post-processor puts in front, decoders as far as they say
 * how a piece stands in a text. Unknown parts are refused, not skipped. */
#include "text/priv.h"
#include "io/json.h"

static const char *text_at(const tp_json *j, const char *key) {
  return tp_json_text(tp_json_get(j, key));
}
static tp_chars chars_at(const tp_json *j, const char *key) { return tp_chars_of(text_at(j, key)); }
static bool flag_at(const tp_json *j, const char *key, bool otherwise) {
  tp_json_kind kind = tp_json_is(tp_json_get(j, key));
  return kind == TP_JSON_TRUE || (kind != TP_JSON_FALSE && otherwise);
}
static bool is_type(const tp_json *j, const char *type) {
  const char *is = text_at(j, "type");
  return is && !strcmp(is, type);
}
static bool refuse_type(const tp_tokenizer *t, const char *what, const tp_json *j, tp_error *err) {
  const char *is = text_at(j, "type");
  return tp_text_fail(t, err, "%s '%.60s' is not known", what, is ? is : "without a type");
}

/* Calls each for an item, or for the items of a Sequence. */
typedef bool item_reader(tp_tokenizer *t, const tp_json *j, tp_error *err);
static bool each_item(
    tp_tokenizer *t, const tp_json *j, const char *list, item_reader *each, tp_error *err) {
  if (tp_json_is(j) == TP_JSON_NULL) return true;
  if (!is_type(j, "Sequence")) return each(t, j, err);
  for (j = tp_json_first(tp_json_get(j, list)); j; j = tp_json_next(j))
    if (!each_item(t, j, list, each, err)) return false;
  return true;
}

/* ---- patterns: { "String": "x" } or { "Regex": "x" } ---- */
static tp_pattern *read_pattern(tp_tokenizer *t, const tp_json *j, tp_error *err) {
  const char *literal = text_at(j, "String"), *regex = text_at(j, "Regex");
  if (!literal) literal = tp_json_text(j);
  if (regex) return tp_pattern_new(t, tp_chars_of(regex), true, false, err);
  if (literal && *literal) return tp_pattern_new(t, tp_chars_of(literal), false, true, err);
  tp_text_fail(t, err, "a pattern is neither String nor Regex");
  return NULL;
}

/* ---- normalisers ---- */
static bool read_norm(tp_tokenizer *t, const tp_json *j, tp_error *err) {
  static const char *const forms[] = {
    [TP_FORM_C] = "NFC", [TP_FORM_D] = "NFD", [TP_FORM_KC] = "NFKC", [TP_FORM_KD] = "NFKD"
  };
  tp_norm s = { .form = -1 };
  for (int k = 0; k < 4; k++)
    if (is_type(j, forms[k])) s.form = k;
  if (s.form >= 0) s.kind = TP_NORM_FORM;
  else if (is_type(j, "Lowercase")) s.kind = TP_NORM_LOWER;
  else if (is_type(j, "StripAccents")) s.kind = TP_NORM_MARKS;
  else if (is_type(j, "Prepend")) {
    s.kind = TP_NORM_PREPEND;
    s.to = tp_chars_dup(t, chars_at(j, "prepend"));
  } else if (is_type(j, "Replace")) {
    const tp_json *from = tp_json_get(j, "pattern");
    s.kind = TP_NORM_REPLACE;
    s.to = tp_chars_dup(t, chars_at(j, "content"));
    if (text_at(from, "String")) s.from = tp_chars_dup(t, chars_at(from, "String"));
    else if (!(s.re = read_pattern(t, from, err))) return false;
  } else if (is_type(j, "Strip")) {
    s.kind = TP_NORM_STRIP;
    s.left = flag_at(j, "strip_left", true);
    s.right = flag_at(j, "strip_right", true);
  } else return refuse_type(t, "the normalizer", j, err);
  bool needs = s.kind == TP_NORM_FORM || s.kind == TP_NORM_LOWER || s.kind == TP_NORM_MARKS;
  if (needs && !tp_utf8proc_open(t, err)) return false;
  if (t->norm.n >= TP_MAXSTEPS) return tp_text_fail(t, err, "it has too many normalizers");
  TP_PUSH(&t->a, &t->norm, s);
  return true;
}

/* ---- pre-tokenizers ---- */
static bool add_split(tp_tokenizer *t, tp_split s, tp_error *err) {
  if (t->split.n >= TP_MAXSTEPS) return tp_text_fail(t, err, "it has too many pre-tokenizers");
  TP_PUSH(&t->a, &t->split, s);
  return true;
}

static bool add_cut(
    tp_tokenizer *t, const char *regex, tp_cut_kind cut, bool invert, tp_error *err) {
  tp_split s = { .kind = TP_STEP_CUT, .cut = cut, .invert = invert };
  s.re = tp_pattern_new(t, tp_chars_of(regex), true, false, err);
  return s.re && add_split(t, s, err);
}

static bool read_behavior(tp_tokenizer *t, const tp_json *j, tp_cut_kind *cut, tp_error *err) {
  static const char *const names[] = { [TP_CUT_ISOLATED] = "Isolated",
    [TP_CUT_REMOVED] = "Removed",
    [TP_CUT_CONTIGUOUS] = "Contiguous",
    [TP_CUT_WITH_PREVIOUS] = "MergedWithPrevious",
    [TP_CUT_WITH_NEXT] = "MergedWithNext" };
  const char *name = text_at(j, "behavior");
  for (size_t k = 0; name && k < TP_LEN(names); k++)
    if (!strcmp(name, names[k])) {
      *cut = (tp_cut_kind)k;
      return true;
    }
  return tp_text_fail(t, err, "the behavior '%.60s' is not known", name ? name : "");
}

static bool read_byte_level(tp_tokenizer *t, const tp_json *j, tp_error *err) {
  static const char gpt2[] =
      "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+";
  if (t->mapped) return tp_text_fail(t, err, "ByteLevel occurs twice");
  if (flag_at(j, "add_prefix_space", true) &&
      !add_split(t, (tp_split){ .kind = TP_STEP_SPACE }, err))
    return false;
  if (flag_at(j, "use_regex", true) && !add_cut(t, gpt2, TP_CUT_ISOLATED, false, err)) return false;
  t->byte_level = t->mapped = true;
  return add_split(t, (tp_split){ .kind = TP_STEP_BYTES }, err);
}

static tp_chars bar_of(tp_tokenizer *t, const tp_json *j) {
  tp_chars with = chars_at(j, "replacement");
  return tp_chars_dup(t, with.n ? with : tp_chars_of(TP_BAR));
}

/* Newer files have prepend_scheme, older add_prefix_space. */
static int front_of(const tp_json *j) {
  const char *scheme = text_at(j, "prepend_scheme");
  if (!scheme) return flag_at(j, "add_prefix_space", true) ? TP_FRONT_ALWAYS : TP_FRONT_NEVER;
  return !strcmp(scheme, "first") ? TP_FRONT_FIRST
      : !strcmp(scheme, "always") ? TP_FRONT_ALWAYS
                                  : TP_FRONT_NEVER;
}

static bool read_metaspace(tp_tokenizer *t, const tp_json *j, tp_error *err) {
  tp_split s = { .kind = TP_STEP_META, .with = bar_of(t, j) }, cut = { .cut = TP_CUT_WITH_NEXT };
  s.front = front_of(j);
  if (!add_split(t, s, err)) return false;
  if (!flag_at(j, "split", true)) return true;
  cut.re = tp_pattern_new(t, s.with, false, true, err);
  return cut.re && add_split(t, cut, err);
}

static bool read_split(tp_tokenizer *t, const tp_json *j, tp_error *err) {
  tp_split s = { .kind = TP_STEP_CUT, .invert = flag_at(j, "invert", false) };
  if (!read_behavior(t, j, &s.cut, err)) return false;
  s.re = read_pattern(t, tp_json_get(j, "pattern"), err);
  return s.re && add_split(t, s, err);
}

static bool read_pre(tp_tokenizer *t, const tp_json *j, tp_error *err) {
  tp_cut_kind cut = TP_CUT_ISOLATED;
  if (is_type(j, "ByteLevel")) return read_byte_level(t, j, err);
  if (is_type(j, "Split")) return read_split(t, j, err);
  if (is_type(j, "Metaspace")) return read_metaspace(t, j, err);
  if (is_type(j, "Digits"))
    return add_cut(
        t, flag_at(j, "individual_digits", false) ? "\\p{N}" : "\\p{N}+", cut, false, err);
  if (is_type(j, "Whitespace")) return add_cut(t, "\\w+|[^\\w\\s]+", TP_CUT_REMOVED, true, err);
  if (is_type(j, "WhitespaceSplit")) return add_cut(t, "\\s", TP_CUT_REMOVED, false, err);
  if (is_type(j, "Punctuation"))
    return (!text_at(j, "behavior") || read_behavior(t, j, &cut, err)) &&
        add_cut(t, "[\\p{P}!-/:-@\\[-`{-~]", cut, false, err);
  if (!is_type(j, "CharDelimiterSplit")) return refuse_type(t, "the pre_tokenizer", j, err);
  tp_split s = { .cut = TP_CUT_REMOVED };
  s.re = read_pattern(t, tp_json_get(j, "delimiter"), err);
  return s.re && add_split(t, s, err);
}

/* Bytes need no characters to stand for them where nothing cuts behind. */
static void drop_last_bytes(tp_tokenizer *t) {
  if (!t->split.n || t->split.v[t->split.n - 1].kind != TP_STEP_BYTES) return;
  t->split.n--;
  t->mapped = false;
}

/* ---- the model ---- */
static bool id_of(const tp_json *j, int64_t limit, int64_t *id) {
  return tp_json_integer(j, id) && *id >= 0 && *id < limit;
}

/* Room for the ids of vocabulary and added tokens. */
static bool make_room(tp_tokenizer *t, const tp_json *vocab, const tp_json *added, tp_error *err) {
  int64_t n = 0, most = -1, id;
  bool list = tp_json_is(vocab) == TP_JSON_LIST;
  for (const tp_json *j = tp_json_first(vocab); j; j = tp_json_next(j), n++) {
    if (list) most = n;
    else if (!id_of(j, 1 << 24, &id))
      return tp_text_fail(t, err, "an id of the vocabulary is none");
    else most = TP_MAX(most, id);
  }
  for (const tp_json *j = tp_json_first(added); j; j = tp_json_next(j), n++) {
    if (!id_of(tp_json_get(j, "id"), 1 << 24, &id))
      return tp_text_fail(t, err, "an added token has no id");
    most = TP_MAX(most, id);
  }
  if (most > 4 * n + TP_MAXRULE)
    return tp_text_fail(t, err, "id %lld is far beyond %lld pieces", (long long)most, (long long)n);
  return tp_pieces_room(t, most + 1, err);
}

/* Byte-level pieces become bytes; one with other characters is in no word. */
static void put_vocab_piece(tp_tokenizer *t, int id, tp_chars text, double score) {
  tp_chars bytes;
  bool byte = t->byte_fallback && text.n == 6 && !memcmp(text.s, "<0x", 3);
  if (!t->byte_level) tp_piece_set(t, id, text, score, byte ? TP_PIECE_BYTE : TP_PIECE_NORMAL);
  else if (tp_bytes_of(t, text, &bytes)) tp_piece_set(t, id, bytes, score, TP_PIECE_NORMAL);
  else {
    tp_piece_set(t, id, text, score, TP_PIECE_NORMAL);
    t->piece[id].text.n = 0;
  }
}

static bool put_vocab(tp_tokenizer *t, const tp_json *vocab, tp_error *err) {
  int n = 0;
  bool list = tp_json_is(vocab) == TP_JSON_LIST;
  for (const tp_json *j = tp_json_first(vocab); j; j = tp_json_next(j), n++) {
    const tp_json *text = list ? tp_json_first(j) : NULL, *score = tp_json_next(text);
    int64_t id = n;
    if (list && (!tp_json_text(text) || tp_json_is(score) != TP_JSON_NUMBER))
      return tp_text_fail(t, err, "row %d of the vocabulary is no [text, score]", n);
    if (!list) id_of(j, t->n, &id);
    if (t->piece[id].kind) return tp_text_fail(t, err, "id %lld occurs twice", (long long)id);
    tp_chars x = tp_chars_of(list ? tp_json_text(text) : tp_json_key(j));
    put_vocab_piece(t, (int)id, x, list ? tp_json_number(score) : 0);
  }
  return true;
}

static bool put_merge(tp_tokenizer *t, const tp_json *j, uint32_t rank, tp_error *err) {
  tp_chars whole = tp_chars_of(tp_json_text(j)), l = whole, r = { 0 };
  const char *space = whole.n ? memchr(whole.s, ' ', whole.n) : NULL;
  if (tp_json_is(j) == TP_JSON_LIST) {
    l = tp_chars_of(tp_json_text(tp_json_first(j)));
    r = tp_chars_of(tp_json_text(tp_json_next(tp_json_first(j))));
  } else if (space) {
    l.n = (size_t)(space - whole.s);
    r = (tp_chars){ space + 1, whole.n - l.n - 1 };
  }
  bool known = l.n && r.n;
  if (known && t->byte_level) known = tp_bytes_of(t, l, &l) && tp_bytes_of(t, r, &r);
  if (known && tp_merge_put(t, l, r, rank)) return true;
  return tp_text_fail(t, err, "merge %u is none of two pieces that make a piece", rank);
}

static bool read_bpe(tp_tokenizer *t, const tp_json *model, tp_error *err) {
  static const char *const suffixes[] = { "continuing_subword_prefix", "end_of_word_suffix" };
  uint32_t rank = 0;
  for (int k = 0; k < 2; k++)
    if (chars_at(model, suffixes[k]).n)
      return tp_text_fail(t, err, "models with %s are not read", suffixes[k]);
  t->fuse_unk = flag_at(model, "fuse_unk", false);
  t->ignore_merges = flag_at(model, "ignore_merges", false);
  for (const tp_json *j = tp_json_first(tp_json_get(model, "merges")); j; j = tp_json_next(j))
    if (!put_merge(t, j, rank++, err)) return false;
  return true;
}

static bool read_unk(tp_tokenizer *t, const tp_json *model, tp_error *err) {
  int64_t id;
  tp_chars name = chars_at(model, "unk_token");
  if (id_of(tp_json_get(model, "unk_id"), t->n, &id)) t->unk = (int)id;
  else if (name.n) t->unk = tp_tokenizer_find(t, name);
  return true;
}

/* ---- added tokens ---- */
static bool read_added(tp_tokenizer *t, const tp_json *j, tp_error *err) {
  int64_t id;
  tp_chars text = chars_at(j, "content");
  if (!id_of(tp_json_get(j, "id"), t->n, &id) || !text.n)
    return tp_text_fail(t, err, "an added token has no content");
  bool special = flag_at(j, "special", false), late = flag_at(j, "normalized", !special);
  tp_piece_set(t, (int)id, text, t->piece[id].score, special ? TP_PIECE_CONTROL : TP_PIECE_NORMAL);
  tp_added added = { .text = t->piece[id].text,
    .id = (int32_t)id,
    .special = special,
    .lstrip = flag_at(j, "lstrip", false),
    .rstrip = flag_at(j, "rstrip", false),
    .single = flag_at(j, "single_word", false) };
  if (added.single && !tp_utf8proc_open(t, err)) return false;
  tp_encoding e = { .t = t, .err = err };
  tp_encoding_begin(&e, text.n);
  bool ok = !late || tp_normal(&e, added.text, &added.text);
  added.text = tp_chars_dup(t, added.text);
  tp_encoding_end(&e);
  return ok && tp_added_put(t, added, late, err);
}

/* ---- what stands in front of a text ---- */
static bool read_post(tp_tokenizer *t, const tp_json *j, tp_error *err) {
  int64_t id;
  const tp_json *cls = tp_json_get(j, "cls"), *first = tp_json_first(tp_json_get(j, "single"));
  if (is_type(j, "RobertaProcessing") || is_type(j, "BertProcessing")) {
    if (id_of(tp_json_next(tp_json_first(cls)), t->n, &id)) t->bos = (int)id;
  } else if (is_type(j, "TemplateProcessing")) {
    const char *name = text_at(tp_json_get(first, "SpecialToken"), "id");
    const tp_json *token = name ? tp_json_get(tp_json_get(j, "special_tokens"), name) : NULL;
    if (id_of(tp_json_first(tp_json_get(token, "ids")), t->n, &id)) t->bos = (int)id;
  } else if (!is_type(j, "ByteLevel")) return refuse_type(t, "the post_processor", j, err);
  t->add_bos = t->bos >= 0;
  return true;
}

/* ---- how pieces stand in a text ---- */
static bool read_decoder(tp_tokenizer *t, const tp_json *j, tp_error *err) {
  if (is_type(j, "Strip")) t->strip = tp_json_number(tp_json_get(j, "start")) > 0;
  if (is_type(j, "Metaspace")) t->strip = front_of(j) != TP_FRONT_NEVER;
  return true;
}

static bool shows_spaces(const tp_json *j) {
  if (is_type(j, "Metaspace")) return true;
  if (is_type(j, "Replace")) return chars_at(j, "content").n == 1 && *text_at(j, "content") == ' ';
  for (j = tp_json_first(tp_json_get(j, "decoders")); j; j = tp_json_next(j))
    if (shows_spaces(j)) return true;
  return false;
}

static bool fill_parsed(tp_tokenizer *t, const void *root, tp_error *err) {
  const tp_json *model = tp_json_get(root, "model"), *added = tp_json_get(root, "added_tokens"),
                *vocab = tp_json_get(model, "vocab"), *merges = tp_json_get(model, "merges");
  bool unigram = is_type(model, "Unigram") || tp_json_is(vocab) == TP_JSON_LIST;
  if (!unigram && !is_type(model, "BPE") && (text_at(model, "type") || !merges))
    return refuse_type(t, "the model", model, err);
  t->model = unigram ? TP_MODEL_UNIGRAM : TP_MODEL_MERGES;
  t->byte_fallback = flag_at(model, "byte_fallback", false);
  t->fuse_unk = unigram;
  if (!each_item(t, tp_json_get(root, "normalizer"), "normalizers", read_norm, err) ||
      !each_item(t, tp_json_get(root, "pre_tokenizer"), "pretokenizers", read_pre, err) ||
      !each_item(t, tp_json_get(root, "decoder"), "decoders", read_decoder, err))
    return false;
  drop_last_bytes(t);
  if (!make_room(t, vocab, added, err) || !put_vocab(t, vocab, err)) return false;
  tp_pieces_done(t, shows_spaces(tp_json_get(root, "decoder")));
  if (!read_unk(t, model, err) || (!unigram && !read_bpe(t, model, err))) return false;
  for (const tp_json *j = tp_json_first(added); j; j = tp_json_next(j))
    if (!read_added(t, j, err)) return false;
  if (unigram && !tp_unigram_done(t, true, err)) return false;
  if (!each_item(t, tp_json_get(root, "post_processor"), "processors", read_post, err))
    return false;
  if (t->unk >= 0 && !t->piece[t->unk].kind) t->unk = -1; /* ids may have gaps */
  if (t->bos >= 0 && !t->piece[t->bos].kind) t->bos = -1;
  t->add_bos &= t->bos >= 0;
  return true;
}

static void drop_tree(void *j) { tp_json_free(j); }

tp_tokenizer *tp_tokenizer_json(tp_chars text, const char *label, tp_error *err) {
  tp_hold h;
  tp_json *j = tp_json_parse(label, text.s, text.n, err);
  if (!j) return NULL;
  tp_hold_set(&h, drop_tree, j);
  tp_tokenizer *t = tp_tokenizer_filled(label, fill_parsed, j, err);
  tp_hold_end(&h);
  tp_json_free(j);
  return t;
}
