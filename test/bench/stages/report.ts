/** The table of the part `stages`: CPU of a call with each stage beside one with none. Pure. */
import { figure, median, perRequest, type Rounds, ratio, table } from '../tables.ts'
import { OFF, WITHOUT } from './names.ts'

export const stagesTable = (rounds: Rounds): string => {
  const rows = [...rounds].map(([name, list]) => {
    const costs = list.map(perRequest)
    const [least, most] = [Math.min(...costs), Math.max(...costs)]
    const to = name === WITHOUT ? WITHOUT : name === OFF ? WITHOUT : OFF
    return [
      name,
      figure(median(costs)),
      `${figure(least)}–${figure(most)}`,
      name === WITHOUT ? '' : `${figure(ratio(rounds, name, to), 2)} of ${to}`,
      figure(median(list.map(({ p99 }) => p99)), 2),
      String(list.reduce((sum, { failed }) => sum + failed, 0)),
    ]
  })
  const head = ['billed calls', 'CPU µs/request', 'range', 'ratio', 'p99 ms', 'failed']
  return table(head, rows)
}
