// Checks a JSON body in one pass over windows of its bytes, and writes its outline: the same JSON,
// in which long texts are cut. AssemblyScript; `npm run scan` compiles it into `program.ts`.
//
// It only ACCEPTS. Whatever is not plainly within the limits is UNSURE, and the exact pass decides:
// keys of one hash, a forbidden key, an invalid escape, a limit that is passed. The grammar outside
// of texts that are cut is left to JSON.parse, which reads the outline.

// Memory: a key without its escapes, the open objects, a window, the outline, where its cut texts
// are in the body, a set of keys, where members and elements end.
const DECODED: usize = 1024
const DECODED_SIZE: usize = 65536
const STACK: usize = DECODED + DECODED_SIZE + 64
const STACK_SIZE: u32 = 256
const WINDOW: usize = STACK + 8 * <usize>STACK_SIZE
const WINDOW_SIZE: u32 = 65536
const OUTLINE: usize = WINDOW + <usize>WINDOW_SIZE + 256
const OUTLINE_SIZE: u32 = 262144
const SPANS: usize = OUTLINE + <usize>OUTLINE_SIZE + 256
const MAX_SPANS: u32 = 16384
const KEYS: usize = SPANS + 8 * <usize>MAX_SPANS
const SLOTS: u32 = 262144
const ENDS: usize = KEYS + 8 * <usize>SLOTS
const MAX_ENDS: u32 = 8192
const MAX_PROBES: u32 = 64

// Deeper than WHOLE_DEPTH, texts of more than LONG bytes keep their first KEPT characters: of an
// address (`…://`) and of a text that spells letters as escapes more, of `data:` their media type.
// Behind them are the mark U+007F, a line break, the number of the cut text, a colon, the bytes of
// the text and U+007F: an escape counts as one, `\\u` with its digits as three. JSON within a text
// of JSON shows the line break by a second backslash. A body that has U+007F in its outline gets none, so
// that nobody can forge a mark.
const WHOLE_DEPTH: u32 = 2
const LONG: usize = 96
const KEPT: u32 = 48
const KEPT_OF_DATA: u32 = 160
const KEPT_OF_ADDRESS: u32 = 4096
const MARK: u8 = 0x7f
const MARK_SIZE: usize = 24
const MARK_DIGITS: u32 = 0x66373030 // 007f

const UNSURE: i32 = -1
const QUOTE: u32 = 0x22
const BACKSLASH: u32 = 0x5c
const COLON: u32 = 0x3a
const LETTER_U: u32 = 0x75
const ODD: u64 = 0xaaaaaaaaaaaaaaaa

// Limits.
let maxDepth: u32 = 0
let maxObjectKeys: u32 = 0
let maxKeys: u32 = 0
// The hashes are secret, so that nobody chooses keys that meet.
let seed: u64 = 0
let nextObject: u32 = 1
let firstObject: u32 = 1
let mask: u32 = 0
// Where the pass is.
let depth: u32 = 0
let object: u32 = 0 // 0: an array
let objectKeys: u32 = 0
let keys: u32 = 0
let isInLong: bool = false // the window begins inside of a text that began in an earlier one
let isCut: bool = false // and that text is cut
let longSize: usize = 0 // its bytes so far
let isOutlined: bool = false
let written: usize = 0
let base: u32 = 0 // bytes of the body before the window
let cutAt: u32 = 0 // where the kept characters of the text end in the body
let spans: u32 = 0
let ends: u32 = 0

export function windowAt(): usize { return WINDOW }
export function windowSize(): u32 { return WINDOW_SIZE }
export function outlineAt(): usize { return OUTLINE }
/** Bytes of the outline; 0: it is too large, or was not asked for. */
export function outlineSize(): u32 { return isOutlined ? <u32>(written - OUTLINE) : 0 }
/** Two numbers for each cut text of the outline: the bytes of the body that it leaves out. */
export function spansAt(): usize { return SPANS }
export function spanCount(): u32 { return spans }
/** The ends of the containers in the outermost object and in its arrays: a number for each element
 *  of an array, behind its last byte; for each member, its last byte, with the upper bit. */
