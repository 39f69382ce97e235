/** Chooses the upstream, target or key of a conversation by rendezvous hashing: each gets a score,
 *  and the highest wins, equally in every process. One that fails moves only its own
 *  conversations. Pure. */
import { hash } from 'node:crypto'

interface Place {
  readonly name: string
  readonly weight: number
}
export const stayAt = <T>(
  list: readonly T[],
  affinity: string,
  placeOf: (each: T) => Place,
): T | undefined => {
  let best: T | undefined
  let highest = Number.NEGATIVE_INFINITY
  for (const each of list) {
    const { name, weight } = placeOf(each)
    const number = Number.parseInt(hash('sha1', `${affinity} ${name}`).slice(0, 8), 16)
    // Of all conversations each place gets its share by weight.
    const score = weight / -Math.log((number + 0.5) / 2 ** 32)
    if (score > highest) [best, highest] = [each, score]
  }
  return best
}
