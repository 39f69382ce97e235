/** The report on copies for operators, and the command `tollgate mirror`. */
import type { Command, HostBase } from '../../engine/plugin.ts'
import { printMoney } from '../billing/money.ts'
import { modelsOf } from '../catalogue/configured.ts'
import { nanosOf } from '../ledger/statements.ts'
import { subcommandsOf } from '../operator/command-line.ts'
import { contribute, type MirrorPart } from '../operator/contributions.ts'
import { mirrorOperations } from '../operator/operations/mirror.ts'
import { rowReader } from '../operator/rows.ts'
import { MIRROR_COLUMNS } from '../rows/operations.ts'
import { DAY, readReport } from './tables.ts'

const PART: MirrorPart = {
  async report({ database }, from, to) {
    const rows = await readReport(database, Math.floor(from / DAY), Math.floor(to / DAY))
    return rows.map(reportRowOf)
  },
}
const reportRowOf = rowReader(MIRROR_COLUMNS, row => {
  const calls = Math.max(1, Number(row.calls))
  const [compared, agreed] = [Number(row.compared), Number(row.agreed)]
  return {
    first_ms: Math.round(Number(row.first_ms) / calls),
    ms: Math.round(Number(row.ms) / calls),
    first_cost: printMoney(nanosOf(row.first_cost)),
    cost: printMoney(nanosOf(row.cost)),
    agreement: compared === 0 ? null : Math.round((agreed / compared) * 1_000) / 1_000,
  }
})

/** Lets the operations of operators run. */
export const offerToOperators = (host: HostBase): void => {
  const isUsed = Object.values(modelsOf(host)).some(({ mirror }) => mirror !== undefined)
  contribute(host, 'mirror', isUsed ? PART : undefined)
}

export const commands: Readonly<Record<string, Command>> = {
  mirror: {
    summary: 'Compares the calls of models with `mirror:` with their copies.',
    subcommands: subcommandsOf(mirrorOperations, offerToOperators),
  },
}
