/** `tollgate archive`: moves old charges to files; `tollgate archive verify`: checks the files. */
import { basename, dirname, resolve } from 'node:path'
import { EXIT, isDay, textOf, UsageError } from '../../../engine/cli/kit.ts'
import { DURATIONS } from '../../../engine/kit.ts'
import type { Command, SingleCommand } from '../../../engine/plugin.ts'
import { configuredCurrency } from '../../billing/currency.ts'
import { printMoney } from '../../billing/money.ts'
import { archiveCharges, verifyArchives } from '../archive/archive.ts'
import { fault } from '../archive/faults.ts'

/** Charges of tasks may be corrected for some days after the end of their hold. */
const MIN_DAYS = 7
const TO = {
  type: 'string',
  value: 'FOLDER',
  summary: 'the folder of the files; `archive` in the data folder by default',
} as const

const instantOf = (text: string, now: number): number => {
  const at = isDay(text) ? Date.parse(text) : Number.NaN
  if (Number.isNaN(at) || at > now - MIN_DAYS * DURATIONS.d)
    throw fault('ARCHIVE_RECENT', [MIN_DAYS])
  return at
}

const create: SingleCommand = {
  summary: 'Moves the charges before a date to compressed files; balances and daily sums stay.',
  example: 'tollgate archive --before 2026-01-01',
  options: {
    before: { type: 'string', value: 'DATE', summary: 'charges of calls before this day, UTC' },
    to: TO,
  },
  async run({ values, report }, host) {
    const text = textOf(values.before)
    if (text === undefined) throw new UsageError('Usage: tollgate archive --before DATE')
    const before = instantOf(text, await host.database.now())
    const folder = resolve(textOf(values.to) ?? host.folder('archive'))
    const { files, charges } = await archiveCharges(host.database, { folder, before, report })
    return {
      text: `${charges} charges are in ${files.length} files of ${folder}\n${files.map(file => `${file}\n`).join('')}`,
      json: { folder, charges, files },
    }
  },
}

const verify: SingleCommand = {
  arguments: '[FILE]',
  summary: 'Checks archive files against the digests and sums that the ledger has recorded.',
  example: 'tollgate archive verify',
  options: { to: TO },
  async run({ positionals: [file], values, report }, host) {
    const folder =
      file === undefined ? (textOf(values.to) ?? host.folder('archive')) : dirname(file)
    const name = file === undefined ? undefined : basename(file)
    const results = await verifyArchives(host.database, resolve(folder), name, report)
    const { name: currency } = configuredCurrency(host)
    const lines = results.map(({ file, charges, amount, problem, isComplete }) => {
      const rest = isComplete ? '' : '; not complete: run `tollgate archive` again'
      return problem === undefined
        ? `${file}: ${charges} charges, ${printMoney(amount)} ${currency}: as recorded${rest}`
        : `${file}: ${problem}`
    })
    return {
      text: lines.length > 0 ? lines.join('\n') : 'nothing is archived',
      json: results.map(({ amount, problem = null, ...rest }) => ({
        ...rest,
        amount: printMoney(amount),
        problem,
      })),
      exit: results.every(({ problem }) => problem === undefined) ? EXIT.ok : EXIT.problems,
    }
  },
}
export const archiveCommand = {
  summary: 'Moves old charges to files, and verifies such files.',
  subcommands: { create, verify },
  default: 'create',
} satisfies Command
