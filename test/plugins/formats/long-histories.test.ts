/** The work for a history or an answer grows with its length, not with the square of it: a worker
 *  serves other requests meanwhile. */
import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import t from 'tap'
import { LONG } from '../../helpers/run-settings.ts'
import type { Measured } from './long/worker.ts'

/** Steps for twice the length: linear work needs 2 times as many, the square 4 times. */
const MAX_GROWTH = 2.6

t.test('long histories and answers: twice the length is twice the work', async t => {
  const worker = new Worker(new URL('./long/worker.ts', import.meta.url), {
    workerData: { allPairs: LONG },
  })
  const [measured] = (await once(worker, 'message')) as [readonly Measured[]]
  await worker.terminate()
  t.ok(measured.length > 400, `${measured.length} cases`)
  const tooMuch = measured
    .filter(({ short, long }) => long > MAX_GROWTH * short)
    .map(({ title, short, long }) => `${title}: ${short} steps become ${long}`)
  t.strictSame(tooMuch, [])
})
