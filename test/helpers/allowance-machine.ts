/** Workers that share numbers, joined to their owner by queues that deliver only when told to. */
import { setImmediate as turn } from 'node:timers/promises'
import type { Allowance, Supply } from '../../engine/plugin.ts'
import { type Allowances, createAllowances } from '../../engine/quota/allowance.ts'
import type { UnitGrant, UnitRequest } from '../../engine/quota/channel.ts'
import { createAllowanceOwner } from '../../engine/quota/counter-owner.ts'
import fc from './property.ts'

type Listener = (message: unknown) => void
interface Wire {
  readonly queue: unknown[]
  listener: Listener
}
interface Worker {
  readonly allowances: Allowances
  readonly up: Wire
  readonly down: Wire
  alive: boolean
  /** Questions not yet answered. */
  asking: number
}
export interface Used {
  readonly worker: number
  readonly key: string
  readonly amount: bigint
  readonly at: number
  readonly supply: Supply
}

const json = (message: unknown): unknown => JSON.parse(JSON.stringify(message))
const wire = (): Wire => ({ queue: [], listener: () => {} })
const end = (to: Wire, from: Wire) => ({
  send: (message: unknown) => void to.queue.push(json(message)),
  on: (listener: Listener) => {
    from.listener = listener
  },
})

export class Machine {
  clock = 1_000
  /** When windows began, per key, by the answers that arrived. */
  readonly begun = new Map<string, Set<number>>()
  readonly #asked = new Map<string, string>()
  readonly workers: Worker[] = []
  readonly owner = createAllowanceOwner({ now: () => this.clock, revokeTimeout: 60_000 })
  /** Admitted, not given back, in a living worker. */
  readonly used: Used[] = []

  constructor(workers: number) {
    for (let made = 0; made < workers; made++) this.add()
  }
  add(): void {
    const up = wire()
    const down = wire()
    this.owner.attach(this.workers.length, end(down, up))
    // Three keys at hand: the fourth pushes a slice out.
    const allowances = createAllowances(end(up, down), { now: () => this.clock, keys: 3 })
    this.workers.push({ allowances, up, down, alive: true, asking: 0 })
  }
  deliver(id: number, way: 'up' | 'down'): boolean {
    const worker = this.workers[id]
    if (!worker?.alive || worker[way].queue.length === 0) return false
    const message = worker[way].queue.shift() as UnitRequest | UnitGrant
    if (message.verb === 'request') this.#asked.set(`${id} ${message.id}`, message.key)
    if (message.verb === 'grant') this.#note(this.#asked.get(`${id} ${message.id}`) ?? '', message)
    worker[way].listener(message)
    return true
  }
  #note(key: string, { since }: UnitGrant): void {
    const begun = this.begun.get(key)
    if (begun === undefined) this.begun.set(key, new Set([since]))
    else begun.add(since)
  }
  /** Everything under way arrives and every question of the living is answered. */
  async settle(): Promise<void> {
    for (let turns = 0, idle = 0; idle < 2; idle++) {
      await turn()
      for (const [id, worker] of this.workers.entries()) {
        while (this.deliver(id, 'up') || this.deliver(id, 'down')) idle = -1
        if (worker.alive && worker.asking > 0) idle = -1
      }
      if (++turns > 10_000) throw new Error('a question was never answered')
    }
  }
  /** Takes or asks, and counts the question while it is open. */
  async use(id: number, supply: Supply, key: string, amount: bigint): Promise<boolean> {
    const worker = this.workers[id]
    const allowance = this.open(id, supply)
    const now = allowance.take(key, amount)
    if (worker === undefined || now !== undefined) return now === true
    worker.asking++
    return allowance.request(key, amount).finally(() => {
      worker.asking--
    })
  }
  kill(id: number): void {
    const worker = this.workers[id]
    if (worker === undefined) return
    worker.alive = false
    this.owner.detach(id)
    for (let index = this.used.length; index-- > 0; )
      if (this.used[index]?.worker === id) this.used.splice(index, 1)
  }
  living(pick: number): number {
    const living = [...this.workers.keys()].filter(id => this.workers[id]?.alive)
    return living[pick % living.length] ?? -1
  }
  inUse(key: string): bigint {
    return sum(this.used.filter(used => used.key === key))
  }
  open(id: number, supply: Supply): Allowance {
    const worker = this.workers[id]
    if (worker === undefined) throw new Error(`no worker ${id}`)
    return worker.allowances.open('number', supply)
  }
  /** One worker asks unit after unit, each to its end, until refused: the others lie on what they have. */
  async exhaust(key: string, supply: Supply, worker = 0): Promise<bigint> {
    for (let total = 0n; ; total++) {
      const answer = this.use(this.living(worker), supply, key, 1n)
      await this.settle()
      if (!(await answer)) return total
    }
  }
}
export const sum = (list: readonly { readonly amount: bigint }[]): bigint =>
  list.reduce((total, { amount }) => total + amount, 0n)

