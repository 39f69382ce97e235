/** A number shared exactly by the workers of a machine, the worker's side: each supply's way to take, ask, give. */

import type { Allowance, Supply } from '../plugin.ts'
import type { Answer, Channel, Kind, Recall } from './channel.ts'
import { type AllowancesOptions, Line, NOTHING, Questions, type Slice } from './counter-client.ts'
import { createAllowanceOwner } from './counter-owner.ts'

export interface Allowances {
  open(name: string, supply: Supply): Allowance
  /** The owner is gone: whoever waits for it is refused, and so is whoever asks. */
  close(): void
}

/** The allowances of one worker, by messages to the owner in the primary. */
export const createAllowances = (channel: Channel, options: AllowancesOptions = {}): Allowances => {
  const questions = new Questions(channel)
  const lines = new Map<string, Line>()
  const lineOf = (kind: Kind, name: string): Line => {
    const line = lines.get(name) ?? new Line(kind, name, questions, options)
    lines.set(name, line)
    return line
  }
  channel.on(received => {
    const message = received as Answer | Recall
    if (message?.type !== 'allowance') return
    if (message.verb === 'answer') questions.answered(message)
    else if (message.verb === 'recall')
      lineOf(message.kind, message.name).recalled(message.key, message.round)
  })
  return {
    open(name, supply) {
      const kind = 'held' in supply ? 'held' : 'window'
      // The kind is part of the name: a number is never two things.
      const line = lineOf(kind, `${kind} ${name}`)
      return 'held' in supply ? held(line, supply.held.amount) : windowed(line, supply.window)
    },
    close: () => questions.close(),
  }
}

/** Takes from what lies here, if it was cut under these terms. */
const takeFrom = (slice: Slice | undefined, terms: string, amount: bigint): true | undefined => {
  if (slice === undefined || slice.terms !== terms || slice.free < amount) return undefined
  slice.free -= amount
  return true
}

/** A worker whose windows keep ending on the way has an owner that hangs. */
const TRIES = 3

/** At most `limit` at once. */
const held = (line: Line, limit: bigint): Allowance => {
  const terms = String(limit)
  return {
    take: (key, amount) => takeFrom(line.book.get(key), terms, amount),
    ask: (key, amount) =>
      line.ask({ key, amount: String(amount), limit: terms, ms: 0 }, answer => {
        const granted = BigInt(answer.granted)
        if (granted > amount) line.lay(key, { ...NOTHING, terms, free: granted - amount })
        return granted >= amount
      }),
    give(key, amount) {
      const slice = line.book.peek(key)
      if (slice === undefined) line.giveBack(key, { free: amount, since: 0 })
      else slice.free += amount
    },
    spend: (key, amount) =>
      void line.ask({ key, amount: String(amount), limit: terms, ms: 0, spent: true }, () => true),
    wait: () => 0,
    reading: () => undefined,
  }
}

type Window = Extract<Supply, { window: unknown }>['window']

/** `limit` per `ms`, in windows that begin with a key's first use. */
const windowed = (line: Line, { amount: limit, ms, returns = false }: Window): Allowance => {
  const terms = `${limit}/${ms}`
  const current = (key: string): Slice | undefined => {
    const slice = line.book.get(key)
    return slice !== undefined && slice.terms === terms && line.now() < slice.ends
      ? slice
      : undefined
  }
  const lay = (key: string, free: bigint, { since, again, left }: Answer): void =>
    line.lay(key, { free, terms, since, ends: since + ms, again, left: BigInt(left) })
  const ask = (key: string, amount: bigint, tries: number): Promise<boolean> =>
    line.ask({ key, amount: String(amount), limit: String(limit), ms }, answer => {
      const granted = BigInt(answer.granted)
      // The window ended on the way. Its units are void; the next window decides.
      if (line.now() >= answer.since + ms)
        return granted > 0n && tries > 1 && ask(key, amount, tries - 1)
      lay(key, granted > amount ? granted - amount : 0n, answer)
      return granted >= amount
    })
  return {
    take(key, amount) {
      const slice = current(key)
      // What others give back nobody is told of: where that may be, the owner is asked.
      const spent = slice !== undefined && !returns && line.now() < slice.again
      return takeFrom(slice, terms, amount) ?? (spent ? false : undefined)
    },
    ask: (key, amount) => ask(key, amount, TRIES),
    give(key, amount, window) {
      if (returns && window !== undefined) line.giveBack(key, { free: amount, since: window })
    },
    spend(key, amount) {
      if (takeFrom(current(key), terms, amount)) return
      const question = {
        key,
        amount: String(amount),
        limit: String(limit),
        ms,
        spent: true,
      } as const
      void line.ask(question, answer => {
        if (line.now() < answer.since + ms) lay(key, 0n, answer)
        return true
      })
    },
    wait(key) {
      const slice = current(key)
      return slice === undefined ? 0 : slice.ends - line.now()
    },
    reading(key) {
      const slice = current(key)
      if (slice === undefined) return undefined
      const { left, free, ends, since } = slice
      return { left: left + free, ms: ends - line.now(), window: since }
    },
  }
}

/** An owner with one worker in the same process, for commands, trials and tests. */
export const createLocalAllowances = (options: AllowancesOptions = {}): Allowances => {
  const [near, far] = pair()
  createAllowanceOwner(options.now === undefined ? {} : { now: options.now }).attach(0, far)
  return createAllowances(near, options)
}

/** Two ends in one process. Delivers in order and never from within `send`. */
const pair = (): [Channel, Channel] => {
  const listeners: [((message: unknown) => void)[], ((message: unknown) => void)[]] = [[], []]
  const end = (own: 0 | 1, other: 0 | 1): Channel => ({
    send: message =>
      queueMicrotask(() => {
        for (const listener of listeners[other]) listener(message)
      }),
    on: listener => void listeners[own].push(listener),
  })
  return [end(0, 1), end(1, 0)]
}
