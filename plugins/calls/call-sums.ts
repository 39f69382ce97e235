/** Adds up calls as they end, and writes the sums in the background. One per process.
 *
 *  call ──▶ sums in memory ──every two seconds──▶ one transaction ──▶ rows, removed with age
 *  Sums that the store does not take are lost, as are those of the last seconds of a killed
 *  process: money is in the ledger. */
import type { Host } from '../../engine/plugin.ts'
import type { Tags } from '../slots.ts'
import { BackgroundWrites, type Parts } from './background-writes.ts'
import { addTime, emptyHistogram } from './histogram.ts'
import {
  addParts,
  addSums,
  addTagTimes,
  addTimes,
  type PartKind,
  removeOldSums,
  SPANS,
} from './sum-statements.ts'

const DAY = SPANS.day
/** Rows of each kind that wait for the store; further ones are lost. */
const MAX_ROWS = 2_000

export interface EndedCall {
  /** ms since 1970, at its end. */
  readonly at: number
  /** 0: without a valid credential. */
  readonly account: number
  /** 0: without a key. */
  readonly key: number
  /** Undefined: the account itself. */
  readonly member?: number | undefined
  /** As the client named it. */
  readonly model: string
  /** The entry in `models:`. */
  readonly entry: string
  readonly upstream: string
  readonly isFailed: boolean
  /** Nanos. */
  readonly amount: bigint
  /** Tokens; `input` without its cached part. */
  readonly input: number
  readonly cached: number
  readonly output: number
  /** The decisions about it: see `CALL_PARTS`. */
  readonly parts?: readonly CallPart[] | undefined
  readonly tags?: Tags | undefined
  /** ms to the first content and in all; absent for a call that failed, or has no usage. */
  readonly times?: { readonly first: number; readonly whole: number } | undefined
}
type Caller = Pick<EndedCall, 'at' | 'account' | 'key' | 'member'>
export interface CallPart {
  readonly kind: PartKind
  readonly part: string
}
/** The sums of this process. The plugin `observe` writes them to the store. */
export const callSumsOf = (host: Pick<Host, 'share'> & Parts): CallSums => {
  const { database, log, metrics } = host
  return host.share('call sums', '6', () => new CallSums({ database, log, metrics }))
}

const newTimes = () => ({ first: emptyHistogram(), whole: emptyHistogram() })
type NewTimes = ReturnType<typeof newTimes>
type Own = NewTimes & {
  day: number
  account: number
  key: number
  member: number
  model: string
  failed: number
}
type OfTag = NewTimes & Omit<Own, 'model' | 'failed'> & { tag: string }
type Counts = NewTimes & {
  calls: number
  failed: number
  amount: bigint
  input: number
  cached: number
  output: number
}
type Of = { readonly span: number; readonly at: number; readonly model: string }
type All = Counts & Of & { readonly upstream: string }
type Part = Counts & Of & CallPart
const newCounts = (): Counts => ({
  ...newTimes(),
  calls: 0,
  failed: 0,
  amount: 0n,
  input: 0,
  cached: 0,
  output: 0,
})

export class CallSums {
  readonly #parts: Parts
  #own = new Map<string, Own>()
  #all = new Map<string, All>()
  #byPart = new Map<string, Part>()
  #byTag = new Map<string, OfTag>()
  readonly #writes: BackgroundWrites

