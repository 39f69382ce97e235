/** The report on copies for operators, and the command `tollgate mirror`. */
import type { Command, HostBase, Row } from '../../engine/plugin.ts'
import { printMoney } from '../billing/money.ts'
import { modelsOf } from '../catalogue/configured.ts'
import { nanosOf } from '../ledger/statements.ts'
import { subcommandsOf } from '../operator/command-line.ts'
import { type MirrorPart, operatorParts } from '../operator/contributions.ts'
import { mirrorOperations } from '../operator/operations/mirror.ts'
import type { MirrorReportRow } from '../views.ts'
import { DAY, readReport } from './tables.ts'

const PART: MirrorPart = {
  async report({ database }, from, to) {
    const rows = await readReport(database, Math.floor(from / DAY), Math.floor(to / DAY))
    return rows.map(reportRowOf)
  },
}
const reportRowOf = (row: Row): MirrorReportRow => {
  const count = (name: string): number => Number(row[name])
  const calls = Math.max(1, count('calls'))
  const compared = count('compared')
  return {
    model: String(row.model),
    target: String(row.target),
    calls: count('calls'),
    first_failed: count('first_failed'),
    failed: count('failed'),
    first_ms: Math.round(count('first_ms') / calls),
    ms: Math.round(count('ms') / calls),
    first_input: count('first_input'),
    first_output: count('first_output'),
    input: count('input'),
    output: count('output'),
    first_cost: printMoney(nanosOf(row.first_cost)),
    cost: printMoney(nanosOf(row.cost)),
    compared,
    agreed: count('agreed'),
    agreement: compared === 0 ? null : Math.round((count('agreed') / compared) * 1_000) / 1_000,
  }
}

/** Lets the operations of operators run. */
export const offerToOperators = (host: HostBase): void => {
  const parts = operatorParts(host)
  const isUsed = Object.values(modelsOf(host)).some(({ mirror }) => mirror !== undefined)
  if (isUsed) parts.mirror = PART
  else delete parts.mirror
}

export const commands: Readonly<Record<string, Command>> = {
  mirror: {
    summary: 'Compares the calls of models with `mirror:` with their copies.',
    subcommands: subcommandsOf(mirrorOperations, offerToOperators),
  },
}
