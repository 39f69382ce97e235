/** Times until the first content of recent streams and plain answers, of one target at one address.
 *  Pure: callers pass the time. */

/** ms after which a time is dropped. */
const WINDOW = 5 * 60_000
/** The smallest number of times that gives a median. */
const LEAST_TIMES = 20
/** The largest number of times; the oldest are dropped first. */
const MOST_TIMES = 100

export type AnswerKind = 'stream' | 'plain'

export class RecentTimes {
  readonly #times: Record<AnswerKind, { readonly at: number; readonly ms: number }[]> = {
    stream: [],
    plain: [],
  }
  add(kind: AnswerKind, ms: number, now: number): void {
    const times = this.#times[kind]
    times.push({ at: now, ms })
    if (times.length > MOST_TIMES) times.shift()
  }
  count(kind: AnswerKind, now: number): number {
    return this.#recent(kind, now).length
  }
  /** In ms; undefined where too few times are known. */
  median(kind: AnswerKind, now: number): number | undefined {
    const times = this.#recent(kind, now)
    if (times.length < LEAST_TIMES) return undefined
    return times.map(({ ms }) => ms).sort((one, other) => one - other)[times.length >> 1]
  }
  #recent(kind: AnswerKind, now: number) {
    const times = this.#times[kind]
    const first = times.findIndex(({ at }) => at > now - WINDOW)
    times.splice(0, first < 0 ? times.length : first)
    return times
  }
}

/** One pick of this number goes to a candidate with too few times. */
const EXPLORATION = 10

/** The candidate whose streams begin first. Where no streams are known, plain answers decide; where
 *  nothing is known, all take turns. `count`: picks before this one. */
export const pickFastest = <T>(
  available: readonly T[],
  timesOf: (each: T) => RecentTimes | undefined,
  count: number,
  now: number,
): T | undefined => {
  const medians = (kind: AnswerKind) => available.map(each => timesOf(each)?.median(kind, now))
  const streams = medians('stream')
  const kind = streams.some(each => each !== undefined) ? 'stream' : 'plain'
  const known = kind === 'stream' ? streams : medians('plain')
  if (known.every(each => each === undefined)) return available[count % available.length]
  if (count % EXPLORATION === 0 && known.includes(undefined)) {
    const sizes = available.map((each, index) =>
      known[index] === undefined ? (timesOf(each)?.count(kind, now) ?? 0) : Infinity,
    )
    return available[sizes.indexOf(Math.min(...sizes))]
  }
  const ms = known.map(each => each ?? Infinity)
  return available[ms.indexOf(Math.min(...ms))]
}