export function endsAt(): usize { return ENDS }
/** 0: there are too many. */
export function endCount(): u32 { return ends > MAX_ENDS ? 0 : ends }
export function keyCount(): u32 { return keys }
export function setSeed(low: u32, high: u32): void { seed = (<u64>low | (<u64>high << 32)) | 1 }

export function begin(length: u32, outlines: bool, ofDepth: u32, ofObject: u32, ofKeys: u32): void {
  maxDepth = ofDepth < STACK_SIZE ? ofDepth : STACK_SIZE
  maxObjectKeys = ofObject
  maxKeys = ofKeys
  depth = 0
  object = 0
  objectKeys = 0
  keys = 0
  isInLong = false
  isCut = false
  isOutlined = outlines
  written = OUTLINE
  base = 0
  spans = 0
  ends = 0
  if (nextObject > 0xf0000000) {
    memory.fill(KEYS, 0, <usize>SLOTS * 8)
    nextObject = 1
  }
  firstObject = nextObject
  // A small body touches little of the set.
  let slots: u32 = 256
  while (slots < SLOTS && slots < length >> 2) slots <<= 1
  mask = slots - 1
}

// @ts-ignore: decorator
@inline
function bits(a: v128, b: v128, c: v128, d: v128): u64 {
  return <u64>(<u32>i8x16.bitmask(a) | (<u32>i8x16.bitmask(b) << 16)) |
    (<u64>(<u32>i8x16.bitmask(c) | (<u32>i8x16.bitmask(d) << 16)) << 32)
}
/** Letters of short escapes, each at its lower four bits. The others are rare, or found apart. */
// @ts-ignore: decorator
@inline
function isShort(v: v128): v128 {
  const letters = i8x16(0, 0, 0x72, 0, 0x74, 0, 0x66, 0, 0, 0, 0, 0, 0x5c, 0, 0x6e, 0x2f)
  return i8x16.eq(i8x16.swizzle(letters, v128.and(v, i8x16.splat(15))), v)
}
// @ts-ignore: decorator
@inline
function equal(a: v128, b: v128, c: v128, d: v128, byte: v128): u64 {
  return bits(i8x16.eq(a, byte), i8x16.eq(b, byte), i8x16.eq(c, byte), i8x16.eq(d, byte))
}

