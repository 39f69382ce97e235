/** How slow this machine is, with its present load: deadlines that a test cannot replace by an
 *  event scale with it. Measured once per run; the processes of the run read it from the
 *  environment. */
const NAME = 'TEST_SLOWNESS'
/** ms of the work below on the machine for which the deadlines of the tests were chosen. */
const USUAL_MS = 150
/** A busy machine may become busier: with a measured factor above `from`, twice as much. */
const MARGIN = { from: 1.3, by: 2 }
const MOST = 30

const work = (): void => {
  const rows = Array.from({ length: 200 }, (_, id) => ({ id, name: `row ${id}`, at: [id, 2 * id] }))
  for (let round = 0; round < 2_700; round++) JSON.parse(JSON.stringify(rows))
}

/** 1 on a usual machine, 10 on one that takes five times as long. */
export const slowness = (): number => {
  const known = Number(process.env[NAME])
  if (known >= 1) return known
  const startedAt = performance.now()
  work()
  const measured = (performance.now() - startedAt) / USUAL_MS
  const ratio = measured > MARGIN.from ? measured * MARGIN.by : 1
  const factor = Math.round(Math.min(ratio, MOST) * 10) / 10
  process.env[NAME] = String(factor)
  return factor
}

/** So many ms of a usual machine, in whole ms of this one. */
export const scaled = (ms: number): number => Math.ceil(ms * slowness())
