/** Audits of a store by every command of the group `audit`. */
import t from 'tap'
import type { Command } from '../../../../engine/cli/command.ts'
import { auditStore } from '../../../../engine/cli/store/store-audit.ts'

const commandsOf = (
  ...results: readonly (number | { readonly exit?: number; readonly text?: string })[]
) => {
  const audits = results.map(
    (result, index) => [`audit ${index}`, { summary: '', run: async () => result }] as const,
  )
  const audit = { summary: '', subcommands: Object.fromEntries(audits) } as unknown as Command
  return new Map([['audit', audit]])
}
const terminal = {} as Parameters<typeof auditStore>[1]

t.test('store audit: returns what the failed audits say', async t => {
  t.same(await auditStore(new Map(), terminal), [], 'no plugin has an audit')
  t.same(await auditStore(commandsOf(0, { text: 'fine' }, { exit: 0 }), terminal), [])
  const failed = commandsOf(1, { exit: 1, text: 'a charge is missing' }, { exit: 1 }, 0)
  t.same(await auditStore(failed, terminal), ['', 'a charge is missing', ''])
})
