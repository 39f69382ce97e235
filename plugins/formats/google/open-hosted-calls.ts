/** Finds the hosted call of a history that a result belongs to: the last open one with its id. */

export class OpenHostedCalls {
  /** Positions of calls in the order in which they began; closed ones are removed when they are
   *  last. */
  readonly #positions: number[] = []
  readonly #isOpen = new Set<number>()
  readonly #positionsOfId = new Map<string, number[]>()

  add(id: string, position: number): void {
    this.#positions.push(position)
    this.#isOpen.add(position)
    const positions = this.#positionsOfId.get(id)
    if (positions) positions.push(position)
    else this.#positionsOfId.set(id, [position])
  }
  /** The position of the last open call, which is open no longer. `id`: of the call; undefined for
   *  a result that names none. */
  take(id: string | undefined): number | undefined {
    const positions = id === undefined ? this.#positions : this.#positionsOfId.get(id)
    let position = positions?.pop()
    while (position !== undefined && !this.#isOpen.delete(position)) position = positions?.pop()
    return position
  }
}
