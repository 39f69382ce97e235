/** The keys that sign the log of actions: that of the configuration, or a file of the data folder.
 *  They are not in the store, so that who can write there cannot sign. */
import { randomBytes, randomUUID } from 'node:crypto'
import { linkSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { HostBase } from '../../engine/plugin.ts'
import { type ActionKey, keyOf } from './action.ts'
import { sectionOf } from './section.ts'

export const FOLDER = 'actions'
type Host = Pick<HostBase, 'section' | 'folder'>

/** The key that signs. Throws the error of the system if its file can be neither read nor made. */
export const signingKey = (host: Host): ActionKey => {
  const { key } = sectionOf(host)
  return keyOf(key ?? onceInFile(join(host.folder(FOLDER), 'key'), newKey))
}
const newKey = (): string => randomBytes(32).toString('base64url')

/** All keys that this gateway has, by id. */
export const knownKeys = (host: Host): ReadonlyMap<string, ActionKey> => {
  const { key, earlier_keys: earlier } = sectionOf(host)
  const file = readOr(join(host.folder(FOLDER), 'key'))
  const secrets = [key, ...earlier, file].filter(each => each !== undefined)
  return new Map(secrets.map(keyOf).map(each => [each.id, each]))
}

/** Names the data folder, in the rows of its configurations. */
export const folderId = (host: Pick<HostBase, 'folder'>): string =>
  onceInFile(join(host.folder(FOLDER), 'id'), () => randomUUID())

/** The text of a file that is made once; of several processes at once, one makes it. */
const onceInFile = (path: string, make: () => string): string => {
  const known = readOr(path)
  if (known !== undefined) return known
  // A link appears with the whole text, or not at all.
  const draft = `${path}.${randomUUID()}`
  writeFileSync(draft, `${make()}\n`, { mode: 0o600, flush: true })
  try {
    linkSync(draft, path)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  } finally {
    rmSync(draft, { force: true })
  }
  return readFileSync(path, 'utf8').trim()
}
const readOr = (path: string): string | undefined => {
  try {
    return readFileSync(path, 'utf8').trim()
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    return undefined
  }
}
