/** Machines that share numbers in one store: each an owner and its workers, in one process, over a store that can be cut off. */
import type { Test } from 'tap'
import type { Statement, Supply } from '../../engine/plugin.ts'
import { type Allowances, createAllowances } from '../../engine/quota/allowance.ts'
import type { Channel } from '../../engine/quota/channel.ts'
import { createAllowanceOwner } from '../../engine/quota/counter-owner.ts'
import { createLender, type Lender } from '../../engine/quota/lender.ts'
import type { OpenDatabase } from '../../engine/store/database.ts'
import { silent } from './core.ts'
import { timeoutsAt } from './timeouts.ts'

/** Two ends that answer in a later turn, like IPC. */
export const pair = (): [Channel, Channel] => {
  const listeners: [((message: unknown) => void)[], ((message: unknown) => void)[]] = [[], []]
  const end = (own: 0 | 1, other: 0 | 1): Channel => ({
    send: message => {
      const wire = JSON.stringify(message)
      setImmediate(() => {
        for (const listener of listeners[other]) listener(JSON.parse(wire))
      })
    },
    on: listener => void listeners[own].push(listener),
  })
  return [end(0, 1), end(1, 0)]
}

export interface Machine {
  /** As many as asked, all at once, over its workers in turn. Resolves to how many were admitted. */
  use(supply: Supply, asks: number, amount?: bigint): Promise<number>
  give(supply: Supply, count: number): void
  spend(supply: Supply, amount: bigint): void
  /** Cut off from the store, or no more. */
  cut: boolean
  /** Lists that it sent to the store. */
  readonly lists: number
  /** One of its workers dies; without a number all of them, and the machine with them. */
  kill(worker?: number): void
}
export interface MachineOptions {
  readonly workers?: number
  /** ms between two signs of life. */
  readonly every?: number
}
const KEY = 'somebody'

export const startMachine = (
  t: Test,
  own: OpenDatabase,
  { workers = 2, every = 1_000 }: MachineOptions = {},
): Machine => {
  const line = { cut: false, lists: 0 }
  const unless = <T>(act: () => Promise<T>): Promise<T> =>
    line.cut
      ? Promise.reject(Object.assign(new Error('cut'), { code: 'STORE_UNAVAILABLE' }))
      : act()
  const database = {
    migrate: own.migrate,
    read: (...args: Parameters<OpenDatabase['read']>) => unless(() => own.read(...args)),
    write(list: readonly Statement[]) {
      line.lists++
      return unless(() => own.write(list))
    },
  }
  const owner = createAllowanceOwner({
    machines: { storeTimeout: 10_000, retryDelay: 100, interval: 50 },
  })
  const crew: (Allowances & { readonly lender: Lender })[] = []
  for (let worker = 0; worker < workers; worker++) {
    const [near, far] = pair()
    owner.attach(worker, far)
    const lender = createLender({
      database,
      log: silent,
      channel: near,
      timeouts: timeoutsAt(every),
    })
    crew.push({ ...createAllowances(near), lender })
  }
  const living = new Set(crew.keys())
  const open = (supply: Supply, at = 0) => {
    const worker = [...living][at % living.size] ?? 0
    const allowance = crew[worker]?.open('number', supply)
    if (!allowance) throw new Error('nobody is left')
    return allowance
  }
  const kill = (worker: number): void => {
    crew[worker]?.lender.close()
    living.delete(worker)
    owner.detach(worker)
  }
  t.teardown(() => {
    for (const { lender } of crew) lender.close()
    owner.close()
  })
  return {
    async use(supply, asks, amount = 1n) {
      const admitted = await Promise.all(
        Array.from({ length: asks }, async (_, at) => {
          const allowance = open(supply, at)
          return allowance.take(KEY, amount) ?? (await allowance.request(KEY, amount))
        }),
      )
      return admitted.filter(Boolean).length
    },
    give(supply, count) {
      for (let at = 0; at < count; at++) open(supply, at).returnUnits(KEY, 1n)
    },
    spend: (supply, amount) => open(supply).spend(KEY, amount),
    get cut() {
      return line.cut
    },
    set cut(cut) {
      line.cut = cut
    },
    get lists() {
      return line.lists
    },
    kill(worker) {
      if (worker !== undefined) return kill(worker)
      for (const each of [...living]) crew[each]?.lender.close()
      owner.close()
    },
  }
}
