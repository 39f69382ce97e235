/** Store addresses: from a database URL to the file and the writer's socket. Every process of a
 *  data folder derives the same paths. */
import { createHash } from 'node:crypto'
import { chmodSync, lstatSync, readlinkSync, realpathSync } from 'node:fs'
import { tmpdir, userInfo } from 'node:os'
import { basename, dirname, join, resolve } from 'node:path'
import { fault } from './faults.ts'
import { makeFolder } from './make-folder.ts'

export interface StoreAddress {
  /** The URL with an absolute path. */
  readonly url: string
  readonly file: string
  readonly socket: string
  /** If the address is a symbolic link to the file: the folder of the link. Earlier versions used
   *  it as the data folder. */
  readonly linkFolder?: string | undefined
}
export const DATA_FOLDER = 'data'
// sun_path holds 108 bytes on Linux and 104 elsewhere, including the terminating zero.
const MAX_SOCKET_PATH = 103

export const isPostgres = (url: string): boolean => /^postgres(ql)?:/.test(url)

/** A URL of a store without its user and password, for messages. */
export const withoutPassword = (url: string): string => url.replace(/\/\/.*@/, '//…@')

/** Tells one store from others, for people too: the file, or hosts, name and search path of the
 *  database without user and password. */
export const storeIdentity = (url: string, data?: string): string => {
  if (!isPostgres(url)) return locate(url, data).url
  const [, hosts = '', name = ''] = /^\w+:\/\/(?:.*@)?([^/?]*)\/?([^?]*)/.exec(url) ?? []
  const query = new URLSearchParams(url.split('?')[1] ?? '')
  const list = (query.get('host') ?? (hosts || 'localhost')).split(',')
  const port = query.get('port') ?? '5432'
  const full = list.map(host => (/:\d+$/.test(host) ? host : `${host}:${port}`)).sort()
  const [, path = ''] = /(?:-c ?|--)search_path=(\S*)/.exec(query.get('options') ?? '') ?? []
  return `postgres://${full.join(',')}/${name}${path === '' ? '' : `?search_path=${path}`}`
}

/** `sqlite:` alone is tollgate.db in the data folder; a relative path is resolved from the working
 *  directory. Symbolic links are followed: one file has one lock and one socket. */
export const locate = (url: string, data = DATA_FOLDER): StoreAddress => {
  if (isPostgres(url)) throw fault('STORE_POSTGRES')
  const path = /^sqlite:(?:\/\/)?(.*)$/.exec(url)?.[1]
  if (path === undefined || path.includes(':memory:') || /[?#]/.test(path)) {
    throw fault('STORE_URL', [withoutPassword(url)])
  }
  const link = resolve(path === '' ? join(data, 'tollgate.db') : path)
  const file = realPathOf(link)
  const folder = realPathOf(dirname(link))
  const linkFolder = folder === dirname(file) ? undefined : folder
  return { url: `sqlite:${file}`, file, socket: socketOf(file), linkFolder }
}

/** Most symbolic links behind one path, as in Linux. */
const MAX_LINKS = 40
/** The path without symbolic links, also of a file that does not exist yet. */
const realPathOf = (path: string, links = MAX_LINKS): string => {
  try {
    return realpathSync(path)
  } catch {
    const parent = dirname(path)
    if (parent === path || links === 0) return path
    const folder = realPathOf(parent, links)
    const target = targetOf(path)
    return target === undefined
      ? join(folder, basename(path))
      : realPathOf(resolve(folder, target), links - 1)
  }
}
const targetOf = (link: string): string | undefined => {
  try {
    return readlinkSync(link)
  } catch {
    return undefined
  }
}

/** Beside the file if the path is short enough for a socket, otherwise in the temporary folder. */
export const socketOf = (file: string): string => {
  const near = `${file}.socket`
  if (Buffer.byteLength(near) <= MAX_SOCKET_PATH) return near
  const name = `${createHash('sha256').update(file).digest('hex').slice(0, 16)}.socket`
  const folder = join(tmpdir().length < 60 ? tmpdir() : '/tmp', `tollgate-${userInfo().uid}`)
  return join(folder, name)
}

/** Creates the folders of a database and of its socket. */
export const makeFolders = (address: StoreAddress): void => {
  makeFolder(dirname(address.file))
  if (dirname(address.socket) !== dirname(address.file)) makeSocketFolder(address.socket)
}
/** Creates the folder of a socket. It may be in a shared place, so it must belong to this user
 *  only. Throws STORE_FOLDER otherwise. */
export const makeSocketFolder = (socket: string): void => {
  const folder = dirname(socket)
  makeFolder(folder, 0o700)
  const stats = lstatSync(folder)
  const isPrivate =
    stats.isDirectory() && stats.uid === userInfo().uid && (stats.mode & 0o077) === 0
  if (!isPrivate) throw fault('STORE_FOLDER', [folder])
  // The umask of a writer leaves a new folder without the right to enter it.
  if ((stats.mode & 0o700) !== 0o700) chmodSync(folder, 0o700)
}
