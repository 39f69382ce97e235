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
  /** Until then it is not worth asking again, by the clock of `monotonic`; 0 = at once. */
  readonly again: number
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
/** The two supplies of the contract. */
export type Kind = 'window' | 'held'

// ---------------------------------------------------------------- machines

/** What the owner tells a worker to do at the store that several machines share, in the name of its machine. */
export type Lend =
  | (OfNumber & {
      readonly verb: 'lease'
      readonly id: number
      readonly limit: string
      readonly ms: number
      readonly least: string
      readonly debt: string
    })
  /** `amount`: of a window what goes back, of what is held what stays. */
  | (OfNumber & { readonly verb: 'unlease'; readonly amount: string; readonly began: string })
  | { readonly type: 'allowance'; readonly verb: 'join'; readonly machine: string }
  | { readonly type: 'allowance'; readonly verb: 'look'; readonly since: string }
interface OfNumber {
  readonly type: 'allowance'
  readonly machine: string
  readonly kind: Kind
  readonly number: string
}
/** What comes of it. */
export type Leased =
  | LeaseAnswer
  /** Numbers of which some machine was refused, the last of them at this time of the store. */
  | {
      readonly type: 'allowance'
      readonly verb: 'short'
      readonly numbers: readonly string[]
      readonly at: string
    }
  /** This worker leaves: another may speak for the machine. */
  | { readonly type: 'allowance'; readonly verb: 'resign' }
  /** The store took this machine for dead. */
  | { readonly type: 'allowance'; readonly verb: 'gone'; readonly machine: string }
/** Without `granted`: the store does not answer. */
export interface LeaseAnswer {
  readonly type: 'allowance'
  readonly verb: 'leased'
  readonly id: number
  readonly granted?: string
  /** Of what is held: all that the machine has. */
  readonly slice?: string
  /** In the store, behind this answer. */
  readonly left?: string
  /** Which window it is, by the store's clock, and ms until its end from `asked` on. */
  readonly began?: string
  readonly ms?: number
  readonly asked?: number
  readonly machines?: number
}
