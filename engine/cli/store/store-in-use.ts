/** Refuses a store that is not the one in use: one that was moved, another one than the running
 *  gateway's, and one without tables. */
import { existsSync } from 'node:fs'
import { errors } from '../../errors.ts'
import { isCode } from '../../kit.ts'
import { findRunning, isAlive, type RunningGateway } from '../../processes/running-gateway.ts'
import {
  isPostgres,
  isWriterListening,
  locate,
  storeIdentity,
  withoutPassword,
} from '../../store/database.ts'
import { refuseMoved } from '../../store/move/mark.ts'
import type { StoreUse } from '../../store/postgres/store-use.ts'

/** A store without user and password, for messages. */
export const placeOf = (url: string, data: string): string =>
  isPostgres(url) ? withoutPassword(url) : locate(url, data).url

/** The fault of a store without tables. */
export const emptyFault = (url: string, data: string): Error =>
  fault('STORE_EMPTY', [placeOf(url, data)])

/** The fault of an embedded store that no writer serves because another program has its lock. */
export const lockFault = async (url: string, data: string): Promise<Error | undefined> => {
  if (isPostgres(url)) return undefined
  const { file, socket } = locate(url, data)
  if (await isWriterListening(socket)) return undefined
  const { openLock } = await import('../../store/sqlite/store-lock.ts')
  const lock = openLock(file)
  try {
    return lock.take() ? undefined : fault('STORE_LOCKED', [file])
  } finally {
    lock.close()
  }
}

/** Throws unless the store exists, and unless `refuseOtherStore` lets it pass. A look at it makes
 *  no tables. */
export const refuseUnused = async (url: string, data: string, isAnyway: boolean): Promise<void> => {
  const look = await lookAt(url, data)
  if (!isAnyway) await refuseOther(url, data, look)
  if (!isPostgres(url) && !existsSync(locate(url, data).file))
    throw fault('STORE_MISSING', [placeOf(url, data)])
  if (look?.hasTables === false) throw emptyFault(url, data)
}

/** Throws if the running gateway of the data folder uses another store, and for a store that was
 *  moved: an operator means the store in use. */
export const refuseOtherStore = async (url: string, data: string): Promise<void> =>
  refuseOther(url, data, await lookAt(url, data))

/** Undefined for an embedded store, and if the database cannot be read: opening it tells why. */
const lookAt = async (url: string, data: string): Promise<StoreUse | undefined> => {
  if (!isPostgres(url)) return undefined
  const { lookAtStore } = await import('../../store/postgres/store-use.ts')
  return lookAtStore(url, data).catch(() => undefined)
}

/** Whether the running gateway of the data folder uses another store. */
export const usesOtherStore = async (
  running: RunningGateway,
  url: string,
  data: string,
): Promise<boolean> => isOther(running, storeIdentity(url, data), await lookAt(url, data))

/** The spelling of an address decides only if the database does not know the gateway. */
const isOther = ({ store }: RunningGateway, here: string, look: StoreUse | undefined): boolean =>
  store !== undefined && !(look?.isInUse ?? store === here)

const refuseOther = async (
  url: string,
  data: string,
  look: StoreUse | undefined,
): Promise<void> => {
  const here = storeIdentity(url, data)
  const running = findRunning(data)
  if (running && isOther(running, here, look) && (await isAlive(running))) {
    const schema = running.store === here && look ? ` (schema ${look.schema})` : ''
    throw fault('STORE_OTHER', [running.pid, data, running.store, `${here}${schema}`])
  }
  refuseMovedStore(url, data)
}
/** Throws STORE_MOVED. Only an embedded store can be moved. */
export const refuseMovedStore = (url: string, data: string): void => {
  if (!isPostgres(url)) refuseMoved(locate(url, data).file)
}

/** Throws if a start would refuse the store: one that was moved, or a pooler that shares
 *  connections. A database that cannot be reached passes: a check may run on another machine. So
 *  does a pool that other clients may have filled, such as a running gateway: `onFull` gets why. */
export const refuseUnservable = async (
  url: string,
  data: string,
  onFull: (reason: Error) => void,
): Promise<void> => {
  if (!isPostgres(url)) return refuseMovedStore(url, data)
  const { refusePooler } = await import('../../store/postgres/pooler.ts')
  await refusePooler({ url, within: REACH_TIMEOUT }, onFull).catch(error => {
    if (isCode(error, 'STORE_POOLER', 'STORE_POOL_SIZE', 'STORE_OPTIONS')) throw error
  })
}
/** ms. */
const REACH_TIMEOUT = 2_000

const fault = errors({
  STORE_OTHER: [
    409,
    'The gateway that runs on this data folder (process %d, %s) uses the store %s, and this command would use %s: give it the variables of the gateway (DATABASE_URL), or add --anyway',
  ],
  STORE_LOCKED: [
    503,
    'The store %s cannot be used now: another program has its lock, such as `tollgate move` or `tollgate restore`. Try again when it has ended',
  ],
  STORE_MISSING: [
    503,
    'There is no store at %s. Commands create none: run `tollgate start` once, or name the right one with settings.database (DATABASE_URL) or settings.data (TOLLGATE_DATA)',
  ],
  STORE_EMPTY: [
    503,
    'The store at %s has no tables of Tollgate. Commands create none: run `tollgate start` once, or name the right one with settings.database (DATABASE_URL)',
  ],
})