/** Scans a window of `length` bytes. Returns how many are done; the others begin the next window. */
export function scan(length: u32, isLast: bool): i32 {
  const end: usize = WINDOW + length
  const blank = i8x16.splat(0x20)
  const quote = i8x16.splat(0x22)
  const slash = i8x16.splat(0x5c)
  const open = i8x16.splat(0x7b)
  const close = i8x16.splat(0x7d)
  for (let n: usize = 0; n < 64; n += 16) v128.store(end + n, blank)
  let string = isInLong
  let from: usize = WINDOW // of the text
  let next: usize = isCut ? end : WINDOW // what is written next into the outline
  let unfinished: usize = end // an escape that goes on in the next window
  let escaping: u64 = 0
  let saved: usize = 0 // by escapes, before this block
  let savedBefore: usize = 0 // when the text began
  for (let at: usize = WINDOW; at < end; at += 64) {
    const a = v128.load(at)
    const b = v128.load(at, 16)
    const c = v128.load(at, 32)
    const d = v128.load(at, 48)
    let quotes = equal(a, b, c, d, quote)
    const slashes = equal(a, b, c, d, slash)
    let escapes: u64 = 0
    let wide: u64 = 0
    if (slashes | escaping) {
      const potential = slashes & ~escaping
      const codes = (((potential << 1) | ODD) - potential) ^ ODD
      const escaped = codes ^ (slashes | escaping)
      escaping = (codes & slashes) >> 63
      const usual = quotes | bits(isShort(a), isShort(b), isShort(c), isShort(d))
      quotes &= ~escaped
      escapes = escaped
      for (let odd = escaped & ~usual; odd; odd &= odd - 1) {
        const letter = at + <usize>ctz(odd)
        const size = letter < end ? escapeSize(letter, end) : 6
        if (!size) return UNSURE
        if (size == 6) wide |= odd & (0 - odd)
        if (letter + <usize>size - 1 > end) {
          if (isLast) return UNSURE
          unfinished = letter - 1
        }
      }
    }
    const lowest = i8x16.min_u(i8x16.min_u(a, b), i8x16.min_u(c, d))
    if (v128.any_true(i8x16.lt_u(lowest, blank))) {
      const controls = bits(i8x16.lt_u(a, blank), i8x16.lt_u(b, blank), i8x16.lt_u(c, blank), i8x16.lt_u(d, blank))
      if (controls & (inside(quotes) ^ (string ? ~0 : 0))) return UNSURE
    }
    const savedHere = saved
    saved += <usize>(popcnt(escapes) + 2 * popcnt(wide))
    if (string && !quotes) continue
    const la = v128.or(a, blank), lb = v128.or(b, blank), lc = v128.or(c, blank), ld = v128.or(d, blank)
    const brackets = equal(la, lb, lc, ld, open) | equal(la, lb, lc, ld, close)
    let rest: u64 = ~0
    for (;;) {
      const marks = (string ? quotes : quotes | brackets) & rest
      if (!marks) break
      const bit = ctz(marks)
      const place = at + <usize>bit
      rest = <u64>-2 << bit
      const byte: u32 = load<u8>(place)
      if (byte == QUOTE) {
        if (!string) {
          string = true
          from = place + 1
          savedBefore = savedHere + savedIn(escapes, wide, bit)
          continue
        }
        string = false
        if (object) {
          let behind = place + 1
          while (behind < end && load<u8>(behind) <= 0x20) behind++
          if (behind >= end && !isLast) {
            if (isInLong || from == WINDOW + 1) return UNSURE
            write(next, from - 1)
            return done(from - 1)
          }
          if (load<u8>(behind) == COLON) {
            if (isInLong || !addKey(from, place)) return UNSURE
            continue
          }
        }
        if (isInLong) {
          if (isCut) {
            mark(longSize + (place - WINDOW) - savedHere - savedIn(escapes, wide, bit), place)
            next = place
          }
          isInLong = false
          isCut = false
        } else if (place - from > LONG && depth > WHOLE_DEPTH) {
          const kept = keptEnd(from, place)
          if (place - kept > MARK_SIZE) {
            write(next, kept)
            cutAt = base + <u32>(kept - WINDOW)
            mark(place - from - (savedHere + savedIn(escapes, wide, bit) - savedBefore), place)
            next = place
          }
        }
      } else if (byte & 2) {
        // { and [ are …1011, } and ] …1101
        if (depth >= maxDepth) return UNSURE
        store<u32>(STACK + 8 * <usize>depth, object)
        store<u32>(STACK + 8 * <usize>depth, objectKeys, 4)
        depth++
        object = byte & 0x20 ? nextObject++ : 0
        objectKeys = 0
      } else {
        if (!depth) return UNSURE
        depth--
        object = load<u32>(STACK + 8 * <usize>depth)
        objectKeys = load<u32>(STACK + 8 * <usize>depth, 4)
        if (depth == 1) addEnd(place, 0x80000000)
        else if (depth == 2 && !object) addEnd(place + 1, 0)
      }
    }
  }
  if (!string) {
    if (escaping) return UNSURE
    write(next, end)
    return done(end)
  }
  if (isLast) return UNSURE
  if (!isInLong && from > WINDOW + 1) {
    write(next, from - 1)
    return done(from - 1)
  }
  // A text as long as a window.
  if (escaping) unfinished = end - 1
  if (!isInLong) {
    isInLong = true
    isCut = depth > WHOLE_DEPTH
    if (isCut) {
      const kept = keptEnd(from, unfinished)
      write(next, kept)
      cutAt = base + <u32>(kept - WINDOW)
    }
    longSize = WINDOW - from
  }
  longSize += unfinished - WINDOW - saved + savedBefore
  if (!isCut) write(next, unfinished)
  return done(unfinished)
}
// @ts-ignore: decorator
@inline
function addEnd(place: usize, bit: u32): void {
  if (ends < MAX_ENDS) store<u32>(ENDS + 4 * <usize>ends, (base + <u32>(place - WINDOW)) | bit)
  ends++
}
/** Bytes of the window up to this place, where the next one begins. */
function done(place: usize): i32 {
  const count = <u32>(place - WINDOW)
  base += count
  return count
}

