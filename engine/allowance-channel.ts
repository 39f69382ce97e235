/** What the workers of a machine and the owner of the numbers they share say to each other. */

/** Ordered and lossless while both ends live: an IPC channel, or a pair in one process. `send` never throws. */
export interface Channel {
  send(message: unknown): void
  on(listener: (message: unknown) => void): void
}

/** What travels. Amounts are decimal strings, since IPC speaks JSON. */
export interface Ask extends Handed {
  readonly verb: 'ask'
  readonly id: number
  readonly amount: string
  readonly limit: string
  readonly ms: number
  /** It has been used already: granted, whatever is left. */
  readonly spent?: true
}
export interface Return extends Handed {
  readonly verb: 'return'
  /** The recall it answers; 0 = of its own accord. */
  readonly round: number
}
export interface Answer {
  readonly type: 'allowance'
  readonly verb: 'answer'
  readonly id: number
  readonly granted: string
  /** With the owner, behind this answer. */
  readonly left: string
  /** When the window began that the units belong to. */
  readonly since: number
  /** Nothing is left anywhere until that window ends. */
  readonly spent: boolean
}
export interface Recall {
  readonly type: 'allowance'
  readonly verb: 'recall'
  readonly kind: Kind
  readonly round: number
  readonly name: string
  readonly key: string
}
/** Unused units that go back, with the window they were cut from. */
export interface Handed {
  readonly type: 'allowance'
  readonly kind: Kind
  readonly name: string
  readonly key: string
  readonly free: string
  readonly since: number
}
/** The three supplies of the contract. The owner has no units of a `slice` of its own, only what came back. */
export type Kind = 'window' | 'held' | 'slice'

/** hrtime counts from the machine's start: every process reads the same clock, and nobody can set it. */
export const monotonic = (): number => Number(process.hrtime.bigint() / 1_000_000n)
