/** Simulates workers that share numbers: queues connect them to their owner and deliver only on
 *  demand. */
import { setImmediate as turn } from 'node:timers/promises'
import type { Allowance, Supply } from '../../../engine/plugin.ts'
import { type Allowances, createAllowances } from '../../../engine/quota/allowance.ts'
import type { UnitGrant, UnitRequest } from '../../../engine/quota/channel.ts'
import { createAllowanceOwner } from '../../../engine/quota/counter-owner.ts'
import fc from '../../helpers/property.ts'

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
  /** Requests without an answer so far. */
  asking: number
}
export interface Admission {
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
  /** Starts of windows per key, from the answers that arrived. */
  readonly windowStarts = new Map<string, Set<number>>()
  readonly #requestKeys = new Map<string, string>()
  readonly workers: Worker[] = []
  readonly owner = createAllowanceOwner({ now: () => this.clock, revokeTimeout: 60_000 })
  /** Units that are admitted, not returned, and used by a live worker. */
  readonly unitsInUse: Admission[] = []

  constructor(workers: number) {
    for (let index = 0; index < workers; index++) this.add()
  }
  add(): void {
    const up = wire()
    const down = wire()
    this.owner.attach(this.workers.length, end(down, up))
    // Three keys fit: the fourth evicts a slice.
    const allowances = createAllowances(end(up, down), { now: () => this.clock, keys: 3 })
    this.workers.push({ allowances, up, down, alive: true, asking: 0 })
  }
  deliver(id: number, way: 'up' | 'down'): boolean {
    const worker = this.workers[id]
    if (!worker?.alive || worker[way].queue.length === 0) return false
    const message = worker[way].queue.shift() as UnitRequest | UnitGrant
    if (message.verb === 'request') this.#requestKeys.set(`${id} ${message.id}`, message.key)
    if (message.verb === 'grant')
      this.#note(this.#requestKeys.get(`${id} ${message.id}`) ?? '', message)
    worker[way].listener(message)
    return true
  }
  #note(key: string, { since }: UnitGrant): void {
    const starts = this.windowStarts.get(key)
    if (starts === undefined) this.windowStarts.set(key, new Set([since]))
    else starts.add(since)
  }
  /** Delivers every message under way until no request of a live worker is open. */
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
  /** Takes or requests units, and counts the request while it is open. */
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
    for (let index = this.unitsInUse.length; index-- > 0; )
      if (this.unitsInUse[index]?.worker === id) this.unitsInUse.splice(index, 1)
  }
  liveWorker(pick: number): number {
    const living = [...this.workers.keys()].filter(id => this.workers[id]?.alive)
    return living[pick % living.length] ?? -1
  }
  inUse(key: string): bigint {
    return sum(this.unitsInUse.filter(each => each.key === key))
  }
  open(id: number, supply: Supply): Allowance {
    const worker = this.workers[id]
    if (worker === undefined) throw new Error(`no worker ${id}`)
    return worker.allowances.open('number', supply)
  }
  /** One worker requests one unit after another until it is refused; the others keep what they
   *  have. */
  async exhaust(key: string, supply: Supply, worker = 0): Promise<bigint> {
    for (let total = 0n; ; total++) {
      const answer = this.use(this.liveWorker(worker), supply, key, 1n)
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
/** Histories with these frequencies of each kind of step. */
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

/** Plays a history to its end and calls `onAdmission` at the time of each admission. Returns the
 *  last limit. */
export const play = async (
  machine: Machine,
  history: readonly Step[],
  supply: (limit: bigint) => Supply,
  onAdmission: (admission: Admission) => void,
): Promise<bigint> => {
  let limit = 20n
  let fault: unknown
  const recordFault = (error: unknown): void => {
    fault = error
  }
  const use = async ({ worker, amount, key }: Extract<Step, { do: 'use' }>): Promise<void> => {
    const id = machine.liveWorker(worker)
    const terms = supply(limit)
    if (!(await machine.use(id, terms, key, amount)) || !machine.workers[id]?.alive) return
    const admission = { key, amount, worker: id, supply: terms, at: machine.clock }
    machine.unitsInUse.push(admission)
    onAdmission(admission)
  }
  for (const step of history) {
    if (step.do === 'use') use(step).catch(recordFault)
    else if (step.do === 'deliver') machine.deliver(step.worker, step.way)
    else if (step.do === 'limit') {
      // A request under way is admitted by the terms it was made with.
      await machine.settle()
      limit = step.limit
    } else if (step.do === 'pass') machine.clock += step.ms
    else if (step.do === 'kill') {
      machine.kill(machine.liveWorker(step.worker))
      if (machine.liveWorker(0) === -1) machine.add()
    } else {
      const [admission] = machine.unitsInUse.splice(
        step.which % Math.max(1, machine.unitsInUse.length),
        1,
      )
      if (admission !== undefined)
        machine
          .open(admission.worker, admission.supply)
          .returnUnits(admission.key, admission.amount)
    }
    await turn()
  }
  await machine.settle()
  if (fault !== undefined) throw fault
  return limit
}