/** What the escapes of a block save before a bit of it. */
// @ts-ignore: decorator
@inline
function savedIn(escapes: u64, wide: u64, bit: u64): usize {
  const before = ((<u64>1) << bit) - 1
  return <usize>(popcnt(escapes & before) + 2 * popcnt(wide & before))
}
/** The bytes inside of texts, from their opening quote on. */
// @ts-ignore: decorator
@inline
function inside(quotes: u64): u64 {
  let x = quotes
  x ^= x << 1
  x ^= x << 2
  x ^= x << 4
  x ^= x << 8
  x ^= x << 16
  return x ^ (x << 32)
}
/** Bytes of the escape with this letter, its backslash among them. 0: it is invalid. Digits from
 *  `end` on are not there yet. */
function escapeSize(letter: usize, end: usize): u32 {
  const byte: u32 = load<u8>(letter)
  if (byte != LETTER_U) return shortEscape(byte) ? 2 : 0
  const digits = v128.load(letter, 1)
  const lower = v128.or(digits, i8x16.splat(0x20))
  let valid = <u32>i8x16.bitmask(v128.or(
    i8x16.lt_u(i8x16.sub(digits, i8x16.splat(0x30)), i8x16.splat(10)),
    i8x16.lt_u(i8x16.sub(lower, i8x16.splat(0x61)), i8x16.splat(6))))
  const count = end - letter - 1
  if (count < 4) valid |= 0xf << <u32>count
  if ((valid & 0xf) != 0xf) return 0
  if ((load<u32>(letter, 1) | 0x20000000) == MARK_DIGITS) isOutlined = false
  return 6
}
/** The character of a short escape; 0: there is none of this letter. */
function shortEscape(letter: u32): u32 {
  switch (letter) {
    case QUOTE:
    case BACKSLASH:
    case 0x2f: return letter
    case 0x62: return 8
    case 0x66: return 12
    case 0x6e: return 10
    case 0x72: return 13
    case 0x74: return 9
    default: return 0
  }
}
// The outline.

