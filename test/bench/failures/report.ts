/** The table of the part `failures`: what the rows of failed calls cost refused calls, and billed
 *  calls beside them. Pure. */
import { figure, median, perRequest, type Rounds, ratio, table } from '../tables.ts'

export const failuresTable = (rounds: Rounds): string => {
  const rows = [...rounds].map(([name, list]) => {
    const without = name.replace(/, rows$/, ', no rows')
    const costs = list.map(perRequest)
    return [
      name,
      figure(median(list.map(({ requests, seconds }) => requests / seconds)), 0),
      figure(median(costs)),
      `${figure(Math.min(...costs))}–${figure(Math.max(...costs))}`,
      name === without ? '' : figure(ratio(rounds, name, without), 2),
      `${figure(median(list.map(({ p50 }) => p50)), 2)} / ${figure(median(list.map(({ p99 }) => p99)), 2)}`,
      String(list.reduce((sum, { failed }) => sum + failed, 0)),
    ]
  })
  const head = [
    'calls',
    'calls/s',
    'CPU µs/call',
    'range',
    'of no rows',
    'p50 / p99 ms',
    'other answers',
  ]
  return table(head, rows)
}
