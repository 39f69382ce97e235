/** Bodies that repeat the one before with some elements more, as those of a conversation do: the
 *  equal parts were checked and parsed then, so only the elements between them are now. */
import type { Json } from '../../plugin.ts'
import { LIMITS } from './faults.ts'

/** A body whose outline was parsed. */
export interface Turn {
  readonly body: Buffer
  /** The outline. Later turns share its elements. */
  readonly json: Json
  /** Where elements and members end, see `endsAt` in `scan.as`. */
  readonly ends: Uint32Array
  /** The number of keys of all its objects. */
  readonly keys: number
  /** Bytes of memory, about. */
  readonly size: number
}

/** The upper bit of an end: of a member of the outermost object, not of an element of an array. */
const MEMBER = 0x8000_0000
/** A member of the outermost object: an array whose elements are all objects or arrays. */
interface Elements {
  readonly name: string
  /** The index in `ends` of its first element. */
  readonly first: number
  readonly count: number
}
const elementsIn = ({ json, ends }: Pick<Turn, 'json' | 'ends'>): readonly Elements[] => {
  if (typeof json !== 'object' || json === null || Array.isArray(json)) return []
  const all: Elements[] = []
  let first = 0
  for (const [name, value] of Object.entries(json)) {
    // `Object.entries` lists numbers first, not in the order of the body.
    if (/^\d/.test(name)) return []
    if (typeof value !== 'object' || value === null) continue
    let count = 0
    while ((ends[first + count] ?? MEMBER) < MEMBER) count++
    if (Array.isArray(value) && value.length === count && count > 0)
      all.push({ name, first, count })
    first += count + 1
  }
  return first === ends.length ? all : []
}

/** The elements that a body has instead of the last ones of an array of the body before. */
interface Change extends Elements {
  /** Elements that are equal, at least one. */
  readonly equal: number
  /** The bytes behind them, up to the bracket that closes the array. */
  readonly from: number
  readonly to: number
}
const changeFrom = (turn: Turn, body: Buffer): Change | undefined => {
  const { body: before, ends } = turn
  const growth = body.length - before.length
  for (const elements of elementsIn(turn).toReversed()) {
    const { first, count } = elements
    const endOf = (number: number): number => ends[first + number - 1] as number
    const close = (ends[first + count] as number) - MEMBER
    const to = close + growth
    if (to < endOf(1)) continue
    if (before.compare(body, to, body.length, close, before.length) !== 0) return undefined
    const isEqual = (number: number): boolean => {
      const end = endOf(number)
      return end <= to && before.compare(body, 0, end, 0, end) === 0
    }
    if (!isEqual(1)) continue
    let [equal, more] = isEqual(count) ? [count, count + 1] : [1, count]
    while (more - equal > 1) {
      const middle = (equal + more) >> 1
      if (isEqual(middle)) equal = middle
      else more = middle
    }
    return { ...elements, equal, from: endOf(equal), to }
  }
  return undefined
}

const [OPEN, CLOSE] = [Buffer.from('{"":['), Buffer.from(']}')]
const COMMA = 0x2c
const isBlank = (byte: number | undefined): boolean =>
  byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09
/** A share of the body: a larger change is not worth it. */
const MOST_CHANGED = 3 / 4

/** Parses the elements of `{"":[…]}`; undefined where the whole body decides what is wrong. */
export type ParseElements = (body: Buffer) => ParsedElements | undefined
type ParsedElements = Pick<Turn, 'json' | 'ends' | 'keys'>

/** The outline of a body that repeats an earlier one; undefined: parse it whole. */
export const repeatTurn = (turn: Turn, body: Buffer, parse: ParseElements): Turn | undefined => {
  const change = changeFrom(turn, body)
  if (!change || change.to - change.from > MOST_CHANGED * body.length) return undefined
  let start = change.from
  while (start < change.to && isBlank(body[start])) start++
  if (start === change.to) return join(turn, change, body)
  if (body[start] !== COMMA) return undefined
  const text = Buffer.concat([OPEN, body.subarray(start + 1, change.to), CLOSE])
  const more = parse(text)
  // Its text may close the array, and begin another member.
  if (!more || Object.keys(more.json as object).length !== 1) return undefined
  if (elementsIn(more).length !== 1) return undefined
  const shift = start + 1 - OPEN.length
  return join(turn, change, body, { ...more, ends: more.ends.map(end => end + shift) })
}

const join = (
  turn: Turn,
  { name, first, count, equal }: Change,
  body: Buffer,
  more?: ParsedElements,
): Turn | undefined => {
  const keys = turn.keys + (more?.keys ?? 0)
  if (keys > LIMITS.keys) return undefined
  const json = turn.json as Record<string, Json[]>
  const added = (more?.json as Record<string, Json[]> | undefined)?.[''] ?? []
  const growth = body.length - turn.body.length
  const [before, behind] = [first + equal, turn.ends.subarray(first + count)]
  const ends = new Uint32Array(before + added.length + behind.length)
  ends.set(turn.ends.subarray(0, before))
  if (more) ends.set(more.ends.subarray(0, added.length), before)
  ends.set(
    behind.map(end => end + growth),
    before + added.length,
  )
  return {
    body,
    json:
      equal === count && added.length === 0
        ? json
        : { ...json, [name]: [...(json[name] ?? []).slice(0, equal), ...added] },
    ends,
    keys,
    size: Math.round((turn.size / turn.body.length) * body.length),
  }
}

/** The last bodies of callers: some of each, and so many bytes in all. Those of the caller that was
 *  idle longest are forgotten first, and those of any caller that is idle for long. */
export class LastTurns {
  readonly #callers = new Map<
    string,
    { readonly turns: readonly Turn[]; readonly usedAt: number }
  >()
  readonly #most: number
  readonly #idle: number
  #size = 0
  #timer: NodeJS.Timeout | undefined
  /** `most`: bytes in all. `idle`: ms after which a caller's are forgotten. */
  constructor(most: number, idle: number) {
    this.#most = most
    this.#idle = idle
  }
  /** The turns of a caller, the last one first. */
  of(caller: string): readonly Turn[] {
    return this.#callers.get(caller)?.turns ?? []
  }
  /** `before`: the turn that it repeats. */
  add(caller: string, turn: Turn, before: Turn | undefined): void {
    if (turn.size > this.#most / 4) return
    const others = this.of(caller).filter(each => each !== before)
    this.#set(caller, [turn, ...others].slice(0, CONVERSATIONS))
    for (const [oldest] of this.#callers) {
      if (this.#size <= this.#most) break
      this.#set(oldest, [])
    }
    this.#timer ??= setTimeout(() => this.#expire(), this.#idle).unref()
  }
  remove(caller: string, turn: Turn): void {
    this.#set(
      caller,
      this.of(caller).filter(each => each !== turn),
    )
  }
  #expire(): void {
    this.#timer = undefined
    const now = performance.now()
    for (const [caller, { usedAt }] of this.#callers) {
      const rest = usedAt + this.#idle - now
      if (rest > 0) {
        this.#timer = setTimeout(() => this.#expire(), rest).unref()
        return
      }
      this.#set(caller, [])
    }
  }
  #set(caller: string, turns: readonly Turn[]): void {
    this.#size += sizeOf(turns) - sizeOf(this.of(caller))
    this.#callers.delete(caller)
    if (turns.length > 0) this.#callers.set(caller, { turns, usedAt: performance.now() })
  }
}
/** Conversations of one caller at once, such as those of an agent and its helpers. */
const CONVERSATIONS = 4
const sizeOf = (turns: readonly Turn[]): number => turns.reduce((sum, { size }) => sum + size, 0)