/** Where the kept characters of a text end; `to`: it has no more. A text has at least 17 bytes. */
function keptEnd(from: usize, to: usize): usize {
  const slash = i8x16.splat(0x5c)
  const start = v128.load(from)
  const slashes = i8x16.bitmask(i8x16.eq(start, i8x16.splat(0x2f)))
  const backslashes = i8x16.bitmask(i8x16.eq(start, slash))
  const colons = i8x16.bitmask(i8x16.eq(start, i8x16.splat(0x3a)))
  // `:/`, and `:\/` as some clients write it.
  if (colons & ((slashes | (backslashes & (slashes >> 1))) >> 1))
    return skip(from, to, KEPT_OF_ADDRESS)
  if (load<u32>(from) == 0x61746164) return skip(from, to, KEPT_OF_DATA)
  if (from + KEPT <= to) {
    const b = v128.load(from, 16), c = v128.load(from, 32)
    const odd = v128.or(v128.or(v128.or(start, b), c),
      v128.or(v128.or(i8x16.eq(start, slash), i8x16.eq(b, slash)), i8x16.eq(c, slash)))
    if (!i8x16.bitmask(odd)) return from + KEPT
  }
  return skip(from, to, KEPT)
}
/** Skips so many characters; more if one of ASCII is spelled as an escape. */
function skip(from: usize, to: usize, characters: u32): usize {
  let at = from
  let most = characters
  for (let n: u32 = 0; n < most && at < to; n++) {
    const byte: u32 = load<u8>(at)
    if (byte != BACKSLASH) at += byte < 0x80 ? 1 : byte < 0xe0 ? 2 : byte < 0xf0 ? 3 : 4
    else if (load<u8>(at, 1) != LETTER_U) at += 2
    else {
      if (unitAt(at + 2) - 0x20 < 0x60) most = KEPT_OF_ADDRESS
      at += 6
    }
  }
  return at < to ? at : to
}
/** Writes the mark of a cut text that ends at this place of the window. */
function mark(size: usize, place: usize): void {
  if (spans == MAX_SPANS) isOutlined = false
  if (!isOutlined) return
  const span = SPANS + 8 * <usize>spans
  store<u32>(span, cutAt)
  store<u32>(span, base + <u32>(place - WINDOW), 4)
  store<u8>(written, MARK)
  store<u16>(written, 0x6e5c, 1) // \n
  written += 3
  digits(spans++)
  store<u8>(written++, COLON)
  digits(<u32>size)
  store<u8>(written++, MARK)
}
function digits(value: u32): void {
  let unit: u32 = 1
  while (unit * 10 <= value && unit < 1000000000) unit *= 10
  for (; unit; unit /= 10) store<u8>(written++, 0x30 + <u8>(value / unit % 10))
}
function write(from: usize, to: usize): void {
  if (from >= to || !isOutlined) return
  // There is room for a mark behind it.
  if (written - OUTLINE + (to - from) > <usize>OUTLINE_SIZE) {
    isOutlined = false
    return
  }
  const forged = i8x16.splat(MARK)
  let marks = i8x16.splat(0)
  // The bytes behind the last one are overwritten by what follows.
  let target = written
  for (let at = from; at < to; at += 16) {
    const bytes = v128.load(at)
    marks = v128.or(marks, i8x16.eq(bytes, forged))
    v128.store(target, bytes)
    target += 16
  }
  if (v128.any_true(marks)) isOutlined = false
  written += to - from
}

// The keys of an object.

