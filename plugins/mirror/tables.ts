/** The operator's cost of copies, and how they compare: sums of a day for each model and target,
 *  and the used part of windows of budgets. No charge of a customer. Money in nanos. */
import type { Database, Migration, Row, Sql, Statement } from '../../engine/plugin.ts'

/** Sums of a day. `first`: of the customers' calls that were copied. `compared`: pairs of two whole
 *  answers; `agreed`: those that were alike. */
const SUMS = [
  'calls',
  'first_failed',
  'failed',
  'first_ms',
  'ms',
  'first_input',
  'first_output',
  'input',
  'output',
  'first_cost',
  'cost',
  'compared',
  'agreed',
] as const
export type MirrorSums = Readonly<Record<(typeof SUMS)[number], number | bigint>>

const TABLES = `
  CREATE TABLE mirror_days (
    day BIGINT NOT NULL,
    model TEXT NOT NULL,
    target TEXT NOT NULL,
    ${SUMS.map(name => `${name} BIGINT NOT NULL`).join(', ')},
    PRIMARY KEY (day, model, target));
  CREATE TABLE mirror_budgets (
    model TEXT NOT NULL,
    begins BIGINT NOT NULL,
    used BIGINT NOT NULL,
    PRIMARY KEY (model, begins))`
export const migrations: readonly Migration[] = [{ number: 1, text: TABLES }]

export const DAY = 86_400_000
const ADD: Sql = {
  name: 'mirror: add to day',
  text: `INSERT INTO mirror_days (day, model, target, ${SUMS.join(', ')})
    VALUES (?, ?, ?, ${SUMS.map(() => '?').join(', ')})
    ON CONFLICT (day, model, target) DO UPDATE SET
      ${SUMS.map(name => `${name} = mirror_days.${name} + excluded.${name}`).join(', ')}`,
}
/** `at`: ms since 1970. */
export const addToDay = (
  at: number,
  { model, target }: { readonly model: string; readonly target: string },
  sums: MirrorSums,
): Statement => ({
  sql: ADD,
  values: [Math.floor(at / DAY), model, target, ...SUMS.map(name => sums[name])],
})

/** The window of a budget. `begins`: ms since 1970. */
export interface MirrorWindow {
  readonly model: string
  readonly begins: number
}
const OPEN: Sql = {
  name: 'mirror: open window',
  text: 'INSERT INTO mirror_budgets (model, begins, used) VALUES (?, ?, 0) ON CONFLICT DO NOTHING',
}
const RESERVE: Sql = {
  name: 'mirror: reserve',
  text: `UPDATE mirror_budgets SET used = used + CAST(? AS BIGINT)
    WHERE model = ? AND begins = ? AND used < CAST(? AS BIGINT)
      AND used + CAST(? AS BIGINT) <= CAST(? AS BIGINT)`,
}
/** Rejects with MIRROR_SPENT if the amount no longer fits. */
export const reserve = (
  { model, begins }: MirrorWindow,
  amount: bigint,
  limit: bigint,
): readonly Statement[] => [
  { sql: OPEN, values: [model, begins] },
  {
    sql: RESERVE,
    values: [amount, model, begins, limit, amount, limit],
    rows: 1,
    otherwise: 'MIRROR_SPENT',
  },
]
const CORRECT: Sql = {
  name: 'mirror: correct',
  text: 'UPDATE mirror_budgets SET used = used + CAST(? AS BIGINT) WHERE model = ? AND begins = ?',
}
/** `amount`: what a copy cost beyond what was reserved for it; may be below zero. */
export const correct = ({ model, begins }: MirrorWindow, amount: bigint): Statement => ({
  sql: CORRECT,
  values: [amount, model, begins],
})

const REPORT: Sql = {
  name: 'mirror: report',
  text: `SELECT model, target, ${SUMS.map(name => `CAST(sum(${name}) AS BIGINT) AS ${name}`).join(', ')}
    FROM mirror_days WHERE day >= ? AND day <= ? GROUP BY model, target ORDER BY model, target`,
}
/** Days since 1970, both inclusive. */
export const readReport = (
  database: Pick<Database, 'read'>,
  from: number,
  to: number,
): Promise<readonly Row[]> => database.read(REPORT, [from, to])
