/** Facts that `tollgate doctor` looks at: about this machine, the data folder, the ports and the
 *  store. It changes nothing. */
import { accessSync, constants, existsSync, readdirSync, statfsSync, statSync } from 'node:fs'
import { createServer } from 'node:net'
import { dirname, join, resolve } from 'node:path'
import { readText } from '../../config/disk.ts'
import { fileSource, read } from '../../config/read.ts'
import type { Settings } from '../../config/settings.ts'
import { parseListenAddress } from '../../processes/listen-address.ts'
import { checkInstanceLock } from '../../processes/primary/instance-lock.ts'
import { findRunning, type RunningGateway } from '../../processes/running-gateway.ts'
import { openFileLimit } from '../../request/open-file-limit.ts'
import { isPostgres, locate, storeIdentity, withoutPassword } from '../../store/database.ts'
import { usesOtherStore } from '../store/store-in-use.ts'
import { describeStore, type StoreDescription } from './describe-store.ts'

export interface Facts {
  readonly node: string
  readonly platform: string
  /** Soft limit of open files. */
  readonly openFiles: number
  readonly now: number
  readonly env: Readonly<Record<string, string | undefined>>
  readonly data: FolderFacts
  /** A gateway that runs on the data folder. */
  readonly running:
    | {
        readonly pid: number
        /** Where it uses another store than this configuration names. */
        readonly otherStore?: { readonly running: string; readonly here: string } | undefined
      }
    | undefined
  readonly ports: readonly PortFacts[]
  readonly store: StoreDescription
  readonly secretFiles: readonly FileFacts[]
}
interface FolderFacts {
  readonly path: string
  readonly exists: boolean
  readonly writable: boolean
  readonly mode: number
  readonly freeBytes: number
  readonly freePercent: number
  readonly isNetwork: boolean
  /** ms since 1970; 0 without files. */
  readonly newestFile: number
}
interface PortFacts {
  readonly setting: 'listen' | 'admin'
  readonly address: string
  /** The error code of binding it; undefined: it is free. */
  readonly error: string | undefined
}
export interface FileFacts {
  readonly path: string
  readonly mode: number
}

export const gatherFacts = async (
  config: string,
  settings: Settings,
  env: Facts['env'],
): Promise<Facts> => {
  const folder = resolve(settings.data)
  const [inUse, store, ...ports] = await Promise.all([
    checkInstanceLock(folder),
    describeStore(settings.database, folder),
    probePort('listen', settings.listen),
    probePort('admin', settings.admin),
  ])
  const running = inUse === undefined ? undefined : findRunning(folder)
  return {
    node: process.versions.node,
    platform: process.platform,
    openFiles: openFileLimit(),
    now: Date.now(),
    env,
    data: folderFacts(folder),
    running: running && {
      pid: running.pid,
      otherStore: await otherStoreOf(running, settings),
    },
    ports,
    store,
    secretFiles: secretFilesOf(config, settings, env),
  }
}

const otherStoreOf = async (running: RunningGateway, { database, data }: Settings) => {
  const { store } = running
  if (store === undefined) return undefined
  try {
    const here = storeIdentity(database, data)
    return (await usesOtherStore(running, database, data)) ? { running: store, here } : undefined
  } catch {
    // `describeStore` reports a URL that names no store.
    return { running: store, here: withoutPassword(database) }
  }
}

/** Types of network file systems: NFS, SMB, SMB 2, FUSE. */
const NETWORK = [0x6969, 0x517b, 0xfe534d42, 0x65735546]

const folderFacts = (path: string): FolderFacts => {
  const exists = existsSync(path)
  const nearest = nearestFolder(path)
  const { bavail, blocks, bsize, type } = statfsSync(nearest)
  return {
    path,
    exists,
    writable: isWritable(nearest),
    mode: exists ? statSync(path).mode & 0o777 : 0o700,
    freeBytes: bavail * bsize,
    freePercent: blocks === 0 ? 100 : (bavail / blocks) * 100,
    isNetwork: NETWORK.includes(type),
    newestFile: exists ? newestIn(path) : 0,
  }
}
const nearestFolder = (path: string): string =>
  existsSync(path) || dirname(path) === path ? path : nearestFolder(dirname(path))
const isWritable = (path: string): boolean => {
  try {
    accessSync(path, constants.W_OK)
    return statSync(path).isDirectory()
  } catch {
    return false
  }
}
const newestIn = (folder: string): number =>
  isWritable(folder)
    ? Math.max(
        0,
        ...readdirSync(folder).map(
          name => statSync(join(folder, name), { throwIfNoEntry: false })?.mtimeMs ?? 0,
        ),
      )
    : 0

const probePort = (setting: PortFacts['setting'], address: string): Promise<PortFacts> =>
  new Promise(done => {
    const server = createServer()
    server.once('error', ({ code = 'unknown' }: NodeJS.ErrnoException) =>
      done({ setting, address, error: code }),
    )
    server.listen(parseListenAddress(address), () =>
      server.close(() => done({ setting, address, error: undefined })),
    )
  })

/** Files that hold secrets: variables, files that variables name, and the embedded store. */
const secretFilesOf = (config: string, settings: Settings, env: Facts['env']): FileFacts[] => {
  const { variableFiles, root } = read(config, fileSource(env))
  const store = isPostgres(settings.database) ? [] : [storeFile(settings)]
  const secret = variableFiles.filter(path => !isCertificate(path))
  return [join(root, '.env'), ...secret, ...store].flatMap(path => {
    const stats = statSync(path, { throwIfNoEntry: false })
    return stats ? [{ path, mode: stats.mode & 0o777 }] : []
  })
}
/** Certificates are public; a file that also has their key is secret. */
const isCertificate = (path: string): boolean =>
  /^(?!.*PRIVATE KEY).*-----BEGIN CERTIFICATE-----/s.test(readText(path) ?? '')
const storeFile = ({ database, data }: Settings): string => {
  try {
    return locate(database, data).file
  } catch {
    return ''
  }
}
