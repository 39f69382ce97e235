/** Random histories: wallets, leases and charges equal those of a simple model after every step.
 *  The audit finds nothing at the end of each history; in the long form, after every step. */
import t from 'tap'
import { audit } from '../../../plugins/ledger/audit.ts'
import fc from '../../helpers/property.ts'
import { LONG, shortOrLong } from '../../helpers/run-settings.ts'
import { histories, longHistories, play } from './model/history.ts'
import { openMemory } from './model/memory.ts'

const memory = openMemory()
const auditMemory = async (): Promise<string | undefined> => {
  const [finding] = await audit(memory)
  return finding && `${finding.rule}: ${finding.subject}: ${finding.detail}`
}

const LENGTHS = {
  'many short histories': { ways: histories, histories: shortOrLong(4_000, 200_000) },
  'histories of a hundred steps': { ways: longHistories, histories: shortOrLong(80, 10_000) },
}
for (const [length, { ways, histories }] of Object.entries(LENGTHS))
  t.test(`ledger model: the ledger equals the model after every step: ${length}`, async t => {
    let count = 0
    await fc.assert(
      fc.asyncProperty(ways, async history => {
        count++
        const wrong = await play(memory, history, auditMemory, LONG)
        if (wrong !== undefined) throw new Error(wrong)
      }),
      { numRuns: histories },
    )
    t.ok(count >= histories)
  })
