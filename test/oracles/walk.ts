/** Sends requests to all kinds of targets, and counts what their providers would refuse. */
import type { Test } from 'tap'
import { type ClientRequest, findingsOf, TARGETS } from './cells.ts'
import { EXCEPTIONS, type Exception } from './exceptions.ts'

interface Tally {
  requests: number
  refused: number
  excepted: number
}
export interface Walk {
  /** `client -> format` -> counts of requests. */
  readonly cells: ReadonlyMap<string, Tally>
  /** Each finding that no exception explains once, with its count and its first request. */
  readonly unexplained: readonly string[]
  readonly used: ReadonlySet<Exception>
}
/** `share`: every so many targets of each request, in turn. */
export const walk = async (requests: Iterable<ClientRequest>, share = 1): Promise<Walk> => {
  const cells = new Map<string, Tally>()
  const counts = new Map<string, { count: number; first: string }>()
  const used = new Set<Exception>()
  let turn = 0
  for (const request of requests)
    for (const target of TARGETS) {
      if (turn++ % share !== 0) continue
      const cell = `${request.client} -> ${target.title}`
      const short = `${request.client} -> ${target.format}`
      const tally = cells.get(short) ?? { requests: 0, refused: 0, excepted: 0 }
      cells.set(short, tally)
      tally.requests++
      const findings = await findingsOf(request, target)
      let isExplained = true
      for (const { rule, message } of findings) {
        const exception = EXCEPTIONS.find(
          each =>
            each.rule === rule && each.cells.test(cell) && (each.message?.test(message) ?? true),
        )
        if (exception) used.add(exception)
        else {
          isExplained = false
          const entry = counts.get(`${cell} ${rule}`)
          const first = entry?.first ?? `${request.name}: ${message}`
          counts.set(`${cell} ${rule}`, { count: (entry?.count ?? 0) + 1, first })
        }
      }
      if (!isExplained) tally.refused++
      else if (findings.length > 0) tally.excepted++
    }
  const unexplained = [...counts].map(([what, { count, first }]) => `${count} × ${what}: ${first}`)
  return { cells, unexplained, used }
}
export const report = (t: Test, { cells, unexplained }: Walk): void => {
  for (const [cell, { requests, refused, excepted }] of [...cells].sort())
    t.comment(`${cell}: ${requests} requests, ${refused} refused, ${excepted} as listed`)
  t.same(unexplained, [], 'no provider refuses a request')
}
