/** Checks the keys of a JSON body's open objects: their number, their names, none of them twice. */
import { fault, type JsonLimits, parseText } from './faults.ts'
import { KeyIndex } from './key-index.ts'
import { BACKSLASH, closingQuote, decodeString, QUOTE } from './strings.ts'

/** Objects with so many keys have an index of their hashes. */
const MANY_KEYS = 12
const FORBIDDEN: ReadonlySet<string> = new Set(['__proto__', 'constructor'])

/** Keys are compared by hash. As soon as two of an object have one hash, that object's keys are
 *  compared as names, which cannot be made to collide: a character for each byte of UTF-8. */
export class OpenKeys {
  readonly #bytes: Buffer
  readonly #text: string
  readonly #limits: JsonLimits
  /** Three numbers a key: start, end, hash. Of all open objects, the innermost last. Starts of keys
   *  with escapes are inverted. */
  readonly #positions: number[] = []
  /** How many numbers of `#positions` are in use; V8 would copy the array if it were shortened. */
  #used = 0
  /** Index of the innermost object's first key; its hashes if they are many; its names if they are
   *  compared. */
  #first = 0
  #index: KeyIndex | undefined
  #names: Set<string> | undefined
  readonly #outer: (number | KeyIndex | Set<string> | undefined)[] = []
  #spare: KeyIndex | undefined
  #total = 0
  /** A key without its escapes. */
  #decoded = NOTHING

  constructor(bytes: Buffer, text: string, limits: JsonLimits) {
    this.#bytes = bytes
    this.#text = text
    this.#limits = limits
  }
  openObject(): void {
    this.#outer.push(this.#first, this.#index, this.#names)
    this.#first = this.#used
    this.#index = undefined
    this.#names = undefined
  }
  closeObject(): void {
    const outer = this.#outer
    this.#used = this.#first
    if (this.#index) this.#spare = this.#index
    this.#names = outer.pop() as Set<string> | undefined
    this.#index = outer.pop() as KeyIndex | undefined
    this.#first = outer.pop() as number
  }
  /** Reads the key from `start` on (behind its quote). Returns where its closing quote is; -1 when
   *  there is none. */
  read(start: number): number {
    const bytes = this.#bytes
    const most = Math.min(bytes.length, start + MOST_HASHED)
    let hash = HASH_SEED
    let end = start
    for (; end < most; end++) {
      const byte = bytes[end] as number
      if (byte === QUOTE || byte === BACKSLASH) break
      hash = Math.imul(hash ^ byte, HASH_PRIME)
    }
    if (bytes[end] === QUOTE) {
      this.#count()
      this.#add(start, end, hash)
      return end
    }
    const from = end
    end = closingQuote(bytes, this.#text, from)
    if (end < 0) return -1
    this.#count()
    if (bytes[from] === BACKSLASH || this.#text.slice(from, end).includes('\\'))
      this.#addEscaped(start, end)
    else this.#add(start, end, withLength(hash, end - start))
    return end
  }
  #addEscaped(start: number, end: number): void {
    const length = this.#decode(start, end)
    let hash = HASH_SEED
    for (let at = 0; at < length && at < MOST_HASHED; at++)
      hash = Math.imul(hash ^ (this.#decoded[at] as number), HASH_PRIME)
    this.#add(~start, end, length > MOST_HASHED ? withLength(hash, length) : hash)
  }
  #add(start: number, end: number, hash: number): void {
    if (mayBeForbidden(hash) && FORBIDDEN.has(this.#nameOf(start, end)))
      throw fault('BODY_FORBIDDEN_KEY', [this.#quote(start, end)])
    if (!this.#isNew(hash)) this.#addName(start, end)
    const positions = this.#positions
    let used = this.#used
    positions[used++] = start
    positions[used++] = end
    positions[used++] = hash
    this.#used = used
    if (used - this.#first === MANY_KEYS * 3) this.#useIndex()
  }
  /** Whether the object has no key of this hash; false if hashes do not tell. */
  #isNew(hash: number): boolean {
    if (this.#names) return false
    if (this.#index) return this.#index.add(hash)
    const positions = this.#positions
    for (let at = this.#first + 2; at < this.#used; at += 3)
      if (positions[at] === hash) return false
    return true
  }
  #useIndex(): void {
    const index = this.#spare ?? new KeyIndex()
    this.#spare = undefined
    index.clear()
    for (let at = this.#first + 2; at < this.#used; at += 3)
      index.add(this.#positions[at] as number)
    this.#index = index
  }
  #addName(start: number, end: number): void {
    const names = this.#names ?? this.#useNames()
    const { size } = names
    if (names.add(this.#nameOf(start, end)).size === size)
      throw fault('BODY_DUPLICATE_KEY', [this.#quote(start, end)])
  }
  /** Compares the keys of this object as names from now on. */
  #useNames(): Set<string> {
    const positions = this.#positions
    const names = new Set<string>()
    for (let at = this.#first; at < this.#used; at += 3)
      names.add(this.#nameOf(positions[at] as number, positions[at + 1] as number))
    this.#names = names
    return names
  }
  #nameOf(start: number, end: number): string {
    if (start >= 0) return this.#text.slice(start, end)
    return this.#decoded.toString('latin1', 0, this.#decode(~start, end))
  }
  #count(): void {
    const { keys, keysPerObject } = this.#limits
    if (++this.#total > keys) throw fault('BODY_TOO_MANY_KEYS', [keys, 'in all'])
    if (this.#used - this.#first >= keysPerObject * 3)
      throw fault('BODY_TOO_MANY_KEYS', [keysPerObject, 'in one object'])
  }
  #decode(start: number, end: number): number {
    if (this.#decoded.length < end - start)
      this.#decoded = Buffer.allocUnsafe(Math.max(256, (end - start) * 2))
    const length = decodeString(this.#bytes, start, end, this.#decoded)
    // The parser names what is wrong with it.
    if (length < 0) parseText(this.#bytes.toString('utf8', start - 1, end + 1))
    return length
  }
  /** The key as a fault shows it. */
  #quote(start: number, end: number): string {
    const key =
      start >= 0
        ? this.#bytes.toString('utf8', start, end)
        : (parseText(this.#bytes.toString('utf8', ~start - 1, end + 1)) as string)
    return JSON.stringify(key.slice(0, 64))
  }
}
const NOTHING = Buffer.alloc(0)

/** FNV-1a of at most so many bytes of a key, and of the length of longer keys. */
const MOST_HASHED = 32
const [HASH_SEED, HASH_PRIME] = [0x811c9dc5 | 0, 0x01000193]
const withLength = (hash: number, length: number): number => Math.imul(hash ^ length, HASH_PRIME)
const hashOf = (name: string): number =>
  Buffer.from(name).reduce((hash, byte) => Math.imul(hash ^ byte, HASH_PRIME), HASH_SEED)
const [PROTO_HASH, CONSTRUCTOR_HASH] = [...FORBIDDEN].map(hashOf)
const mayBeForbidden = (hash: number): boolean => hash === PROTO_HASH || hash === CONSTRUCTOR_HASH