/** Adds a key of the innermost object. False: unsure. */
function addKey(start: usize, end: usize): bool {
  if (++keys > maxKeys || ++objectKeys > maxObjectKeys) return false
  if (keys * 4 > (mask + 1) * 3) return false
  const h = hashOf(start, end)
  if (h) return place(h)
  const length = decode(start, end)
  if (!length) return false
  const decoded = hashOf(DECODED, DECODED + length)
  return decoded ? place(decoded) : false
}
/** 0: the key has an escape, or is forbidden. */
function hashOf(start: usize, end: usize): u64 {
  const length = <u32>(end - start)
  const slash = i8x16.splat(0x5c)
  const decoded = start == DECODED
  let h: u64 = seed ^ <u64>length
  let slashes = i8x16.splat(0)
  let at = start
  for (; at + 16 <= end; at += 16) {
    const v = v128.load(at)
    slashes = v128.or(slashes, i8x16.eq(v, slash))
    h = mix(h, i64x2.extract_lane(v, 0), i64x2.extract_lane(v, 1))
  }
  const rest = <u32>(end - at)
  if (rest) {
    let low = load<u64>(at)
    let high: u64 = 0
    if (rest < 8) low &= (<u64>1 << (<u64>rest << 3)) - 1
    else if (rest > 8) high = load<u64>(at, 8) & ((<u64>1 << (<u64>(rest - 8) << 3)) - 1)
    if (length == 9 ? isProto(start) : length == 11 && isConstructor(start)) return 0
    slashes = v128.or(slashes, i8x16.eq(i64x2.replace_lane(i64x2.splat(low), 1, high), slash))
    h = mix(h, low, high)
  }
  if (!decoded && v128.any_true(slashes)) return 0
  h *= 0xd6e8feb86659fd93
  return h ? h : 1
}
// @ts-ignore: decorator
@inline
function mix(h: u64, low: u64, high: u64): u64 {
  let x = (h ^ low) * 0x9e3779b97f4a7c15
  x ^= x >> 32
  x = (x ^ high) * seed
  return x ^ (x >> 29)
}
/** False: another key has this hash, or it takes too long to find out. */
function place(h: u64): bool {
  const entry: u64 = (<u64>object << 32) | (h >> 32)
  let slot = <u32>h ^ (object * 0x9e3779b1)
  slot = (slot ^ (slot >> 15)) & mask
  for (let probe: u32 = 0; probe < MAX_PROBES; probe++) {
    const address = KEYS + (<usize>slot << 3)
    const other = load<u64>(address)
    if (<u32>(other >> 32) < firstObject) {
      store<u64>(address, entry)
      return true
    }
    if (other == entry) return false
    slot = (slot + 1) & mask
  }
  return false
}
// @ts-ignore: decorator
@inline
function isProto(at: usize): bool {
  return load<u64>(at) == 0x5f6f746f72705f5f && load<u8>(at, 8) == 0x5f
}
// @ts-ignore: decorator
@inline
function isConstructor(at: usize): bool {
  return load<u64>(at) == 0x63757274736e6f63 && (load<u32>(at, 8) & 0xffffff) == 0x726f74
}

/** Writes a key without its escapes, as UTF-8 in which half a surrogate pair has three bytes.
 *  Returns its length; 0: it is too long. Its escapes are valid. */
function decode(start: usize, end: usize): usize {
  if (end - start > DECODED_SIZE) return 0
  let to = DECODED
  for (let at = start; at < end; at++) {
    let byte: u32 = load<u8>(at)
    if (byte == BACKSLASH) {
      byte = load<u8>(++at)
      if (byte == LETTER_U) {
        let point = unitAt(at + 1)
        at += 4
        if (point >> 10 == 0x36 && load<u8>(at, 1) == BACKSLASH && load<u8>(at, 2) == LETTER_U) {
          const low = unitAt(at + 3)
          if (low >> 10 == 0x37) {
            point = 0x10000 + ((point & 0x3ff) << 10) + (low & 0x3ff)
            at += 6
          }
        }
        to = writePoint(to, point)
        continue
      }
      byte = shortEscape(byte)
    }
    store<u8>(to++, byte)
  }
  return to - DECODED
}
/** The number of four valid digits. A letter has bit 6, and 9 more than its lower bits. */
function unitAt(at: usize): u32 {
  const digits = load<u32>(at)
  const values = (digits & 0x0f0f0f0f) + ((digits >> 6) & 0x01010101) * 9
  return ((values & 15) << 12) | (values & 0x0f00) | ((values >> 12) & 0xf0) | (values >> 24)
}
function writePoint(to: usize, point: u32): usize {
  if (point < 0x80) {
    store<u8>(to, point)
    return to + 1
  }
  if (point < 0x800) store<u8>(to++, 0xc0 | (point >> 6))
  else {
    if (point < 0x10000) store<u8>(to++, 0xe0 | (point >> 12))
    else {
      store<u8>(to++, 0xf0 | (point >> 18))
      store<u8>(to++, 0x80 | ((point >> 12) & 0x3f))
    }
    store<u8>(to++, 0x80 | ((point >> 6) & 0x3f))
  }
  store<u8>(to++, 0x80 | (point & 0x3f))
  return to
}
