/** The version that went live last, stored for the next start: if everything that it was built from
 *  is unchanged, the gateway serves it at once, and builds afterwards to check. The file is
 *  encrypted with a key made of these texts, lists and variables: it opens only if none of them has
 *  changed, and holds no secret in plain text. */
import { createCipheriv, createDecipheriv, createHash, randomBytes } from 'node:crypto'
import { readFileSync, rmSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { programVersion } from '../../cli/version.ts'
import { listFiles, readText, writeAtomically } from '../../config/disk.ts'
import { digest, stampOf } from '../../config/plugins/bundle-cache.ts'
import { checkWritable, makeFolder } from '../../store/make-folder.ts'
import type { BuiltVersion } from '../messages.ts'

/** The inputs of a version. All paths are absolute. */
export interface Inputs {
  /** Files of the configuration: each may be missing. */
  readonly texts: readonly string[]
  readonly lists: readonly (readonly [pattern: string, root: string])[]
  /** Names of environment variables. */
  readonly variables: readonly string[]
  /** Sources of plugins. */
  readonly sources: readonly string[]
}
interface StoredRecord {
  readonly inputs: Inputs
  /** A BuiltVersion. */
  readonly encrypted: string
}
type TextReader = (path: string) => string | undefined

/** `text`: returns the texts that the version was built from, which may have changed since. */
export const saveStartRecord = (
  config: string,
  cacheFolder: string,
  { inputs, text }: { readonly inputs: Inputs; readonly text: TextReader },
  version: BuiltVersion,
): void => {
  const key = keyOf(inputs, text)
  if (!key) return removeStartRecord(config, cacheFolder)
  makeFolder(cacheFolder)
  const record: StoredRecord = { inputs, encrypted: encrypt(key, JSON.stringify(version)) }
  writeAtomically(pathOf(config, cacheFolder), JSON.stringify(record), 0o600)
}
export const removeStartRecord = (config: string, cacheFolder: string): void =>
  rmSync(pathOf(config, cacheFolder), { force: true })

/** Undefined if there is no record, or if one of its inputs has changed. */
export const readStartRecord = (config: string, cacheFolder: string): BuiltVersion | undefined => {
  try {
    checkWritable(cacheFolder)
    const text = readFileSync(pathOf(config, cacheFolder), 'utf8')
    const { inputs, encrypted } = JSON.parse(text) as StoredRecord
    const key = keyOf(inputs, readText)
    return key && (JSON.parse(decrypt(key, encrypted)) as BuiltVersion)
  } catch {
    // No record, a damaged one, other inputs, or a folder that a build reports as unusable.
    return undefined
  }
}

const pathOf = (config: string, cacheFolder: string): string =>
  join(cacheFolder, `start-${digest(resolve(config))}.json`)

/** Undefined if a source of a plugin changed so recently that its times prove nothing. */
const keyOf = (inputs: Inputs, text: TextReader): Buffer | undefined => {
  const stamps = inputs.sources.map(stampOf)
  if (stamps.includes('')) return undefined
  const parts = [
    [programVersion(), process.version],
    inputs,
    inputs.texts.map(path => text(path) ?? null),
    inputs.lists.map(([pattern, root]) => listFiles(pattern, root)),
    inputs.variables.map(name => process.env[name] ?? null),
    stamps,
  ]
  return createHash('sha256').update(JSON.stringify(parts)).digest()
}

const ALGORITHM = 'aes-256-gcm'
const [NONCE_BYTES, TAG_BYTES] = [12, 16]
/** Base64 of the nonce, the tag and the ciphertext. */
const encrypt = (key: Buffer, text: string): string => {
  const nonce = randomBytes(NONCE_BYTES)
  const cipher = createCipheriv(ALGORITHM, key, nonce)
  const ciphertext = Buffer.concat([cipher.update(text), cipher.final()])
  return Buffer.concat([nonce, cipher.getAuthTag(), ciphertext]).toString('base64')
}
/** Throws with another key. */
const decrypt = (key: Buffer, encrypted: string): string => {
  const bytes = Buffer.from(encrypted, 'base64')
  const [nonce, rest] = [bytes.subarray(0, NONCE_BYTES), bytes.subarray(NONCE_BYTES)]
  const decipher = createDecipheriv(ALGORITHM, key, nonce, { authTagLength: TAG_BYTES })
  decipher.setAuthTag(rest.subarray(0, TAG_BYTES))
  return Buffer.concat([decipher.update(rest.subarray(TAG_BYTES)), decipher.final()]).toString()
}
