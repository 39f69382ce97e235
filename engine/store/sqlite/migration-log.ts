/** Reports the progress of the migrations of an existing store: those of a large store take
 *  minutes, and the gateway serves after them. */
import type { Log, Migration } from '../../plugin.ts'

/** The begin of a migration, or its end. Steps count from 1. */
export interface MigrationStep {
  readonly owner: string
  readonly migration: number
  readonly step: number
  readonly steps: number
  readonly isDone: boolean
}
export type OnMigration = (step: MigrationStep) => void

/** Returns a function that reports the begin or the end of a migration. A new store, in which none
 *  is `applied`, reports nothing. */
export const migrationReport = (
  owner: string,
  migrations: readonly Migration[],
  applied: ReadonlyMap<number, string>,
  onMigration: OnMigration = () => {},
) => {
  const pending = migrations.filter(({ number }) => !applied.has(number))
  return (migration: Migration, isDone: boolean): void => {
    const [step, steps] = [pending.indexOf(migration) + 1, pending.length]
    if (applied.size > 0) onMigration({ owner, migration: migration.number, step, steps, isDone })
  }
}

/** ms between two lines while a migration runs. */
const INTERVAL = 10_000

export const logMigrations = (log: Pick<Log, 'info'>): OnMigration => {
  let timer: NodeJS.Timeout | undefined
  let start = 0
  const seconds = () => Math.round((performance.now() - start) / 1_000)
  return ({ isDone, ...step }) => {
    clearInterval(timer)
    if (isDone) return log.info({ ...step, seconds: seconds() }, 'migrated the store')
    start = performance.now()
    log.info(step, 'migrating the store')
    timer = setInterval(
      () => log.info({ ...step, seconds: seconds() }, 'still migrating the store'),
      INTERVAL,
    )
    timer.unref()
  }
}
