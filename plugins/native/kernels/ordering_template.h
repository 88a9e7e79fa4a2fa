/* Sorting of pairs of a key and an index, digit by digit from the lowest: PAIR of WORD. */

typedef struct {
    WORD key, index;
} PAIR;

/* Distribute pairs by a digit of their keys, those of one digit in the order in which they are.
 * Return whether they have different digits: else nothing is done. */
static int
JOIN(distribute, PAIR)(PAIR *to, const PAIR *from, ptrdiff_t count, int shift, int width)
{
    ptrdiff_t starts[1 << LONG_DIGIT];
    const WORD mask = ((WORD)1 << width) - 1;
    memset(starts, 0, sizeof *starts << width);
    for (ptrdiff_t i = 0; i < count; i++) {
        starts[from[i].key >> shift & mask]++;
    }
    if (starts[from[0].key >> shift & mask] == count) {
        return 0;
    }
    for (ptrdiff_t digit = 0, start = 0; digit < (ptrdiff_t)1 << width; digit++) {
        ptrdiff_t size = starts[digit];
        starts[digit] = start;
        start += size;
    }
    for (ptrdiff_t i = 0; i < count; i++) {
        to[starts[from[i].key >> shift & mask]++] = from[i];
    }
    return 1;
}

/* Write the indices of keys in order, of which the least and the number of bits of the differences
 * from it are known. */
static void
JOIN(sort, PAIR)(
    int64_t *order, const uint64_t *keys, ptrdiff_t count, uint64_t least, int bits, PAIR *room)
{
    PAIR *from = room, *to = room + count;
    const int width = count < LONG_ROW ? SHORT_DIGIT : LONG_DIGIT;
    for (ptrdiff_t i = 0; i < count; i++) {
        from[i] = (PAIR){(WORD)(keys[i] - least), (WORD)i};
    }
    for (int shift = 0; shift < bits; shift += width) {
        if (JOIN(distribute, PAIR)(to, from, count, shift, width)) {
            PAIR *other = from;
            from = to;
            to = other;
        }
    }
    for (ptrdiff_t i = 0; i < count; i++) {
        order[i] = (int64_t)from[i].index;
    }
}