export type Step =
  | { readonly do: 'use'; readonly worker: number; readonly amount: bigint; readonly key: string }
  | { readonly do: 'give'; readonly which: number }
  | { readonly do: 'deliver'; readonly worker: number; readonly way: 'up' | 'down' }
  | { readonly do: 'kill'; readonly worker: number }
  | { readonly do: 'limit'; readonly limit: bigint }
  | { readonly do: 'pass'; readonly ms: number }

const worker = fc.nat(3)
const constant = <T extends string>(value: T) => fc.constant(value)
const arbitraries: { [Kind in Step['do']]: fc.Arbitrary<Step> } = {
  use: fc.record({
    do: constant('use'),
    worker,
    amount: fc.constantFrom(1n, 1n, 1n, 2n, 5n),
    key: fc.constantFrom('a', 'a', 'a', 'b', 'c', 'd'),
  }),
  give: fc.record({ do: constant('give'), which: fc.nat(50) }),
  deliver: fc.record({
    do: constant('deliver'),
    worker,
    way: fc.constantFrom('up' as const, 'down' as const),
  }),
  kill: fc.record({ do: constant('kill'), worker }),
  limit: fc.record({ do: constant('limit'), limit: fc.bigInt(1n, 40n) }),
  pass: fc.record({ do: constant('pass'), ms: fc.integer({ min: 1, max: 130 }) }),
}
/** Histories in which each kind of step is so frequent. */
export const histories = (weights: { readonly [Kind in Step['do']]?: number }) =>
  fc.array(
    fc.oneof(
      ...Object.entries(weights).map(([kind, weight]) => ({
        weight,
        arbitrary: arbitraries[kind as Step['do']],
      })),
    ),
    { maxLength: 100 },
  )

/** Plays a history to its end; `admitted` sees every admission at its instant. Returns the last limit. */
export const play = async (
  machine: Machine,
  history: readonly Step[],
  supply: (limit: bigint) => Supply,
  admitted: (used: Used) => void,
): Promise<bigint> => {
  let limit = 20n
  let fault: unknown
  const failed = (error: unknown): void => {
    fault = error
  }
  const use = async ({ worker, amount, key }: Extract<Step, { do: 'use' }>): Promise<void> => {
    const id = machine.living(worker)
    const terms = supply(limit)
    if (!(await machine.use(id, terms, key, amount)) || !machine.workers[id]?.alive) return
    const used = { key, amount, worker: id, supply: terms, at: machine.clock }
    machine.used.push(used)
    admitted(used)
  }
  for (const step of history) {
    if (step.do === 'use') use(step).catch(failed)
    else if (step.do === 'deliver') machine.deliver(step.worker, step.way)
    else if (step.do === 'limit') {
      // An ask of the old terms still under way is admitted by them, whenever it arrives.
      await machine.settle()
      limit = step.limit
    } else if (step.do === 'pass') machine.clock += step.ms
    else if (step.do === 'kill') {
      machine.kill(machine.living(step.worker))
      if (machine.living(0) === -1) machine.add()
    } else {
      const [used] = machine.used.splice(step.which % Math.max(1, machine.used.length), 1)
      if (used !== undefined)
        machine.open(used.worker, used.supply).returnUnits(used.key, used.amount)
    }
    await turn()
  }
  await machine.settle()
  if (fault !== undefined) throw fault
  return limit
}