  constructor(parts: Parts) {
    this.#parts = parts
    this.#writes = new BackgroundWrites(parts, 'sums of calls')
  }
  add(call: EndedCall): void {
    for (const span of Object.values(SPANS)) {
      addCall(this.#sumsOf(call, span), call)
      for (const part of call.parts ?? []) addCall(this.#partOf(call, part, span), call)
    }
    if (call.isFailed) this.#addFailure(call)
    else if (call.times) {
      this.#addToOwn(call, call.times)
      this.#addToTags(call, call.times)
    }
  }
  /** Counts a call as failed that was added before: its work failed after its answer. */
  addLateFailure(call: Pick<EndedCall, 'entry' | 'upstream' | keyof Caller>): void {
    const { at, entry, upstream } = call
    for (const span of Object.values(SPANS)) {
      const sums = this.#sumsOf({ at, entry, upstream }, span)
      if (sums) sums.failed++
    }
    this.#addFailure(call)
  }
  async flush(): Promise<void> {
    // In the order of their keys: processes that update the same rows wait, and do not deadlock.
    const [own, all, byPart] = [ordered(this.#own), ordered(this.#all), ordered(this.#byPart)]
    const byTag = ordered(this.#byTag)
    if (own.length + all.length === 0) return
    this.#own = new Map()
    this.#all = new Map()
    this.#byPart = new Map()
    this.#byTag = new Map()
    const times = [...own.map(addTimes), ...byTag.map(addTagTimes)]
    const list = [...all.map(addSums), ...byPart.map(addParts), ...times]
    if (!(await this.#writes.write(list))) this.#omit(list.length)
  }
  async remove(now: number): Promise<void> {
    await this.#parts.database.write(removeOldSums(now))
  }
  close(): Promise<void> {
    return this.flush()
  }
  #sumsOf(call: Pick<EndedCall, 'at' | 'entry' | 'upstream'>, span: number): All | undefined {
    const { entry: model, upstream } = call
    const at = Math.floor(call.at / span) * span
    const make = () => ({ ...newCounts(), span, at, model, upstream })
    return this.#rowOf(this.#all, `${span} ${at} ${upstream} ${model}`, make)
  }
  #partOf(call: EndedCall, { kind, part }: CallPart, span: number): Part | undefined {
    const { entry: model } = call
    const at = Math.floor(call.at / span) * span
    const make = () => ({ ...newCounts(), span, at, model, kind, part })
    return this.#rowOf(this.#byPart, `${span} ${at} ${kind} ${model} ${part}`, make)
  }
  #addToOwn(call: EndedCall, times: NonNullable<EndedCall['times']>): void {
    const own = this.#ownOf(call, call.model)
    if (own) addTimesTo(own, times)
  }
  #addToTags(
    { at, account, key, member = 0, tags = {} }: EndedCall,
    times: NonNullable<EndedCall['times']>,
  ): void {
    const day = Math.floor(at / DAY)
    for (const [name, value] of Object.entries(tags)) {
      const tag = `${name}=${value}`
      const make = () => ({ ...newTimes(), day, account, key, member, tag })
      const row = this.#rowOf(this.#byTag, `${day} ${account} ${key} ${member} ${tag}`, make)
      if (row) addTimesTo(row, times)
    }
  }
  #addFailure(call: Caller): void {
    const own = this.#ownOf(call, '')
    if (own) own.failed++
  }
  #ownOf({ at, account, key, member = 0 }: Caller, model: string): Own | undefined {
    if (account === 0) return undefined
    const day = Math.floor(at / DAY)
    const name = `${day} ${account} ${key} ${member} ${model}`
    const make = () => ({ ...newTimes(), day, account, key, member, model, failed: 0 })
    return this.#rowOf(this.#own, name, make)
  }
  #rowOf<Row>(rows: Map<string, Row>, name: string, make: () => Row): Row | undefined {
    const known = rows.get(name)
    if (known) return known
    if (rows.size >= MAX_ROWS) {
      this.#omit(1)
      return undefined
    }
    const row = make()
    rows.set(name, row)
    return row
  }
  #omit(rows: number): void {
    this.#parts.metrics.count('call_sums_omitted_total', {}, rows)
  }
}
const addCall = (sums: Counts | undefined, call: EndedCall): void => {
  if (!sums) return
  sums.calls++
  if (call.isFailed) sums.failed++
  sums.amount += call.amount
  sums.input += call.input
  sums.cached += call.cached
  sums.output += call.output
  if (call.times) addTimesTo(sums, call.times)
}
const addTimesTo = (row: NewTimes, { first, whole }: NonNullable<EndedCall['times']>): void => {
  addTime(row.first, first)
  addTime(row.whole, whole)
}
const ordered = <Row>(rows: ReadonlyMap<string, Row>): readonly Row[] =>
  [...rows].sort(([one], [other]) => (one < other ? -1 : 1)).map(([, row]) => row)
