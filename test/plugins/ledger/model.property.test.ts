/** Any history at all: wallets, shares and charges are what plain sums say, after every step. The audit agrees: at the
 *  end of each history, which may be any prefix of another; in the long form after every step. */

import t from 'tap'
import { audit } from '../../../plugins/ledger/audit.ts'
import { longWays, orders, play } from '../../helpers/ledger-history.ts'
import { openMemory } from '../../helpers/ledger-memory.ts'
import { LONG, scaled } from '../../helpers/long.ts'
import fc from '../../helpers/property.ts'

const memory = openMemory()
const audited = async (): Promise<string | undefined> => {
  const [finding] = await audit(memory)
  return finding && `${finding.rule}: ${finding.subject}: ${finding.detail}`
}

const LENGTHS = {
  'of many beginnings': { ways: orders, histories: scaled(10_000, 200_000) },
  'of a hundred steps': { ways: longWays, histories: scaled(200, 10_000) },
}
for (const [length, { ways, histories }] of Object.entries(LENGTHS))
  t.test(`the ledger is the model, at every step of every history: ${length}`, async t => {
    let played = 0
    await fc.assert(
      fc.asyncProperty(ways, async history => {
        played++
        const wrong = await play(memory, history, audited, LONG)
        if (wrong !== undefined) throw new Error(wrong)
      }),
      { numRuns: histories },
    )
    t.ok(played >= histories)
  })
