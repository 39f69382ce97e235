/** Undoes what a refused exchange has done: whoever was told that a request failed must neither pay
 *  for it nor find what it made, whatever the store knew by then. */
import type { Exchange, Outcome, Row, Slot, Statement } from '../../engine/plugin.ts'

/** The part of one plugin in an exchange. */
export interface Effect {
  /** Undo it. Harmless if it was not done, and when applied twice. */
  readonly undo: readonly Statement[]
  /** Its rows, once the store has undone it. */
  onUndo?(rows: readonly (readonly Row[])[]): void
  /** It stays: the client got the response or has left, or a repetition of the request got the
   *  response. */
  onKept?(): void
}

const UNDO: Slot<Undo> = { name: 'undo' }

/** Whether the client was told that the request failed, and need not pay for it. */
export const isUndelivered = ({ end, fault }: Pick<Outcome, 'end' | 'fault'>): boolean =>
  end === 'refused' && !fault?.paid

/** The effects of one exchange, which are undone in one transaction. */
export class Undo {
  readonly #exchange: Pick<Exchange, 'kind' | 'writes'>
  #effects: readonly Effect[] = []

  /** Call it before your own `onEnd`: then a listener may still add effects. */
  static of(exchange: Pick<Exchange, 'kind' | 'slots' | 'writes' | 'onEnd'>): Undo {
    const existing = exchange.slots.get(UNDO)
    if (existing) return existing
    const undo = new Undo(exchange)
    exchange.slots.set(UNDO, undo)
    return undo
  }
  private constructor(exchange: Pick<Exchange, 'kind' | 'writes' | 'onEnd'>) {
    this.#exchange = exchange
    exchange.onEnd(outcome => this.#end(outcome))
  }
  add(effect: Effect): void {
    this.#effects = [...this.#effects, effect]
  }
  /** Adds what decides, by the rows it expects, whether the others may be undone. */
  addGuard(effect: Effect): void {
    this.#effects = [effect, ...this.#effects]
  }
  #end(outcome: Outcome): void {
    const effects = this.#effects
    if (effects.length === 0) return
    if (!isUndelivered(outcome)) return keepAll(effects)
    const list = effects.flatMap(({ undo }) => undo)
    const { kind, writes } = this.#exchange
    // Nobody was told of a failure: the effects are as the store has written them.
    if (kind === 'turn' && !writes.isConfirmed) return
    writes.owe({
      lists: [list],
      onDone: ({ rows, refusedWith }) => {
        if (refusedWith !== undefined) return keepAll(effects)
        let from = 0
        for (const { undo, onUndo } of effects) {
          onUndo?.(rows.slice(from, from + undo.length))
          from += undo.length
        }
      },
    })
  }
}

const keepAll = (effects: readonly Effect[]): void => {
  for (const { onKept } of effects) onKept?.()
}
